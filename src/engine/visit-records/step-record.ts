/** Step records in the tree: where they are, how they are written, and what a retry keeps of them (X4). */
import { encodeValue } from '../../state/values/encode.ts';
import { nodeRecord, type FrameTree, type NodeRecord, type RunTree, type StepRecord } from '../../state/tree.ts';
import type { Activation } from '../live-run/loop.ts';
import { isEffect, type RunCore } from '../live-run/run-core.ts';
import { doubtDecision, openRecord } from './node-record.ts';
import { recordPathOf, treePathOf } from './node-path.ts';

/** The record of the node at a path, in the run's own tree. */
export function recordAt({ root }: RunCore, nodePath: readonly string[]): NodeRecord | undefined {
  return recordIn(root, nodePath);
}

/** The record of the node at a path, in any tree. */
export function recordIn(root: RunTree, nodePath: readonly string[]): NodeRecord | undefined {
  let value: unknown = root;
  for (const key of treePathOf(nodePath)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return nodeRecord(value as FrameTree, { id: nodePath.at(-1) as string });
}

/** Makes sure that the visit's record exists and has a table of steps. This fixes the state that the activation sees (E9). */
export function ensureSteps(activation: Activation): NodeRecord {
  const { frameRun, node } = activation;
  const known = frameRun.openRecordOf(node);
  const reads = newReads(activation, known);
  if (known?.steps !== undefined) {
    if (reads !== undefined) frameRun.frame.setNodeField(node.id, 'reads', reads, JSON.stringify(reads));
    return known;
  }
  const { error: _, applied: __, ...rest } = known ?? {};
  const record: NodeRecord = {
    ...rest,
    ...openRecord(activation),
    view: known?.view ?? activation.viewSeq,
    ...(reads === undefined ? {} : { reads }),
    steps: {},
  };
  frameRun.frame.setNode(node.id, record, encodeValue(record));
  return record;
}

/**
 * What the activation has read, if that is more than its record says. What a recorded call has read is not read again by a repeated
 * function, so it has to be recorded for the hash of the activation's input.
 */
function newReads(activation: Activation, known: NodeRecord | undefined): readonly string[] | undefined {
  const { node, readCount } = activation;
  if (node.reads !== undefined || readCount === activation.recordedReadCount) return undefined;
  activation.recordedReadCount = readCount;
  const { reads } = activation;
  const recorded = new Set(known?.reads);
  const untold = reads.filter((name) => !recorded.has(name));
  // A function that is repeated reads again what its record names.
  if (untold.length === 0 && reads.length === recorded.size) return undefined;
  activation.unreportedReads = [...activation.unreportedReads, ...untold];
  return reads;
}

/** Writes one step of the node at a path. `outputJson` is the JSON text of `step.output`, if known already. */
export function setStep(
  core: RunCore,
  nodePath: readonly string[],
  key: string,
  step: StepRecord,
  outputJson?: string,
): void {
  const json = outputJson === undefined ? encodeValue(step) : stepJson(step, outputJson);
  core.draft.set([...recordPathOf(nodePath), 'steps', key], step, json);
}

function stepJson(step: StepRecord, outputJson: string): string {
  const { output: _, ...rest } = step;
  return `${JSON.stringify(rest).slice(0, -1)},"output":${outputJson}}`;
}

/** Deletes a step. */
export function deleteStep(core: RunCore, { path }: Activation, key: string): void {
  core.draft.delete([...recordPathOf(path), 'steps', key]);
}

/**
 * Marks a failed visit as in progress when a resume retries it, with its new attempt and retry budget, so that no crash or pause starts
 * another one (G8, E6).
 */
export function reopenFailed(core: RunCore, activation: Activation): void {
  const { frameRun, node } = activation;
  // A record without steps is written when the visit records something.
  if (frameRun.openRecordOf(node)?.steps === undefined) return;
  const { frame } = frameRun;
  const fields = { status: 'started', attempt: activation.attempt, budgetFrom: activation.budgetFrom };
  for (const [name, value] of Object.entries(fields)) frame.setNodeField(node.id, name, value, JSON.stringify(value));
  frame.deleteNodeField(node.id, 'error');
  frame.deleteNodeField(node.id, 'applied');
  clearFailedSteps(core, activation);
  forgetFailures(core, activation);
}

/** Forgets that a person said `fail` of steps in doubt: who resumes the run is asked again (X3.5). */
function forgetFailures(core: RunCore, { frameRun, node, path }: Activation): void {
  for (const [key, step] of Object.entries(frameRun.openRecordOf(node)?.steps ?? {})) {
    const { decision: answer, ...undecided } = step;
    if (step.status === 'started' && answer !== undefined && doubtDecision(answer).decision === 'fail')
      setStep(core, path, key, undecided);
  }
}

/**
 * Forgets the times that deadlines were made of which have ended their questions, so that the next attempt makes later ones. Those that
 * other calls were made of stay, and so do those before them.
 */
function forgetPastTimes({ draft }: RunCore, { path, frameRun, node }: Activation): void {
  const { steps = {}, drawn } = frameRun.openRecordOf(node) ?? {};
  const times = drawn?.now ?? [];
  let count = times.length;
  for (const { status, drew } of Object.values(steps).toReversed())
    if (status === 'failed' && drew?.[1] === count) [count] = drew;
  if (count === times.length) return;
  const remaining = times.slice(0, count);
  draft.set([...recordPathOf(path), 'drawn', 'now'], remaining, JSON.stringify(remaining));
}

/** Prepares another attempt: failed steps and child runs may run again. Effects that may have happened stay, in doubt (X3). */
export function clearFailedSteps(core: RunCore, activation: Activation): void {
  const record = activation.frameRun.openRecordOf(activation.node);
  forgetPastTimes(core, activation);
  for (const [key, child] of Object.entries(record?.children ?? {})) {
    const at = treePathOf([...activation.path, key, '']);
    if (child.failure !== undefined) core.draft.delete([...at, 'failure']);
    if (child.failedNodes !== undefined) core.draft.delete([...at, 'failedNodes']);
  }
  for (const [key, step] of Object.entries(record?.steps ?? {})) {
    if (step.status !== 'failed') continue;
    if (
      step.kind === 'step' &&
      isEffect({ effect: step.effect ?? 'pure' }) &&
      step.applied !== 'no' &&
      step.intent !== undefined
    ) {
      const { withheld: _, ...rest } = step;
      // The question about one that failed says how.
      setStep(core, activation.path, key, { ...rest, status: 'started' });
    } else deleteStep(core, activation, key);
  }
}
