/** Runs parts of a node's work in parallel, like the items of a map. */
import type { NodeContext } from './contracts/node-contract.ts';

export interface PartsOptions {
  /** How many parts may work at once. */
  readonly atOnce: number;
  /**
   * When a part that waits keeps its place, so that no other begins meanwhile. `in doubt`, the default: while somebody is asked whether an
   * effect of it happened. Only a crash raises such a question, and where a failure is the end of the work, it would let parts begin that
   * else never would.
   */
  readonly keepsPlace?: 'always' | 'in doubt' | 'never';
  /** Whether the order in which parts end decides something: see `PartOptions`. */
  readonly isOrdered?: boolean;
  /**
   * Returns the indices of the parts that began before the function was repeated. They are finished though another one ends the work.
   * Default: none did.
   */
  readonly begunBefore?: () => ReadonlySet<number>;
}

/**
 * Does the work of each item, started in order, with a limit on how many run at once. A part that stops at a wait (an open question, a
 * waiting child run) gives its place to the next one, so open questions do not keep other parts from asking theirs. Where which part ends
 * first decides something, parts are to keep their places always.
 *
 * @param work - called with a context for the part. Returns whether further parts may begin; parts that have begun are finished.
 * @throws whatever `work` throws
 */
export function runParts<Item>(
  ctx: NodeContext,
  items: readonly Item[],
  { atOnce, keepsPlace = 'in doubt', isOrdered = false, begunBefore = () => new Set() }: PartsOptions,
  work: (ctx: NodeContext, item: Item, index: number) => Promise<boolean>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let queue = [...items.entries()].toReversed();
    let mayBegin = true;
    let atWork = 0;
    let begun = 0;
    const begin = ([index, item]: readonly [number, Item]): void => {
      let hasPlace = true;
      const leavePlace = (): void => {
        if (hasPlace) atWork -= 1;
        hasPlace = false;
      };
      const onWaiting = (isInDoubt: boolean): void => {
        if (keepsPlace === 'always' || (keepsPlace === 'in doubt' && isInDoubt)) return;
        leavePlace();
        beginMore();
      };
      atWork += 1;
      begun += 1;
      const ended = (goesOn: boolean): void => {
        leavePlace();
        begun -= 1;
        if (!goesOn) beginNoMore();
        beginMore();
      };
      work(ctx.part?.(onWaiting, { isOrdered }) ?? ctx, item, index)
        .then(ended)
        .catch(reject);
    };
    const beginNoMore = (): void => {
      if (!mayBegin) return;
      mayBegin = false;
      const begunIndices = begunBefore();
      queue = queue.filter(([index]) => begunIndices.has(index));
    };
    const beginMore = (): void => {
      for (let entry = takeNext(); entry !== undefined; entry = takeNext()) begin(entry);
      if (begun === 0) resolve();
    };
    const takeNext = (): readonly [number, Item] | undefined => (atWork < atOnce ? queue.pop() : undefined);
    beginMore();
  });
}
