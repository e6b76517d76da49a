/** What a checkpoint recorded: the values that came of it, and the results of the steps that ended in it. */
import { isDeepStrictEqual } from 'node:util';
import type { Amounts } from '../../graph/amounts.ts';
import type { FrameTree, StepRecord } from '../../state/tree.ts';
import { compareValues, type ValueDifference } from './compare-values.ts';
import { viewValues } from './state-view.ts';

/** A step, a question or another call of a node whose record is new or another. */
export interface RecordedStep {
  /** Node ids from the root, with the names of child runs between them, and the step's key last. */
  readonly path: readonly string[];
  readonly kind: StepRecord['kind'];
  readonly status: StepRecord['status'];
  /** Its result. Absent: it has none yet, or it failed. */
  readonly value?: unknown;
  readonly error?: unknown;
  /** Absent: it cost nothing. */
  readonly spent?: Amounts;
}

export interface RecordedValues {
  /** Values that are new, gone or others: from the partition on, or behind the path of a child run. */
  readonly values: readonly ValueDifference[];
  readonly steps: readonly RecordedStep[];
}

/** Before anything was recorded. */
const nothing: FrameTree = { input: undefined, channels: {}, nodes: {} };

/** @param before - the frame at the checkpoint before; undefined: there was none, or it was pruned, so all there is was recorded */
export function recordedValues(before: FrameTree | undefined, after: FrameTree): RecordedValues {
  const values: ValueDifference[] = [];
  const steps: RecordedStep[] = [];
  compareFrames(before, after, [], { values, steps });
  return { values, steps };
}

interface Found {
  readonly values: ValueDifference[];
  readonly steps: RecordedStep[];
}

function compareFrames(before: FrameTree = nothing, after: FrameTree, path: readonly string[], found: Found): void {
  found.values.push(...compareValues({ ...viewValues(before) }, { ...viewValues(after) }, path));
  for (const [id, node] of Object.entries(after.nodes)) {
    const was = before.nodes[id];
    for (const [key, step] of Object.entries(node.steps ?? {}))
      if (!isDeepStrictEqual(was?.steps?.[key], step)) found.steps.push(toRecordedStep([...path, id, key], step));
    for (const [name, child] of Object.entries(node.children ?? {}))
      compareFrames(was?.children?.[name], child, [...path, id, name], found);
  }
}

function toRecordedStep(path: readonly string[], { kind, status, output, error, spent }: StepRecord): RecordedStep {
  return {
    path,
    kind,
    status,
    ...(output !== undefined && { value: output }),
    ...(error !== undefined && { error }),
    ...(spent !== undefined && { spent }),
  };
}
