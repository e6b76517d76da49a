/** The ends of a map to which nothing happens, in all orders in which what runs side by side may end. */
import { failingCall, type MapItemPlan, type MapPlan } from './map-plan.ts';

/** How a call ended by somebody's word about its effect in doubt, by `item:call`. */
export type Said = ReadonlyMap<string, 'happened' | 'fail'>;

/** What an item does if it begins, as far as anybody outside can tell. */
export interface ItemEnd {
  readonly fails: boolean;
  /** The calls it makes, up to the one that fails. */
  readonly made: readonly number[];
}

export function itemEnd(plan: MapPlan, index: number, said: Said): ItemEnd {
  const item = plan.items[index] as MapItemPlan;
  const made: number[] = [];
  for (const at of item.calls.keys()) {
    made.push(at);
    const word = said.get(`${index}:${at}`);
    const isFailing = item.fails && at === failingCall(plan, item);
    if (word === 'fail' || (isFailing && word === undefined)) return { fails: true, made };
  }
  return { fails: false, made };
}

/** Where an item stands: how many of its calls are over, and whether it has a place. Over: undefined. */
interface Standing {
  readonly at: number;
  readonly hasPlace: boolean;
  /** It waits for an answer. */
  readonly waits: boolean;
}

/** In how many ways a map may end: items begin in their order, so each end is known by how many have begun. */
export function begunInSomeOrder(plan: MapPlan, said: Said): ReadonlySet<number> {
  const { items, places, isSequential, gathers, form } = plan;
  const ends = items.map((_, index) => itemEnd(plan, index, said));
  const found = new Set<number>();
  const seen = new Set<string>();
  const visit = (standing: readonly (Standing | undefined)[], hasFailed: boolean): void => {
    const now = [...standing];
    const taken = (): number => now.filter((item) => item?.hasPlace === true).length;
    if (!hasFailed)
      while (now.length < items.length && taken() < places) now.push({ at: 0, hasPlace: true, waits: false });
    const key = JSON.stringify([now, hasFailed]);
    if (seen.has(key)) return;
    seen.add(key);
    if (now.every((item) => item === undefined)) found.add(now.length);
    for (const [index, item] of now.entries()) {
      if (item === undefined) continue;
      // It takes a moment until a question is asked, and its item waits.
      if (items[index]?.calls[item.at] === 'ask' && !item.waits) {
        visit(now.with(index, { ...item, waits: true, hasPlace: item.hasPlace && isSequential }), hasFailed);
        continue;
      }
      const { made, fails } = ends[index] as ItemEnd;
      const isOver = item.at === made.length - 1;
      const after = isOver ? undefined : { at: item.at + 1, hasPlace: item.hasPlace, waits: false };
      visit(now.with(index, after), hasFailed || (isOver && fails && !gathers));
      // What is asked beside the effect may be answered before that ends.
      if (form === 'beside' && after !== undefined) visit(now.with(index, undefined), hasFailed);
    }
  };
  visit([], false);
  return found;
}
