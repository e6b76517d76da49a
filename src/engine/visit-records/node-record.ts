/**
 * The record of a visit: where it stands in the run's tree, how it begins, which state it has seen, and how calls and doubts are read from
 * it.
 */
import type { NodeRecord, ReopenedVisit, RunTree } from '../../state/tree.ts';
import type { Activation } from '../live-run/loop.ts';
import type { RunCore } from '../live-run/run-core.ts';
import { admitValue } from '../../state/values/admit.ts';
import { hashText } from '../../state/values/canonical-text.ts';
import { outcome, type StateUpdates } from '../../graph/contracts/node-contract.ts';

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

/** Covers the input before secrets are masked, because which secrets a run knows depends on whether it was killed before. */
export function hashOfInput(core: RunCore, { path }: Activation, key: string, input: unknown): string {
  return hashText(admitValue(input, [...path, key, 'input'], core.env.bounds, core.env.intake).json);
}

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
