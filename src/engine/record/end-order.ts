/** As the how-manieth of its visit's calls one ended, where several were open at once (X4.13). Calls one after the other need no number. */
import type { NodeRecord, StepRecord } from '../../state/tree.ts';
import type { Activation } from '../run/frame-run.ts';

/** The last number given, by record. */
const lastNumbers = new WeakMap<NodeRecord, number>();

/** The numbers on record, ascending. */
export function endOrders({ steps = {}, children = {} }: NodeRecord): readonly number[] {
  const ended = [...Object.values(steps), ...Object.values(children)];
  return ended.flatMap(({ order }) => (order === undefined ? [] : [order])).toSorted((a, b) => a - b);
}

/** The number of a call that ends now. */
export function nextEndOrder(record: NodeRecord): number {
  const next = (lastNumbers.get(record) ?? endOrders(record).at(-1) ?? 0) + 1;
  lastNumbers.set(record, next);
  return next;
}

/** The number, as a field, of a call that ends while its function runs; nothing if it is alone, or one of several parts of the work. */
export function orderIfOverlapping(activation: Activation, key: string): Pick<StepRecord, 'order'> {
  const isNumbered = activation.isOverlapping && !activation.isPart(key);
  const record = isNumbered ? activation.frameRun.openRecordOf(activation.node) : undefined;
  return record === undefined ? {} : { order: nextEndOrder(record) };
}

/** The same for a wait, which may be closed when nobody runs its function: then the record says whether other calls are open. */
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
