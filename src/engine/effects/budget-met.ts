/** Checks an attempt against its budgets: that of its visit, of its run, and of everything they are part of (Q4). */
import { addAmounts, amountOf, type Amounts } from '../../graph/amounts.ts';
import type { OnBudget } from '../../graph/graph.ts';
import { decideBudget } from '../plan/decide-budget.ts';
import type { MetBudget } from '../record/budget.ts';
import type { Activation } from '../run/frame-run.ts';
import type { Charge } from '../run/ledger.ts';
import type { RunCore } from '../run/run-core.ts';

/** A budget, and how much of it was spent according to the records. */
interface Budget {
  /** Path of the node or child run that the budget is for; empty for the run itself. */
  readonly of: readonly string[];
  readonly limits: Amounts;
  readonly spent: Amounts | undefined;
  readonly onBudget: OnBudget;
  readonly covers: (charge: Charge) => boolean;
}

/**
 * The first budget that prevents an attempt from starting, from the innermost outwards. A budget that the attempt only has to wait for
 * comes last.
 */
export function budgetMet(core: RunCore, attempt: Charge): MetBudget | undefined {
  const bound = attempt.atMost;
  if (bound === 'nothing') return undefined;
  let waiting: MetBudget | undefined;
  for (const budget of budgetsOf(attempt.activation)) {
    for (const [unit, limit] of Object.entries(budget.limits)) {
      const { spent, reserved } = usedOf(core, budget, unit, attempt);
      const atMost = bound?.[unit];
      const decision = decideBudget({ budget: limit, spent, reserved, atMost });
      if (decision === 'begin') continue;
      const { of, onBudget } = budget;
      const met: MetBudget = { decision, of, unit, budget: limit, spent, atMost, onBudget };
      if (decision === 'over') return met;
      waiting ??= met;
    }
  }
  return waiting;
}

/** Whether an attempt is under any budget, or under one that names this unit, so that it matters what it spends. */
export function isBudgeted(activation: Activation, unit?: string): boolean {
  for (const { limits } of budgetsOf(activation)) if (unit === undefined || Object.hasOwn(limits, unit)) return true;
  return false;
}

/** The budgets of the visit, its run, and so on outwards. Most runs have none. */
function* budgetsOf(activation: Activation): Generator<Budget> {
  for (let at: Activation | undefined = activation; at !== undefined; at = at.frameRun.starter) {
    const top = at;
    const { node, frameRun, path } = top;
    const record = frameRun.openRecordOf(node);
    if (node.budget !== undefined || record?.budget !== undefined)
      yield {
        of: path,
        limits: { ...node.budget, ...record?.budget },
        spent: top.account?.spent,
        onBudget: record?.onBudget ?? node.onBudget,
        covers: (charge) => isIn(charge, (part) => part === top),
      };
    const { policies } = frameRun.graph;
    const { tree } = frameRun.frame;
    if (policies.budget !== undefined || tree.budget !== undefined)
      yield {
        of: frameRun.nodePath,
        limits: { ...policies.budget, ...tree.budget },
        spent: tree.spent,
        onBudget: tree.onBudget ?? policies.onBudget ?? 'ask',
        covers: (charge) => isIn(charge, (part) => part.frameRun === frameRun),
      };
  }
}

function isIn({ activation }: Charge, fits: (part: Activation) => boolean): boolean {
  for (let at: Activation | undefined = activation; at !== undefined; at = at.frameRun.starter)
    if (fits(at)) return true;
  return false;
}

/** How much of a budget is in use. What a visit has reserved is available to its own steps. */
function usedOf(
  core: RunCore,
  { spent, covers }: Budget,
  unit: string,
  attempt: Charge,
): { readonly spent: number; readonly reserved: number } {
  let used = amountOf(spent, unit);
  let reserved = 0;
  for (const charge of core.ledger.charges()) {
    if (charge === attempt || !covers(charge)) continue;
    const own = amountOf(charge.spent, unit);
    used = amountOf(addAmounts({ [unit]: used }, { [unit]: own }), unit);
    const isAround = charge.step === undefined && isIn(attempt, (part) => part === charge.activation);
    if (!isAround)
      reserved += Math.max(0, amountOf(charge.atMost === 'nothing' ? undefined : charge.atMost, unit) - own);
  }
  return { spent: used, reserved };
}
