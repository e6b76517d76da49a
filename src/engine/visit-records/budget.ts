/** Describes budgets in words, raises them, and applies answers about them (Q4, Q5). */
import type { ChangePart } from '../../history/stored/change.ts';
import { treePathOf, recordPathOf } from './node-path.ts';
import { CairnError } from '../../errors.ts';
import { addAmounts, type Amounts } from '../../graph/amounts.ts';
import type { Account, FrameTree, WaitRecord } from '../../state/tree.ts';
import type { OnBudget } from '../../graph/graph.ts';
import type { TreeWriter } from '../../state/tree-writer.ts';
import type { Draft } from '../live-run/draft.ts';

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
function setBudget(writer: TreeWriter, of: readonly string[], limits: Amounts): void {
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
export function setRunBudget(draft: Draft, limits: Amounts, who: Pick<ChangePart, 'by' | 'door' | 'as'>): void {
  setBudget(draft, [], limits);
  for (const [waitId, { budget }] of Object.entries(draft.root.waits))
    if (budget?.of.length === 0) draft.closeWait(waitId);
  draft.note({ kind: 'resume', budget: limits, ...who });
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
