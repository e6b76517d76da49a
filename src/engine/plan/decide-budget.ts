/** Decides whether an attempt may start under a budget. It is pure: the engine acts on the decision, and a preview shows it (Q4). */

/** One unit of one budget, as seen by an attempt. */
export interface BudgetView {
  readonly budget: number;
  /** What was spent, including what running attempts have reported so far. */
  readonly spent: number;
  /** What running attempts may still spend. */
  readonly reserved: number;
  /** The most that this attempt spends; undefined if it has not declared that. */
  readonly atMost: number | undefined;
}

/** `wait`: it would fit if the running attempts spend no more. `over`: the budget's policy decides. */
export type BudgetDecision = 'begin' | 'wait' | 'over';

export function decideBudget({ budget, spent, reserved, atMost }: BudgetView): BudgetDecision {
  // An attempt without a limit of its own may start while anything is left.
  if (atMost === undefined) return spent < budget ? 'begin' : 'over';
  if (spent + reserved + atMost <= budget) return 'begin';
  return reserved > 0 && spent + atMost <= budget ? 'wait' : 'over';
}
