/** Whether an attempt may begin under a budget. Pure: the engine does it, and a preview prints it (Q4). */

/** One unit of one budget, as an attempt meets it. */
export interface BudgetView {
  readonly budget: number;
  /** What is recorded, and what attempts under way have said that they cost so far. */
  readonly spent: number;
  /** What attempts under way may still spend. */
  readonly reserved: number;
  /** The most that this attempt spends. Undefined: it has not said. */
  readonly atMost: number | undefined;
}

/** `wait`: it fits if those under way spend no more than they have. `over`: the budget's policy decides. */
export type BudgetDecision = 'begin' | 'wait' | 'over';

export function decideBudget({ budget, spent, reserved, atMost }: BudgetView): BudgetDecision {
  // Without a bound of its own an attempt is let in while anything is left.
  if (atMost === undefined) return spent < budget ? 'begin' : 'over';
  if (spent + reserved + atMost <= budget) return 'begin';
  return reserved > 0 && spent + atMost <= budget ? 'wait' : 'over';
}
