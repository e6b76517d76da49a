/** Finds effects in a visit's record that were started and have no result: those of its steps and of its child runs (X3). */
import type { FrameTree, Intent, NodeRecord, StepRecord } from '../../state/tree.ts';

/** An effect that was started and has no result. */
export interface DoubtedEffect {
  readonly node: readonly string[];
  readonly step?: string;
  readonly effect: string;
  readonly intent: Intent;
  /** When it is tried again, if it is known that the attempt failed. */
  readonly retryAt?: number | undefined;
}

/** The open effects among the steps and child runs of a visit that nobody has judged yet. */
export function* openEffectsOf(record: NodeRecord, path: readonly string[]): Generator<DoubtedEffect> {
  for (const [step, { status, intent, decision, effect = 'write', retryAt }] of Object.entries(record.steps ?? {})) {
    if (status === 'started' && intent !== undefined && decision === undefined)
      yield { node: path, step, effect, intent, retryAt };
  }
  for (const [name, child] of Object.entries(record.children ?? {})) yield* openInFrame(child, [...path, name]);
}

function* openInFrame({ nodes }: FrameTree, path: readonly string[]): Generator<DoubtedEffect> {
  for (const [id, record] of Object.entries(nodes))
    if (record.fired === undefined) yield* openInVisit(record, [...path, id]);
}

/** The open effects of a visit that nobody has judged yet: its own, and those among its steps and child runs. */
export function* openInVisit(record: NodeRecord, node: readonly string[]): Generator<DoubtedEffect> {
  const { status, intent, decision, retryAt } = record;
  // A failed node has a result: whoever started the child run was told about it.
  if (status !== 'failed' && intent !== undefined && decision === undefined)
    yield { node, effect: 'write', intent, retryAt };
  yield* openEffectsOf(record, node);
}

/** What is on record of an effect that has begun and not succeeded. */
export interface BegunEffect {
  /** The key of the step, if it is one of the visit itself; undefined for one in a child run. */
  readonly step?: string;
  readonly record: (StepRecord | NodeRecord) & { readonly intent: Intent };
}

/** The effects of a visit that have begun and not succeeded: of its steps, and in its child runs. */
export function* begunEffectsOf({ steps = {}, children = {} }: NodeRecord): Generator<BegunEffect> {
  for (const [step, record] of Object.entries(steps)) if (isBegun(record)) yield { step, record };
  for (const child of Object.values(children)) yield* begunIn(child);
}

function isBegun(record: StepRecord | NodeRecord): record is BegunEffect['record'] {
  return record.intent !== undefined && record.status !== 'done';
}

function* begunIn({ nodes }: FrameTree): Generator<BegunEffect> {
  for (const record of Object.values(nodes)) {
    if (record.fired !== undefined) continue;
    if (isBegun(record)) yield { record };
    for (const { record: below } of begunEffectsOf(record)) yield { record: below };
  }
}
