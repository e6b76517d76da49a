/** Where an experiment goes on from a run: just before a node began, and with all that was recorded before. */
import type { History } from '../history/history.ts';

/** A checkpoint, and how far the record after it is kept as it is. */
export interface Point {
  readonly seq: number;
  /** What came before this place in the record is taken from there whatever the arm changes: the seq, and the part of its change. */
  readonly upTo?: readonly [seq: number, index: number];
}

/** @param at - `draft`, `draft#2` for its second visit, or a seq. @returns undefined if the run never came there */
export async function findPoint(
  history: Pick<History, 'log'>,
  runId: string,
  at: string | number | undefined,
): Promise<Point | undefined> {
  if (at === undefined) return { seq: 0 };
  if (typeof at === 'number') return { seq: at };
  const [, node = at, nth = '1'] = /^(.*)#(\d+)$/.exec(at) ?? [];
  let point: Point | undefined;
  // Newest first, so that the last one found is the earliest.
  for await (const { seq, change } of history.log(runId, { ancestors: true })) {
    const index = change.findIndex(
      (part) => part.node?.[0] === node && (part.outer?.[0] ?? part.visit ?? 1) === Number(nth),
    );
    if (index >= 0) point = { seq: Math.max(0, seq - 1), upTo: [seq, index] };
  }
  return point;
}
