/**
 * Accounts: the cost of an attempt is recorded together with its end, and added to the accounts of its step, its visit, its run, and
 * everything around these.
 */
import { treePathOf, recordPathOf } from './node-record.ts';
import { CairnError } from '../../errors.ts';
import { addAmounts, amountsFault, hasAmounts, lessAmounts, unitsFault, type Amounts } from '../../graph/amounts.ts';
import type { Account, FrameTree, WaitRecord } from '../../state/tree.ts';
import type { Activation } from '../live-run/loop.ts';
import type { Charge, Payer } from '../live-run/attempt-scope.ts';
import type { RunCore } from '../live-run/run-core.ts';
import type { OnBudget } from '../../graph/graph.ts';
import type { TreeWriter } from '../../state/tree-writer.ts';
import type { Draft } from '../live-run/draft.ts';

/** Adds a cost that an attempt reports. @throws NODE_CALL_REFUSED the attempt is over, or the amounts are invalid */
export function spend(core: RunCore, charge: Charge, amounts: Amounts): void {
  const reported = addAmounts(core.root.frame.spent, charge.spent);
  const isOver = charge.isOver || charge.activation.isOver;
  const reason = isOver ? 'this attempt is over' : (amountsFault(amounts) ?? unitsFault(reported, amounts));
  if (reason !== undefined)
    throw new CairnError('NODE_CALL_REFUSED', { call: 'spend', node: charge.activation.path.join('/'), reason });
  charge.spent = addAmounts(charge.spent, amounts);
  core.ledger.open(charge);
}

/** Records the cost of an attempt. Call it together with recording the attempt's end. */
export function book(core: RunCore, charge: Charge | undefined): void {
  if (charge === undefined) return;
  core.ledger.close(charge);
  const { spent, step, activation } = charge;
  if (spent === undefined) return;
  charge.spent = undefined;
  if (step !== undefined) step.account = { ...step.account, spent: addAmounts(step.account?.spent, spent) };
  addToVisit(core, activation, 'spent', spent);
}

/** Records the cost of everything in progress in an activation and below it, because all of it ends with the activation. */
export function bookAll(core: RunCore, activation?: Activation): void {
  for (const charge of core.ledger.charges(activation)) book(core, charge);
}

/** What an effort cost where it was recorded, including what that record itself took over. */
export function costOf({ spent, spared }: Account): Amounts {
  return addAmounts(spent, spared);
}

/** Counts the cost of a record that a fork takes over as `spared`, without what the fork's own state contains of it already. */
export function bookSpared(core: RunCore, activation: Activation, step: Payer | undefined, taken: Account): void {
  const had = step === undefined ? activation.account : step.account;
  const spared = lessAmounts(costOf(taken), had && costOf(had));
  if (!hasAmounts(spared)) return;
  if (step !== undefined) step.account = { ...step.account, spared: addAmounts(step.account?.spared, spared) };
  addToVisit(core, activation, 'spared', spared);
}

/** Adds to the accounts of a visit and its run and, for a child run, of everything around it. */
function addToVisit(core: RunCore, activation: Activation, what: 'spent' | 'spared', amounts: Amounts): void {
  for (let at: Activation | undefined = activation; at !== undefined; at = at.frameRun.starter) {
    const { frameRun, node } = at;
    const ofVisit = addAmounts(at.account?.[what], amounts);
    at.account = { ...at.account, [what]: ofVisit };
    // A visit without a record gets its account together with the record.
    if (frameRun.openRecordOf(node) !== undefined) core.draft.set([...recordPathOf(at.path), what], ofVisit);
    const ofRun = addAmounts(frameRun.frame.tree[what], amounts);
    frameRun.frame.setField(what, [], ofRun, JSON.stringify(ofRun));
  }
}

// Describes budgets in words, raises them, and applies answers about them (Q4, Q5).

/** A budget that keeps an attempt from starting. */
export interface MetBudget {
  readonly decision: 'wait' | 'over';
  readonly of: readonly string[];
  readonly unit: string;
  readonly budget: number;
  readonly spent: number;
  /** The most that the attempt spends, if it declared that. */
  readonly atMost: number | undefined;
  readonly onBudget: OnBudget;
}

/** The owner of a budget in words for messages: `the run`, `node a/b`, `the child run a/b/child`. */
export function budgetName(of: readonly string[]): string {
  if (of.length === 0) return 'the run';
  // Paths alternate between node ids and names of child runs.
  return `${of.length % 2 === 1 ? 'node' : 'the child run'} ${of.join('/')}`;
}

/** The error for something that fails because a budget is spent. @param node - the node or step that does not start */
export function budgetExceeded(met: Omit<MetBudget, 'decision' | 'onBudget'>, node: string): CairnError {
  const { of, unit, spent, budget, atMost } = met;
  const needs = atMost === undefined ? {} : { needs: atMost };
  return new CairnError('BUDGET_EXCEEDED', { node, of: budgetName(of), unit, spent, budget, ...needs });
}

/** Keys from the run's root tree to the account that the budget belongs to. */
function accountPathOf(of: readonly string[]): readonly string[] {
  return of.length % 2 === 1 ? recordPathOf(of) : treePathOf([...of, '']);
}

/** Raises or sets a budget. If it is exceeded again, a new question is asked. */
export function setBudget(writer: TreeWriter, of: readonly string[], limits: Amounts): void {
  const at = accountPathOf(of);
  const { budget } = readAccount(writer, at);
  writer.set([...at, 'budget'], { ...budget, ...limits });
  writer.delete([...at, 'onBudget']);
}

function readAccount(writer: TreeWriter, path: readonly string[]): Account {
  let value: unknown = writer.root;
  for (const key of path) value = (value as Readonly<Record<string, unknown>>)[key];
  return value as Account;
}

/** Applies a person's answer about a budget: raise it, stop the run, or let fail what exceeds it. */
export function takeBudgetAnswer(writer: TreeWriter, wait: WaitRecord, answer: unknown): void {
  const { of, unit, limit, spent } = wait.budget as NonNullable<WaitRecord['budget']>;
  if (typeof answer === 'number') return setBudget(writer, of, addAmounts({ [unit]: limit }, { [unit]: answer }));
  if (answer === 'fail') return writer.set([...accountPathOf(of), 'onBudget'], 'fail');
  const met = { of, unit, budget: limit, spent, atMost: undefined };
  const node = wait.node.join('/');
  writer.set(['failures', node], budgetExceeded(met, node));
}

/** Sets the run's own budget to that of a resume, and closes the question about it. */
export function setRunBudget(draft: Draft, limits: Amounts, by: string | undefined): void {
  setBudget(draft, [], limits);
  for (const [waitId, { budget }] of Object.entries(draft.root.waits))
    if (budget?.of.length === 0) draft.closeWait(waitId);
  draft.note({ kind: 'resume', budget: limits, ...(by === undefined ? {} : { by }) });
  draft.mustCommit = true;
}

/** Forgets a person's decision to let things fail, when a failed run goes on, so that the question is asked again. */
export function askAgain(draft: Draft, { of, frame }: { of: readonly string[]; frame: FrameTree }): void {
  draft.delete([...accountPathOf(of), 'onBudget']);
  for (const [id, record] of Object.entries(frame.nodes)) {
    if (record.fired !== undefined) continue;
    draft.delete([...accountPathOf([...of, id]), 'onBudget']);
    for (const [key, child] of Object.entries(record.children ?? {}))
      askAgain(draft, { of: [...of, id, key], frame: child });
  }
}

/** The costs in a record. */
export function accountOf(record: Account | undefined): Pick<Account, 'spent' | 'spared'> | undefined {
  if (record?.spent === undefined && record?.spared === undefined) return undefined;
  const { spent, spared } = record;
  return { ...(spent === undefined ? {} : { spent }), ...(spared === undefined ? {} : { spared }) };
}
