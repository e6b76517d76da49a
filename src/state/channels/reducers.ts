/**
 * The built-in reducers, which combine a channel's value with an update. They are pure and throw plain errors; the caller adds the
 * channel's name.
 */
import type { CustomReducer, ReducerName } from '../../graph/graph.ts';
import { canonicalText } from '../values/canonical-text.ts';
import { describeValue, isPlainObject, setOwn, type PlainObject } from '../values/plain-object.ts';

/** A channel as a reducer sees it. Reducers never change it. */
export interface Slot {
  readonly exists: boolean;
  readonly value: unknown;
  /** Data that the reducer keeps beside the channel's value. */
  readonly aux: unknown;
  /** Canonical texts of the list's items. The set belongs to whoever made the slot. */
  readonly itemTexts: () => ReadonlySet<string>;
}

/** The result of a reducer. */
export type Reduction =
  | { readonly kind: 'keep' }
  | { readonly kind: 'set'; readonly value: unknown; readonly aux?: unknown }
  | { readonly kind: 'append'; readonly items: readonly unknown[] }
  | { readonly kind: 'text'; readonly text: string }
  /** The value with some parts replaced; `path` is relative to the channel. */
  | { readonly kind: 'parts'; readonly value: unknown; readonly parts: readonly Part[] }
  /** A value from the user's code, which has to be validated first. */
  | { readonly kind: 'made'; readonly value: unknown };

export interface Part {
  readonly path: readonly string[];
  readonly value: unknown;
}

export type Reduce = (slot: Slot, update: unknown) => Reduction;

const keep: Reduction = { kind: 'keep' };

export const namedReducers: Readonly<Record<ReducerName, Reduce>> = {
  last: (_slot, update) => set(update),
  first: (slot, update) => (slot.exists ? keep : set(update)),
  append: reduceAppend,
  merge: reduceMerge,
  union: reduceUnion,
  sum: reduceSum,
  min: (slot, update) => reduceOrder(slot, update, (current, next) => next < current),
  max: (slot, update) => reduceOrder(slot, update, (current, next) => next > current),
  avg: reduceMean,
  longest: reduceLongest,
};

/** Wraps a user's reducer. Its result is not trusted yet. */
export function customReducer(reduce: CustomReducer): Reduce {
  return (slot, update) => ({ kind: 'made', value: reduce(slot.value, update) });
}

function set(value: unknown): Reduction {
  return { kind: 'set', value };
}

function asItems(update: unknown): readonly unknown[] {
  return Array.isArray(update) ? update : [update];
}

function reduceAppend(slot: Slot, update: unknown): Reduction {
  if (!slot.exists) return set(asItems(update));
  if (Array.isArray(slot.value)) return { kind: 'append', items: asItems(update) };
  if (typeof slot.value !== 'string') throw new TypeError(`cannot append to ${describeValue(slot.value)}`);
  if (typeof update !== 'string') throw new TypeError(`cannot append ${describeValue(update)} to a text`);
  return { kind: 'text', text: update };
}

function reduceUnion(slot: Slot, update: unknown): Reduction {
  if (update instanceof Set && (!slot.exists || slot.value instanceof Set)) {
    return set(new Set(distinct([...((slot.value as Set<unknown> | undefined) ?? []), ...update], new Set())));
  }
  if (slot.exists && !Array.isArray(slot.value)) throw new TypeError(`cannot unite with ${describeValue(slot.value)}`);
  const added = update instanceof Set ? [...update] : asItems(update);
  if (!slot.exists) return set(distinct(added, new Set()));
  const items = distinct(added, slot.itemTexts());
  return items.length === 0 ? keep : { kind: 'append', items };
}

/** The canonical texts of a list's items. */
export function textsOf(items: readonly unknown[]): ReadonlySet<string> {
  return new Set(items.map(canonicalText));
}

/** The items whose canonical text is not known yet, without duplicates. */
function distinct(items: readonly unknown[], known: ReadonlySet<string>): readonly unknown[] {
  const seen = new Set<string>();
  return items.filter((item) => {
    const text = canonicalText(item);
    if (known.has(text) || seen.has(text)) return false;
    seen.add(text);
    return true;
  });
}

function reduceMerge(slot: Slot, update: unknown): Reduction {
  if (!isPlainObject(update)) throw new TypeError(`cannot merge ${describeValue(update)}`);
  if (!slot.exists) return set(update);
  if (!isPlainObject(slot.value)) throw new TypeError(`cannot merge into ${describeValue(slot.value)}`);
  const parts: Part[] = [];
  const value = mergeObjects(slot.value, update, [], parts);
  return parts.length === 0 ? keep : { kind: 'parts', value, parts };
}

/** Merges plain objects key by key, recursively; any other value is replaced. */
function mergeObjects(current: PlainObject, update: PlainObject, path: readonly string[], parts: Part[]): PlainObject {
  const merged: PlainObject = { ...current };
  for (const key of Object.keys(update)) {
    const next = update[key];
    const before = Object.hasOwn(current, key) ? current[key] : undefined;
    const keyPath = [...path, key];
    if (isPlainObject(before) && isPlainObject(next)) {
      setOwn(merged, key, mergeObjects(before, next, keyPath, parts));
    } else {
      setOwn(merged, key, next);
      parts.push({ path: keyPath, value: next });
    }
  }
  return merged;
}

function reduceSum(slot: Slot, update: unknown): Reduction {
  if (typeof update !== 'number' && typeof update !== 'bigint')
    throw new TypeError(`cannot add ${describeValue(update)}`);
  if (!slot.exists) return set(update);
  if (typeof slot.value !== typeof update)
    throw new TypeError(`cannot add ${describeValue(update)} to ${describeValue(slot.value)}`);
  return set((slot.value as number) + (update as number));
}

type Ordered = number | bigint | Date;

function isOrdered(value: unknown): value is Ordered {
  return typeof value === 'number' || typeof value === 'bigint' || value instanceof Date;
}

function reduceOrder(slot: Slot, update: unknown, wins: (current: Ordered, next: Ordered) => boolean): Reduction {
  const { exists, value } = slot;
  if (!isOrdered(update)) throw new TypeError(`${describeValue(update)} has no order`);
  if (!exists) return set(update);
  if (!isOrdered(value) || value instanceof Date !== update instanceof Date) {
    throw new TypeError(`cannot compare ${describeValue(update)} with ${describeValue(value)}`);
  }
  return wins(value, update) ? set(update) : keep;
}

/** A running mean. The number of updates is recorded beside the channel. A value that came from elsewhere counts as one update. */
function reduceMean(slot: Slot, update: unknown): Reduction {
  if (typeof update !== 'number') throw new TypeError(`no mean of ${describeValue(update)}`);
  if (!slot.exists) return { kind: 'set', value: update, aux: 1 };
  if (typeof slot.value !== 'number') throw new TypeError(`no mean with ${describeValue(slot.value)}`);
  const count = (typeof slot.aux === 'number' ? slot.aux : 1) + 1;
  return { kind: 'set', value: slot.value + (update - slot.value) / count, aux: count };
}

function reduceLongest(slot: Slot, update: unknown): Reduction {
  const length = lengthOf(update);
  if (!slot.exists) return set(update);
  return length > lengthOf(slot.value) ? set(update) : keep;
}

function lengthOf(value: unknown): number {
  if (typeof value === 'string' || Array.isArray(value)) return value.length;
  throw new TypeError(`${describeValue(value)} has no length`);
}
