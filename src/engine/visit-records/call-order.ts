/** Numbers the ends of calls that were open at the same time (X4.13). Calls made one after another need no number. */
import type { NodeRecord, StepRecord } from '../../state/tree.ts';
import type { Activation } from '../live-run/loop.ts';

/** The last number used, by record. */
const lastNumbers = new WeakMap<NodeRecord, number>();

/** The recorded numbers, ascending. */
export function endOrders({ steps = {}, children = {} }: NodeRecord): readonly number[] {
  const ended = [...Object.values(steps), ...Object.values(children)];
  return ended.flatMap(({ order }) => (order === undefined ? [] : [order])).toSorted((a, b) => a - b);
}

/** The number for a call that ends now. */
export function nextEndOrder(record: NodeRecord): number {
  const next = (lastNumbers.get(record) ?? endOrders(record).at(-1) ?? 0) + 1;
  lastNumbers.set(record, next);
  return next;
}

/**
 * The number, as a record field, for a call that ends while its function runs. Empty if the call overlaps no other, or belongs to one of
 * several parts of the work.
 */
export function orderIfOverlapping(activation: Activation, key: string): Pick<StepRecord, 'order'> {
  const isNumbered = activation.isOverlapping && !activation.isPart(key);
  const record = isNumbered ? activation.frameRun.openRecordOf(activation.node) : undefined;
  return record === undefined ? {} : { order: nextEndOrder(record) };
}

/**
 * Like {@link orderIfOverlapping}, for a wait. It may be closed while its function is not running, so the record tells whether other calls
 * are open.
 */
export function orderOfWait(
  record: NodeRecord,
  key: string,
  activation: Activation | undefined,
): Pick<StepRecord, 'order'> {
  const isBeside = ([other, { status, order }]: readonly [string, StepRecord]): boolean =>
    other !== key && (status === 'open' || status === 'started' || order !== undefined);
  if (activation?.isPart(key) === true) return {};
  const overlaps =
    activation?.isOverlapping === true ||
    Object.keys(record.children ?? {}).length > 0 ||
    Object.entries(record.steps ?? {}).some(isBeside);
  return overlaps ? { order: nextEndOrder(record) } : {};
}
