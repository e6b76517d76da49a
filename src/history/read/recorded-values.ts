/** Finds what a checkpoint recorded: changed values, and results of steps. */
import { isDeepStrictEqual } from 'node:util';
import type { Amounts } from '../../graph/amounts.ts';
import type { FrameTree, StepRecord } from '../../state/tree.ts';
import { compareValues, type ValueDifference } from './compare-values.ts';
import { viewValues } from './state-view.ts';

/** A step, question or other call of a node whose record is new or has changed. */
export interface RecordedStep {
  /** Node ids from the root and, between them, names of child runs; last, the key of the step. */
  readonly path: readonly string[];
  readonly kind: StepRecord['kind'];
  readonly status: StepRecord['status'];
  /** The result. Absent if there is none yet or the step failed. */
  readonly value?: unknown;
  readonly error?: unknown;
  /** The cost by unit. Absent if there was none. */
  readonly spent?: Amounts;
}

export interface RecordedValues {
  /** Values that were added, removed or changed. The path begins with the partition, after the path of a child run if there is one. */
  readonly values: readonly ValueDifference[];
  readonly steps: readonly RecordedStep[];
}

/** The state before the first checkpoint. */
const nothing: FrameTree = { input: undefined, channels: {}, nodes: {} };

/**
 * What was recorded between two states.
 * @param before - the frame at the previous checkpoint. Undefined if there is none or it was pruned; then the whole state counts as
 * recorded.
 */
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
