/**
 * What a frame keeps about one channel or output in addition to its value: its version, a growing list, and earlier values for open views.
 */
import { deepFreeze } from '../values/freeze.ts';
import { canonicalText } from '../values/canonical.ts';
import { foldItems, listSeed } from './versions.ts';

/** Stands for the value of a channel that has none. */
export const absent: unique symbol = Symbol('absent');

/** An earlier state of a cell, kept for views up to `viewId` that no earlier entry serves. */
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
