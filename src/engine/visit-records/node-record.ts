/**
 * The record of a visit: where it stands in the run's tree, how it begins, which state it has seen, and how calls and doubts are read from
 * it.
 */
import type { NodeRecord, ReopenedVisit, RunTree } from '../../state/tree.ts';
import type { Activation } from '../live-run/loop.ts';
import type { RunCore } from '../live-run/run-core.ts';
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

// The record of a visit that has begun and not settled.

/** The fields that do not depend on what the visit has recorded. */
export function openRecord(activation: Activation): NodeRecord {
  const { frameRun, node } = activation;
  const epoch = frameRun.frame.tree.epoch ?? 0;
  // Firings of earlier visits that leave a loop or lead back are still to be used, so this record has to keep them (G4).
  const unused = frameRun.plan.unusedFirings(node.index);
  const { budget, onBudget } = frameRun.openRecordOf(node) ?? {};
  return {
    status: 'started',
    ...(activation.visit > 1 ? { visits: activation.visit } : {}),
    ...(activation.attempt > 1 ? { attempt: activation.attempt } : {}),
    ...(activation.budgetFrom > 0 ? { budgetFrom: activation.budgetFrom } : {}),
    ...(epoch > 0 ? { epoch } : {}),
    ...(unused === undefined ? {} : { held: unused }),
    ...(activation.took === undefined ? {} : { took: activation.took }),
    ...activation.account,
    ...(budget === undefined ? {} : { budget }),
    ...(onBudget === undefined ? {} : { onBudget }),
  };
}

// The visits that a fork begins anew (H2.4).

/** What is on record of a visit that the fork begins anew; undefined if it does not. */
export function reopenedVisit(
  { reopened, frame }: RunTree,
  {
    frameRun: {
      frame: { tree },
    },
    node: { id },
    visit,
  }: Activation,
): ReopenedVisit | undefined {
  if (reopened === undefined || tree !== frame || !Object.hasOwn(reopened, id)) return undefined;
  return reopened[id]?.visit === visit ? reopened[id] : undefined;
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
export function hashOfInput(core: RunCore, { path }: Activation, key: string, input: unknown): string {
  return hashText(admitValue(input, [...path, key, 'input'], core.env.limits, core.env.intake).json);
}

// What a person decided about an effect in doubt, as the answer says it (X3).

/** A person's decision about an effect in doubt, and what it gave if it happened. */
export interface DoubtDecision {
  readonly decision: string;
  /** The output; or an outcome, where there are updates too. */
  readonly returned: unknown;
}

/**
 * Reads an answer to an effect in doubt. Where the answer has no output it is null: a visit without an output would look like one that was
 * skipped.
 */
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
