/** What the frame knows of one channel or output beside its value: its version, its list, and what it was for open views. */
import { deepFreeze } from '../values/freeze.ts';
import { canonicalText } from '../values/canonical.ts';
import { foldItems, listSeed } from './versions.ts';

/** In place of a value: there is none. */
export const absent: unique symbol = Symbol('absent');

/** What a cell was, for views up to `viewId` that are not served by an earlier entry. */
export interface Past {
  readonly cell: Cell;
  readonly viewId: number;
  value: unknown;
  /** The value is the first so many items of a list that has grown since; -1: the value is whole and frozen. */
  length: number;
  version: string | undefined;
  /** The version of a part of the list, to go on from. */
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
  /** The channel's name: `scratch.messages`. */
  readonly name: string;
  /** Whether its list, if it is one, is ours to append to. */
  readonly isGrowing: boolean;
  version: string | undefined;
  firstPast: Past | undefined;
  lastPast: Past | undefined;
  /** The outputs of a map node's steps, put together. */
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

  /** Its path in a delta; `prefix` is that of its area, without the closing bracket. */
  pathJson(prefix: string): string {
    return (this.#path ??= `${prefix},${JSON.stringify(this.key)}]`);
  }

  /** The value was replaced: what was known of it is void. */
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

  /** The cell's growing list as a frozen copy, kept until the list grows. */
  sliceOf(list: readonly unknown[]): readonly unknown[] {
    if (this.#slice?.length === list.length) return this.#slice;
    for (; this.#frozen < list.length; this.#frozen++) deepFreeze(list[this.#frozen]);
    return (this.#slice = Object.freeze(list.slice()));
  }

  /** The frozen copy, if there is one of this length. */
  readySlice(length: number): readonly unknown[] | undefined {
    return this.#slice?.length === length ? this.#slice : undefined;
  }

  /** What a past entry stands for; a list is cut once. */
  static valueOf(past: Past): unknown {
    if (past.length >= 0) {
      past.value = deepFreeze((past.value as readonly unknown[]).slice(0, past.length));
      past.length = -1;
    }
    return past.value;
  }

  /** The hash of the list: only what was appended since the last call is hashed. */
  foldList(list: readonly unknown[]): string {
    const { count, hash } = this.#fold ?? { count: 0, hash: listSeed };
    if (count === list.length) return hash;
    this.#fold = { count: list.length, hash: foldItems(hash, list, count, list.length) };
    return this.#fold.hash;
  }

  /** The canonical texts of the list's items, kept up with what is appended. */
  textsOf(list: readonly unknown[]): ReadonlySet<string> {
    this.#texts ??= new Set();
    for (; this.#textCount < list.length; this.#textCount++) this.#texts.add(canonicalText(list[this.#textCount]));
    return this.#texts;
  }
}
