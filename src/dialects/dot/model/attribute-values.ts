/** The attributes of a stage, an edge or the graph: those written there, over those of the stylesheet, over defaults. */
import type { AttributeSyntax } from '../text/syntax.ts';
import { durationMs } from './amounts.ts';

/** The value of an attribute, as text. */
export interface Given {
  readonly value: string;
  /** Offset of the value. Undefined for one that a default or the stylesheet gives. */
  readonly valueAt: number | undefined;
}

export type Values = ReadonlyMap<string, Given>;

export const noValues: Values = new Map();

/** Up to so many written attributes are looked through one by one, in the list that the parser made. More are indexed. */
const scannedMax = 12;

/** Attributes by name. Defaults and styles are shared by all that they hold for, and not copied. */
export class Attributes {
  readonly #written: readonly AttributeSyntax[];
  readonly #at: number;
  readonly #styles: Values;
  readonly #defaults: Values;
  #index: Values | undefined;

  /**
   * @param written - in the order of the file; of several with one name the last holds
   * @param at - offset of what has the attributes
   */
  constructor(written: readonly AttributeSyntax[], at: number, styles: Values = noValues, defaults: Values = noValues) {
    this.#written = written;
    this.#at = at;
    this.#styles = styles;
    this.#defaults = defaults;
  }

  /** The attribute as it is written or taken over. */
  given(name: string): Given | undefined {
    const own = this.#written.length > scannedMax ? this.#indexed(name) : findWritten(this.#written, name);
    if (own !== undefined) return own;
    const styled = this.#styles.size === 0 ? undefined : this.#styles.get(name);
    return styled ?? (this.#defaults.size === 0 ? undefined : this.#defaults.get(name));
  }
  /** Offset of the value. For one that a default or the stylesheet gives: of what has the attributes. */
  placeOf(name: string): number {
    return this.given(name)?.valueAt ?? this.#at;
  }
  has(name: string): boolean {
    return this.given(name) !== undefined;
  }
  text(name: string): string {
    return this.given(name)?.value ?? '';
  }
  flag(name: string): boolean {
    return this.given(name)?.value === 'true';
  }
  /** Undefined if it is not given, or not a number. */
  integer(name: string): number | undefined {
    const value = Number(this.given(name)?.value ?? Number.NaN);
    return Number.isSafeInteger(value) ? value : undefined;
  }
  durationMs(name: string): number | undefined {
    const value = this.given(name)?.value;
    return value === undefined ? undefined : durationMs(value);
  }
  /** The names that a value lists, separated by commas. */
  list(name: string): readonly string[] {
    return listOf(this.given(name));
  }
  /** What is written, each name once. */
  written(): readonly AttributeSyntax[] {
    return this.#written.filter((attribute) => this.given(attribute.key) === attribute);
  }
  /** Each name once: defaults, what is written, what the stylesheet adds. */
  names(): ReadonlySet<string> {
    const names = new Set(this.#defaults.keys());
    for (const { key } of this.#written) names.add(key);
    for (const name of this.#styles.keys()) names.add(name);
    return names;
  }
  entries(): readonly (readonly [string, string])[] {
    return Array.from(this.names(), (name) => [name, this.text(name)]);
  }

  #indexed(name: string): Given | undefined {
    this.#index ??= new Map(this.#written.map((attribute) => [attribute.key, attribute]));
    return this.#index.get(name);
  }
}

/** The last of several with one name. */
export function findWritten(written: readonly AttributeSyntax[], name: string): AttributeSyntax | undefined {
  for (let at = written.length - 1; at >= 0; at -= 1) {
    const attribute = written[at] as AttributeSyntax;
    // Most names differ in length already, which is cheaper to see.
    if (attribute.key.length === name.length && attribute.key === name) return attribute;
  }
  return undefined;
}

/** The names that a value lists, separated by commas. */
export function listOf(given: Given | undefined): readonly string[] {
  if (given === undefined || given.value === '') return none;
  return given.value.split(',').flatMap((piece) => piece.trim() || []);
}

const none: readonly string[] = [];
