/** Parts of a change as a post-mortem tells them. */
import type { HistoryEntry } from '../load/lineage.ts';
import type { ChangePart } from '../stored/change.ts';
import type { ToldAt, ToldEvent, ToldRetry, ToldStep } from './story.ts';

/** Where and when a checkpoint is. */
export function placeOf({ run, checkpoint }: HistoryEntry): ToldAt {
  return { runId: run.runId, seq: checkpoint.seq, at: checkpoint.at };
}

const eventKinds: ReadonlySet<string> = new Set(['start', 'fork', 'resume', 'pause', 'cancel', 'end', 'fold']);

export function toEvent(entry: HistoryEntry, part: ChangePart): ToldEvent | undefined {
  if (!eventKinds.has(part.kind)) return undefined;
  const { kind, by, status, from, detail } = part;
  const { seq, fold } = entry.checkpoint;
  return {
    kind: kind as ToldEvent['kind'],
    ...placeOf(entry),
    ...(by !== undefined && { by }),
    ...(status !== undefined && { status }),
    ...(from !== undefined && { from }),
    ...(detail !== undefined && kind !== 'fold' && { detail }),
    ...(fold !== undefined && { pruned: { after: fold.after, upTo: seq } }),
  };
}

export function toRetry(entry: HistoryEntry, { attempt: next = 2, step, error, by }: ChangePart): ToldRetry {
  return {
    ...placeOf(entry),
    attempt: next - 1,
    ...(step !== undefined && { step }),
    ...(error !== undefined && { error }),
    ...(by !== undefined && { by }),
  };
}

export function toStep(entry: HistoryEntry, part: ChangePart): ToldStep {
  const { step = '', status = 'done', effect, error, durationMs, spent } = part;
  return {
    ...placeOf(entry),
    step,
    status,
    ...(effect !== undefined && { effect }),
    ...(error !== undefined && { error }),
    ...(durationMs !== undefined && { durationMs }),
    ...(spent !== undefined && { spent }),
  };
}
