/** Versions of channels: hashes that depend only on a channel's value. */
import { encodeValue } from '../values/encode.ts';
import { hashText, canonicalText } from '../values/canonical-text.ts';
import { deepFreeze } from '../values/freeze.ts';

/** The version of a channel that does not exist. No hash looks like this. */
export const absentVersion = 'absent';

/** The version of an empty list. No value is encoded as this text. */
export const listSeed: string = hashText('[');

/** Extends the version of a list's first `from` items to its first `to` items. */
export function foldItems(hash: string, list: readonly unknown[], from: number, to: number): string {
  let folded = hash;
  // No JSON text begins with a comma, so a list is never confused with another value.
  for (let i = from; i < to; i++) folded = hashText(`,${folded}${encodeValue(list[i])}`);
  return folded;
}

/** The version of a value. Lists are hashed item by item, so that after an append only the new items are hashed. */
export function versionOfValue(value: unknown): string {
  if (Array.isArray(value)) return foldItems(listSeed, value, 0, value.length);
  return hashText(encodeValue(value));
}

// What a frame keeps about one channel or output in addition to its value: its version, a growing list, and earlier values for open views.

/** Stands for the value of a channel that has none. */
export const absent: unique symbol = Symbol('absent');

/** An earlier state of a cell, remembered for views up to `viewId` that no earlier entry serves. */
export interface Past {
  readonly cell: Cell;
  readonly viewId: number;
  value: unknown;
  /** If the value is a list that has grown since: its length then. -1: the value is complete and frozen. */
  length: number;
  version: string | undefined;
  /** The version of the list's first items, from which hashing can continue. */
  readonly fold: Fold | undefined;
  next: Past | undefined;
}

export interface Fold {
  readonly count: number;
  readonly hash: string;
}

export class Cell {
  readonly area: string;
  readonly key: string;
  /** The channel's name, such as `scratch.messages`. */
  readonly name: string;
  /** Whether the value, if it is a list, is our own copy, so that items can be appended in place. */
  readonly isGrowing: boolean;
  version: string | undefined;
  firstPast: Past | undefined;
  lastPast: Past | undefined;
  /** The assembled list of step outputs of a map node. */
  assembled: readonly unknown[] | undefined;
  #path: string | undefined;
  #slice: readonly unknown[] | undefined;
  #frozen = 0;
  #fold: Fold | undefined;
  #texts: Set<string> | undefined;
  #textCount = 0;

  constructor(area: string, key: string, isGrowing: boolean) {
    this.area = area;
    this.key = key;
    this.name = `${area}.${key}`;
    this.isGrowing = isGrowing;
  }

  /** The cell's path in a delta; `prefix` is the path of its area, without the closing bracket. */
  pathJson(prefix: string): string {
    return (this.#path ??= `${prefix},${JSON.stringify(this.key)}]`);
  }

  /** Drops cached facts, because the value was replaced. */
  forget(): void {
    this.version = undefined;
    this.assembled = undefined;
    this.#slice = undefined;
    this.#frozen = 0;
    this.#fold = undefined;
    this.#texts = undefined;
    this.#textCount = 0;
  }

  get fold(): Fold | undefined {
    return this.#fold;
  }

  /** A frozen copy of the growing list, cached until the list grows. */
  sliceOf(list: readonly unknown[]): readonly unknown[] {
    if (this.#slice?.length === list.length) return this.#slice;
    for (; this.#frozen < list.length; this.#frozen++) deepFreeze(list[this.#frozen]);
    return (this.#slice = Object.freeze(list.slice()));
  }

  /** The cached frozen copy, if it has this length. */
  readySlice(length: number): readonly unknown[] | undefined {
    return this.#slice?.length === length ? this.#slice : undefined;
  }

  /** The value of an earlier state. A list is cut to its length once. */
  static valueOf(past: Past): unknown {
    if (past.length >= 0) {
      past.value = deepFreeze((past.value as readonly unknown[]).slice(0, past.length));
      past.length = -1;
    }
    return past.value;
  }

  /** The version of the list. Only items appended since the last call are hashed. */
  foldList(list: readonly unknown[]): string {
    const { count, hash } = this.#fold ?? { count: 0, hash: listSeed };
    if (count === list.length) return hash;
    this.#fold = { count: list.length, hash: foldItems(hash, list, count, list.length) };
    return this.#fold.hash;
  }

  /** Canonical texts of the list's items, extended as items are appended. */
  textsOf(list: readonly unknown[]): ReadonlySet<string> {
    this.#texts ??= new Set();
    for (; this.#textCount < list.length; this.#textCount++) this.#texts.add(canonicalText(list[this.#textCount]));
    return this.#texts;
  }
}

// A frozen object whose properties are read one by one from a source, so that reads can be recorded.

/** Key of the method that console.log calls. */
const inspectKey = Symbol.for('nodejs.util.inspect.custom');

export interface Source {
  /** The property's value, or {@link absent}. */
  get(key: string): unknown;
  keys(): readonly string[];
}

/**
 * Makes an object that behaves like a plain one with the source's properties: spread, `in`, Object.keys and JSON.stringify work. Writing
 * throws TypeError.
 */
export function recordingObject(source: Source): Readonly<Record<string, unknown>> {
  return new Proxy(new Target(source), handler) as unknown as Readonly<Record<string, unknown>>;
}

/** Holds the source in a private field, so that one handler can serve all objects. */
class Target {
  readonly #source: Source;
  constructor(source: Source) {
    this.#source = source;
  }
  static sourceOf(target: Target): Source {
    return target.#source;
  }
  /** console.log looks for this method here, and calls it with the proxy as `this`. */
  [inspectKey](): unknown {
    return Object.fromEntries(Object.entries(this));
  }
}

function refuse(): never {
  throw new TypeError('the state of a run is frozen: return updates to change it');
}

const handler: ProxyHandler<Target> = {
  get(target, key) {
    if (typeof key === 'symbol') return Reflect.get(Object.prototype, key);
    const value = Target.sourceOf(target).get(key);
    return value === absent ? Reflect.get(Object.prototype, key) : value;
  },
  has(target, key) {
    if (typeof key === 'string' && Target.sourceOf(target).get(key) !== absent) return true;
    return Reflect.has(Object.prototype, key);
  },
  ownKeys: (target) => [...Target.sourceOf(target).keys()],
  getOwnPropertyDescriptor(target, key) {
    const value = typeof key === 'string' ? Target.sourceOf(target).get(key) : absent;
    return value === absent ? undefined : { value, enumerable: true, configurable: true, writable: false };
  },
  getPrototypeOf: () => Object.prototype,
  set: refuse,
  deleteProperty: refuse,
  defineProperty: refuse,
  setPrototypeOf: refuse,
  preventExtensions: refuse,
};
