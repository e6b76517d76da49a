/** Parts of a node's work that go on side by side, like the items of a map. */
import type { NodeContext } from './contracts/node-contract.ts';

export interface PartsOptions {
  /** Parts at work at once. A part that waits is not at work. */
  readonly atOnce: number;
  /** A part begins only when the one before it has ended, waits included. */
  readonly isSequential?: boolean;
  /** What becomes of one part hangs on which ended first: see `PartOptions`. */
  readonly isOrdered?: boolean;
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
  { atOnce, isSequential = false, isOrdered = false }: PartsOptions,
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
      work(ctx.part?.(onWaiting, { isOrdered }) ?? ctx, item, index).then((goesOn) => {
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
