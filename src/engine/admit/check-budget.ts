/** A budget that a caller gives. */
import { CairnError } from '../../errors.ts';
import { amountsFault, type Amounts } from '../../graph/amounts.ts';

/** Returns a copy that is nobody else's. @throws USAGE_INVALID these are no amounts */
export function checkBudget(budget: Amounts): Amounts {
  const fault = amountsFault(budget);
  if (fault !== undefined) throw new CairnError('USAGE_INVALID', { reason: `the budget cannot be used: ${fault}` });
  return Object.freeze({ ...budget });
}
