/**
 * Accounts: the cost of an attempt is recorded together with its end, and added to the accounts of its step, its visit, its run, and
 * everything around these.
 */
import { CairnError } from '../../errors.ts';
import { addAmounts, amountsFault, hasAmounts, lessAmounts, unitsFault, type Amounts } from '../../graph/amounts.ts';
import type { Account, FrameTree, WaitRecord, NodeRecord } from '../../state/tree.ts';
import type { Activation } from '../run/loop.ts';
import type { Charge, Payer } from '../run/agenda.ts';
import type { RunCore } from '../run/run-core.ts';
import type { OnBudget } from '../../graph/graph.ts';
import type { TreeWriter } from '../../state/tree-writer.ts';
import type { Draft } from '../run/draft.ts';
import { admitValue } from '../../state/values/codec.ts';
import { hashText } from '../../state/values/values.ts';
import { outcome, type StateUpdates } from '../../graph/contracts/node-contract.ts';

// Converts node paths to places in the run's tree. A node path alternates between node ids and names of child runs, and ends with a node
// id.

/** Keys from the run's root tree to the frame that holds the last node of the path. */
export function treePathOf(nodePath: readonly string[]): readonly string[] {
  const path = ['frame'];
  for (let index = 0; index + 1 < nodePath.length; index += 2) {
    path.push('nodes', nodePath[index] as string, 'children', nodePath[index + 1] as string);
  }
  return path;
}

/** Keys from the run's root tree to the record of the node. */
export function recordPathOf(nodePath: readonly string[]): readonly string[] {
  return [...treePathOf(nodePath), 'nodes', nodePath.at(-1) as string];
}

/** The key of a node path in tables of the tree. */
export function pathKeyOf(path: readonly string[]): string {
  return JSON.stringify(path);
}

/**
 * The key under which an outcome's original updates are stored. It includes the visit, because several visits may settle in one checkpoint.
 */
export function outcomeKeyOf(path: readonly string[], visit: number): string {
  return visit === 1 ? pathKeyOf(path) : `${pathKeyOf(path)}#${visit}`;
}

/** The key for steps of a given key, whatever the visit. */
export const stepKeyOf = (path: readonly string[], step: string): string => `${pathKeyOf(path)}\0${step}`;

/** Adds a cost that an attempt reports. @throws NODE_CALL_REFUSED the attempt is over, or the amounts are invalid */
export function spend(core: RunCore, charge: Charge, amounts: Amounts): void {
  const told = addAmounts(core.root.frame.spent, charge.spent);
  const isOver = charge.isOver || charge.activation.isOver;
  const reason = isOver ? 'this attempt is over' : (amountsFault(amounts) ?? unitsFault(told, amounts));
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

/** Sets the run's own budget as given by a resume, and closes the question about it. */
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

// The record of a visit that has begun and not settled.

/** The fields that do not depend on what the visit has recorded. */
export function openRecord(activation: Activation): NodeRecord {
  const { frameRun, node } = activation;
  const epoch = frameRun.frame.tree.epoch ?? 0;
  // Firings of earlier visits that leave a loop or lead back are still to be used, so this record has to keep them (G4).
  const held = frameRun.plan.heldBy(node.index);
  const { budget, onBudget } = frameRun.openRecordOf(node) ?? {};
  return {
    status: 'started',
    ...(activation.visit > 1 ? { visits: activation.visit } : {}),
    ...(activation.attempt > 1 ? { attempt: activation.attempt } : {}),
    ...(activation.budgetFrom > 0 ? { budgetFrom: activation.budgetFrom } : {}),
    ...(epoch > 0 ? { epoch } : {}),
    ...(held === undefined ? {} : { held }),
    ...(activation.took === undefined ? {} : { took: activation.took }),
    ...activation.account,
    ...(budget === undefined ? {} : { budget }),
    ...(onBudget === undefined ? {} : { onBudget }),
  };
}

/** The costs in a record. */
export function accountOf(record: Account | undefined): Pick<Account, 'spent' | 'spared'> | undefined {
  if (record?.spent === undefined && record?.spared === undefined) return undefined;
  const { spent, spared } = record;
  return { ...(spent === undefined ? {} : { spent }), ...(spared === undefined ? {} : { spared }) };
}

// Makes sure that an activation sees the state of a checkpoint (E9): changes made after it started must not become part of that checkpoint.

/** Remembers an activation whose seen state is not in a checkpoint yet. */
export function noteView(core: RunCore, activation: Activation): void {
  if (activation.viewSeq > core.committer.seq) core.draft.unsealed.add(activation);
}

/** Before the state changes, makes a checkpoint of it if some activation may need to see it again. */
export function sealViews(core: RunCore, settling: Activation): void {
  let isSeen = false;
  for (const other of core.draft.unsealed) {
    if (other.isOver || other.viewSeq <= core.committer.seq) core.draft.unsealed.delete(other);
    else if (other !== settling && other.frameRun === settling.frameRun) isSeen = true;
  }
  if (isSeen) core.loop.seal();
}

// Hash of a call's input. A recorded result is returned only to a call with the same input (X4.9, W6).

/** Covers the input before secrets are masked, because which secrets a run knows depends on whether it was killed before. */
export function hashOfGiven(core: RunCore, { path }: Activation, key: string, input: unknown): string {
  return hashText(admitValue(input, [...path, key, 'input'], core.env.limits, core.env.intake).json);
}

// What a person decided about an effect in doubt, as the answer says it (X3).

/** A person's decision about an effect in doubt, and what it gave if it happened. */
export interface DoubtDecision {
  readonly decision: string;
  /** The output; or an outcome, where there are updates too. */
  readonly returned: unknown;
}

/** Reads an answer to an effect in doubt. Where no output is given it is null: a visit without an output would look like one that was skipped. */
export function doubtDecision(answer: unknown): DoubtDecision {
  if (typeof answer === 'object' && answer !== null) {
    const {
      decision,
      output = null,
      updates,
    } = answer as {
      readonly decision: string;
      readonly output?: unknown;
      readonly updates?: StateUpdates;
    };
    return { decision, returned: updates === undefined ? output : outcome({ ...updates, output }) };
  }
  return { decision: String(answer), returned: null };
}
