/**
 * Finds who wrote which part of one value, from its ops, newest first. A part that a newer op wrote is not assigned to
 * an older one. An op that sets the whole value gets all the other parts.
 */
import { getOwn, isPlainObject } from '../../state/values/plain-object.ts';

/** A part of a value and the op that wrote it. With `range`, only these items of a list or characters of a text. */
export interface ClaimedPart<Origin> {
  readonly path: readonly string[];
  readonly range?: { readonly from: number; readonly to: number };
  readonly value: unknown;
  /** Undefined if none of the ops read wrote it. */
  readonly origin: Origin | undefined;
}

interface Tail<Origin> {
  readonly from: number;
  readonly to: number;
  readonly origin: Origin;
}

export class Claims<Origin> {
  readonly #value: unknown;
  readonly #parts = new Map<string, Claims<Origin>>();
  /** What was appended, newest first. */
  readonly #tails: Tail<Origin>[] = [];
  /** Number of items or characters, from the start, that no append accounts for. */
  #open: number;
  /** Number of keys whose whole value is explained. */
  #closed = 0;
  #origin: { readonly is: Origin } | undefined;

  constructor(value: unknown) {
    this.#value = value;
    this.#open = Array.isArray(value) || typeof value === 'string' ? value.length : 0;
  }

  /** Whether every part is explained, so that older ops no longer matter. */
  get isWhole(): boolean {
    if (this.#origin !== undefined) return true;
    const value = this.#value;
    if (Array.isArray(value) || typeof value === 'string') return value.length > 0 && this.#open === 0;
    return isPlainObject(value) && this.#closed > 0 && this.#closed === Object.keys(value).length;
  }

  /** Whether it is known who wrote this item of a list. */
  knowsItem(index: number): boolean {
    return this.isWhole || index >= this.#open;
  }

  /** Records an op that set the value at this path; an empty path means the whole value. */
  set(path: readonly string[], origin: Origin): void {
    this.#at(path, (claims) => (claims.#origin ??= { is: origin }));
  }

  /** Records an op that appended this many items or characters at this path. */
  append(path: readonly string[], count: number, origin: Origin): void {
    this.#at(path, (claims) => {
      const value = claims.#value;
      if (!Array.isArray(value) && typeof value !== 'string') return;
      const open = claims.#open;
      const from = Math.max(0, open - count);
      if (from < open) claims.#tails.push({ from, to: open, origin });
      claims.#open = from;
    });
  }

  /** The parts in the order of the value. If parts inside a part have other origins, these are listed in its place. */
  parts(path: readonly string[] = []): readonly ClaimedPart<Origin>[] {
    const value = this.#value;
    const rest = this.#origin?.is;
    if (this.#tails.length > 0) return this.#ranges(value as string | readonly unknown[], path, rest);
    if (!isPlainObject(value) || this.#parts.size === 0) return [{ path, value, origin: rest }];
    return Object.keys(value).flatMap((key) => {
      const part = this.#parts.get(key);
      if (part === undefined) return [{ path: [...path, key], value: value[key], origin: rest }];
      if (rest !== undefined) part.#origin ??= { is: rest };
      return part.parts([...path, key]);
    });
  }

  #ranges(
    value: string | readonly unknown[],
    path: readonly string[],
    rest: Origin | undefined,
  ): readonly ClaimedPart<Origin>[] {
    const before = this.#open === 0 ? [] : [{ from: 0, to: this.#open, origin: rest }];
    return [...before, ...this.#tails.toReversed()].map(({ from, to, origin }) => ({
      path,
      range: { from, to },
      value: value.slice(from, to),
      origin,
    }));
  }

  #at(path: readonly string[], claim: (claims: Claims<Origin>) => void): void {
    if (this.isWhole) return;
    const [key, ...rest] = path;
    if (key === undefined) return claim(this);
    // The op wrote something that was deleted later.
    if (!isPlainObject(this.#value) || !Object.hasOwn(this.#value, key)) return;
    let part = this.#parts.get(key);
    if (part === undefined) this.#parts.set(key, (part = new Claims(getOwn(this.#value, key))));
    const wasWhole = part.isWhole;
    part.#at(rest, claim);
    if (!wasWhole && part.isWhole) this.#closed += 1;
  }
}
