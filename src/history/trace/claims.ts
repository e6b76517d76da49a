/**
 * Who wrote which part of one value, found by going through its ops from the newest back: what a newer op wrote is not claimed again by
 * an older one, and all that is left at an op which sets the whole is of that op.
 */
import { getOwn, isPlainObject } from '../../state/values/plain.ts';

/** A part of a value, and what claimed it; `range`: these items of a list, or characters of a text. */
export interface ClaimedPart<Origin> {
  readonly path: readonly string[];
  readonly range?: { readonly from: number; readonly to: number };
  readonly value: unknown;
  /** Undefined: nothing that was read did. */
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
  /** What was appended, the last first. */
  readonly #tails: Tail<Origin>[] = [];
  /** Items or characters that no append has claimed: those before this place. */
  #open: number;
  /** Keys whose whole value is claimed. */
  #closed = 0;
  #origin: { readonly is: Origin } | undefined;

  constructor(value: unknown) {
    this.#value = value;
    this.#open = Array.isArray(value) || typeof value === 'string' ? value.length : 0;
  }

  /** Whether every part is claimed: older ops change nothing. */
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

  /** An older op set the place below the value; an empty path: the value itself. */
  set(path: readonly string[], origin: Origin): void {
    this.#at(path, (claims) => (claims.#origin ??= { is: origin }));
  }

  /** An older op appended so many items or characters there. */
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

  /** The parts in the order of the value; a part with parts of other origins within is told by these. */
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
    // What is not there any more was deleted since.
    if (!isPlainObject(this.#value) || !Object.hasOwn(this.#value, key)) return;
    let part = this.#parts.get(key);
    if (part === undefined) this.#parts.set(key, (part = new Claims(getOwn(this.#value, key))));
    const wasWhole = part.isWhole;
    part.#at(rest, claim);
    if (!wasWhole && part.isWhole) this.#closed += 1;
  }
}
