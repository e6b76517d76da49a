/** Checks a caller's budget. */
import { CairnError } from '../../errors.ts';
import { boundsFault, type Amounts } from '../../graph/amounts.ts';

/** Returns a private copy. @throws USAGE_INVALID the amounts are invalid */
export function checkBudget(budget: Amounts): Amounts {
  const fault = boundsFault(budget);
  if (fault !== undefined) throw new CairnError('USAGE_INVALID', { reason: `the budget cannot be used: ${fault}` });
  return Object.freeze({ ...budget });
}
