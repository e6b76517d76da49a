/** Starts an activation: at once, after a delay, or when its intent is durable (E3, E4). */
import { followUpOf } from '../../state/tree.ts';
import { addAmounts, amountOf, type Amounts } from '../../graph/amounts.ts';
import type { OnBudget } from '../../graph/graph.ts';
import { noteView } from '../visit-records/node-record.ts';
import { type MetBudget, budgetExceeded } from '../visit-records/budget.ts';
import type { Activation } from '../live-run/loop.ts';
import { Charge } from '../live-run/attempt-scope.ts';
import { type RunCore, isEffect } from '../live-run/run-core.ts';
import { NodeEffort, isLate, withdraw } from '../visit-records/intent.ts';
import { announceHere } from './hand-over.ts';
import { holdTimer } from '../live-run/timers.ts';
import { settleFailed } from '../settle/settle.ts';
import { askForBudget } from '../waits/budget-wait.ts';
import { notifyWaiting } from '../waits/leave-at-wait.ts';
import { retryWait } from '../waits/wait.ts';
import { isRetryOpen, openWait } from '../waits/open-wait.ts';
import { enterNode } from './enter-places.ts';

// Checks an attempt against its budgets: that of its visit, of its run, and of everything they are part of (Q4).

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
  // What follows a cancel or a failure is bounded by its time alone: nobody is asked for money to undo what was done.
  if (bound === 'nothing' || followUpOf(core.root) !== undefined) return undefined;
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
  return budgetsOf(activation).some(({ limits }) => unit === undefined || Object.hasOwn(limits, unit));
}

/** The budgets of the visit, its run, and so on outwards. Most runs have none. */
function budgetsOf(activation: Activation): readonly Budget[] {
  const budgets: Budget[] = [];
  for (let at: Activation | undefined = activation; at !== undefined; at = at.frameRun.starter) {
    const top = at;
    const { node, frameRun, path } = top;
    const record = frameRun.openRecordOf(node);
    if (node.budget !== undefined || record?.budget !== undefined)
      budgets.push({
        of: path,
        limits: { ...node.budget, ...record?.budget },
        spent: top.account?.spent,
        onBudget: record?.onBudget ?? node.onBudget,
        covers: (charge) => isIn(charge, (part) => part === top),
      });
    const { policies } = frameRun.graph;
    const { tree } = frameRun.frame;
    if (policies.budget !== undefined || tree.budget !== undefined)
      budgets.push({
        of: frameRun.nodePath,
        limits: { ...policies.budget, ...tree.budget },
        spent: tree.spent,
        onBudget: tree.onBudget ?? policies.onBudget ?? 'ask',
        covers: (charge) => isIn(charge, (part) => part.frameRun === frameRun),
      });
  }
  return budgets;
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

/** Delays an activation until its next attempt is due: with a timer if that is soon, else as a wait, so that the run can pause (E6). */
export function beginLater(core: RunCore, activation: Activation, at: number): void {
  activation.phase = 'retrying';
  activation.permit?.leave();
  core.agenda.setBusy(activation, false);
  const delayMs = at - core.env.clock.now();
  const wait = retryWait(activation.path, activation.attempt, at);
  if (core.isLeaving || delayMs > core.env.bounds.holdTimersMs || isRetryOpen(core, wait)) {
    activation.cancelTimer = undefined;
    openWait(core, activation, undefined, wait);
    return notifyWaiting(core, activation.frameRun);
  }
  activation.cancelTimer = holdTimer(core, delayMs, () => beginRetry(core, activation));
}

/** Starts the next attempt of a delayed activation. */
export function beginRetry(core: RunCore, activation: Activation): void {
  if (core.standing.isStopping || activation.phase !== 'retrying') return;
  core.agenda.setBusy(activation, true);
  reopenView(core, activation);
  begin(core, activation);
  core.loop.requestTurn();
}

/**
 * Opens the view for a new attempt. If earlier attempts recorded steps or intents, it is the state that they saw; otherwise the current
 * state (E9).
 */
function reopenView(core: RunCore, activation: Activation): void {
  const record = activation.frameRun.openRecordOf(activation.node);
  if (record?.view !== undefined) return;
  activation.view.close();
  activation.view = activation.frameRun.frame.openView();
  activation.viewSeq = core.nextSeq;
  activation.recordedReadCount = 0;
  noteView(core, activation);
}

/**
 * Checks an attempt against its budgets. A function with recorded steps is always repeated: its steps are checked, not the function (Q4).
 */
function mayBegin(core: RunCore, activation: Activation): boolean {
  const { ledger } = core;
  const { node, frameRun } = activation;
  // A function that runs again from its top reports its cost again.
  const before = ledger.ownOf(activation);
  if (before !== undefined) ledger.close(before);
  if (frameRun.openRecordOf(node)?.steps !== undefined) return true;
  const charge = new Charge(activation, undefined, node.atMost);
  const met = budgetMet(core, charge);
  if (met === undefined) {
    if (node.atMost !== undefined) ledger.open(charge);
    return true;
  }
  if (met.decision === 'over' && met.onBudget === 'fail') {
    settleFailed(core, activation, budgetExceeded(met, activation.path.join('/')));
    return false;
  }
  activation.phase = 'retrying';
  activation.cancelTimer = undefined;
  core.agenda.setBusy(activation, false);
  if (met.decision === 'over') askForBudget(core, activation, undefined, met);
  ledger.whenChanged(() => beginRetry(core, activation));
  notifyWaiting(core, frameRun);
  return false;
}

/**
 * Starts an attempt. Effects are announced first. What asks a person for the first time waits until all that led to it is durable; when it
 * goes on with an answer, that has been so. Everything else starts right after the checkpoint is made.
 */
export function begin(core: RunCore, activation: Activation): void {
  const { node } = activation;
  activation.phase = 'prepared';
  if (!mayBegin(core, activation)) return;
  if (node.limit === undefined) beginNow(core, activation);
  else enterNode(core, activation, node.limit, () => beginNow(core, activation));
}

function beginNow(core: RunCore, activation: Activation): void {
  const { agenda, draft } = core;
  const { node } = activation;
  if (node.checkpoint === 'before' || node.checkpoint === 'both') draft.mustCommit ||= draft.isPending;
  if (isEffect(node)) {
    const announced = announceHere(core, new NodeEffort(activation), activation.attempt);
    const takeBack = (): void => withdraw(core, announced);
    activation.withdraw = takeBack;
    const isOld = (): boolean => isLate(core, announced);
    activation.isLate = isOld;
    activation.announcedKey = announced.intent.key;
    draft.mustCommit = true;
    agenda.gates.push(activation);
  } else if (node.effect === 'human' && draft.isPending && !activation.isResumed) {
    draft.mustCommit = true;
    agenda.gates.push(activation);
  } else agenda.launches.push(activation);
}

/** Whether an effect that was announced must not begin: the lease may be over, or others may soon not wait for it any more (X3.13). */
export function isTooLate({ standing, env }: RunCore, { isLate: isOld, permit }: Activation): boolean {
  return standing.isLeaseOver(env.clock) || isOld?.() === true || permit?.isStale() === true;
}

/** Withdraws an effect that would begin too late, and announces it anew as soon as the lease holds (X3.13). */
export function announceAnew(core: RunCore, activation: Activation): void {
  activation.withdraw?.();
  core.loop.requestTurn();
  core.standing.whenLeased(core.env.clock, () => {
    if (activation.isOver) return;
    if (core.standing.isStopping) core.agenda.forget(activation);
    else if (activation.permit?.isStale() === true) {
      activation.permit?.leave();
      begin(core, activation);
    } else beginNow(core, activation);
    core.loop.requestTurn();
  });
}

// Decides whether an attempt may start under a budget. It is pure: the engine acts on the decision, and a preview
// shows it (Q4).

/** One unit of one budget, as seen by an attempt. */
interface BudgetView {
  readonly budget: number;
  /** What was spent, including what running attempts have reported so far. */
  readonly spent: number;
  /** What running attempts may still spend. */
  readonly reserved: number;
  /** The most that this attempt spends; undefined if it has not declared that. */
  readonly atMost: number | undefined;
}

/** `wait`: it would fit if the running attempts spend no more. `over`: the budget's policy decides. */
type BudgetDecision = 'begin' | 'wait' | 'over';

function decideBudget({ budget, spent, reserved, atMost }: BudgetView): BudgetDecision {
  // An attempt without a limit of its own may start while anything is left.
  if (atMost === undefined) return spent < budget ? 'begin' : 'over';
  if (spent + reserved + atMost <= budget) return 'begin';
  return reserved > 0 && spent + atMost <= budget ? 'wait' : 'over';
}
