/** Runs parts of a node's work in parallel, like the items of a map. */
import type { NodeContext } from './contracts/node-contract.ts';

export interface PartsOptions {
  /** How many parts may work at once. */
  readonly atOnce: number;
  /** Whether a part that waits keeps its place. Otherwise another one may begin meanwhile. Default false. */
  readonly keepsPlace?: boolean;
  /** Whether the order in which parts end decides something: see `PartOptions`. */
  readonly isOrdered?: boolean;
}

/**
 * Does the work of each item, started in order, with a limit on how many run at once. A part that stops at a wait (an open question, a
 * waiting child run) gives its place to the next one, so open questions do not keep other parts from asking theirs. Where which part ends
 * first decides something, parts are to keep their places: a crash may raise a question, and would let parts begin that else never would.
 *
 * @param work - called with a context for the part. Returns whether further parts may begin; parts that have begun are finished.
 * @throws whatever `work` throws
 */
export function runParts<Item>(
  ctx: NodeContext,
  items: readonly Item[],
  { atOnce, keepsPlace = false, isOrdered = false }: PartsOptions,
  work: (ctx: NodeContext, item: Item, index: number) => Promise<boolean>,
): Promise<void> {
  return new Promise((resolve, reject) => {
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
        if (keepsPlace) return;
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
    const takeNext = (): readonly [number, Item] | undefined => (atWork < atOnce ? queue.pop() : undefined);
    beginMore();
  });
}
