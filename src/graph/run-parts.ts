/** Parts of a node's work that go on side by side, like the items of a map. */
import type { NodeContext } from './node-contract.ts';

export interface PartsOptions {
  /** Parts at work at once. A part that waits is not at work. */
  readonly atOnce: number;
  /** A part begins only when the one before it has ended, waits included. */
  readonly isSequential?: boolean;
}

/**
 * Does the work of each item, in their order, so many at once. A part that is left at a wait (its question is open, its child run
 * waits) gives its place to the next, so no part is kept from asking because others have asked.
 *
 * @param work - says whether further parts are to begin; those that have begun end. It is called with a context of the part's own
 * @throws whatever `work` throws
 */
export function runParts<Item>(
  ctx: NodeContext,
  items: readonly Item[],
  { atOnce, isSequential = false }: PartsOptions,
  work: (ctx: NodeContext, item: Item, index: number) => Promise<boolean>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const places = isSequential ? 1 : atOnce;
    const queue = [...items.entries()].toReversed();
    let atWork = 0;
    let begun = 0;
    const begin = ([index, item]: readonly [number, Item]): void => {
      let hasPlace = true;
      const leavePlace = (): void => {
        if (hasPlace) atWork -= 1;
        hasPlace = false;
      };
      const onWaiting = (): void => {
        if (isSequential) return;
        leavePlace();
        beginMore();
      };
      atWork += 1;
      begun += 1;
      work(ctx.part?.(onWaiting) ?? ctx, item, index).then((goesOn) => {
        leavePlace();
        begun -= 1;
        if (!goesOn) queue.length = 0;
        beginMore();
      }, reject);
    };
    const beginMore = (): void => {
      for (let entry = takeNext(); entry !== undefined; entry = takeNext()) begin(entry);
      if (begun === 0) resolve();
    };
    const takeNext = (): readonly [number, Item] | undefined => (atWork < places ? queue.pop() : undefined);
    beginMore();
  });
}

/** The largest key that an object takes for a position. */
const lastPosition = 2 ** 32 - 2;

/**
 * Whether the records of the parts' steps stand in the order of the items, so that they can stand for the list of outputs. A step has its
 * record from when it begins, ends, or is tried again, so side by side only keys that are positions are sure: objects put them first,
 * in ascending order.
 */
export function keepsItemOrder(keys: readonly string[], isSequential: boolean): boolean {
  return keys.every((key, index) => {
    const before = index === 0 ? undefined : keys[index - 1];
    if (!isPosition(key)) return isSequential || keys.length === 1;
    return before === undefined || (isPosition(before) && Number(before) < Number(key));
  });
}

function isPosition(key: string): boolean {
  return /^(0|[1-9]\d{0,9})$/.test(key) && Number(key) <= lastPosition;
}
