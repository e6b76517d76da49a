/** Values on their way into an expression and out of it. */
import { isPlainObject } from '../canonical.ts';

/** A map whose entries are read when an expression asks for them; an entry that is undefined is absent. */
export class FieldReader extends Map<unknown, unknown> {
  readonly #read: (key: string | number) => unknown;
  /** What stands for the map where it leaves the expression. */
  readonly plain: () => unknown;

  constructor(read: (key: string | number) => unknown, plain: () => unknown) {
    super();
    this.#read = read;
    this.plain = plain;
  }

  override get(key: unknown): unknown {
    if (typeof key === 'bigint') return this.#read(Number(key));
    return typeof key === 'string' || typeof key === 'number' ? this.#read(key) : undefined;
  }
}

const dataClasses = [Date, Uint8Array, Map, Set, URL, Error] as const;

/**
 * What an expression computed, as data: its whole numbers become numbers where they are safe, readers what they stand for.
 * Shares what needs no change. @throws Error it is no data (a duration, a type)
 */
export function plainValue(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof FieldReader) return value.plain();
  if (Array.isArray(value)) {
    const items: unknown[] = value.map(plainValue);
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (isPlainObject(value)) {
    const entries = Object.entries(value).map(([key, item]) => [key, plainValue(item)] as const);
    return entries.some(([key, item]) => item !== value[key]) ? Object.fromEntries(entries) : value;
  }
  if (dataClasses.some((known) => value instanceof known)) return value;
  throw new Error(`it gives a ${value.constructor.name}, which is no value of a workflow`);
}

/** An error as expressions see it, who know no classes; null for none. */
export function errorMap(error: Error | undefined): Readonly<Record<string, unknown>> | null {
  if (error === undefined) return null;
  const { code, data } = error as { readonly code?: unknown; readonly data?: unknown };
  return { name: error.name, message: error.message, code: code ?? null, data: data ?? null };
}

/** What JSON has no word for, in its terms. */
function jsonItem(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof FieldReader) return value.plain();
  if (value instanceof Map) return Object.fromEntries(value);
  if (value instanceof Set) return [...value];
  if (value instanceof Error) return errorMap(value);
  if (value instanceof Uint8Array) throw new Error('bytes have no text; name a field that holds text');
  return value;
}

/** Compact JSON; dates in ISO form, maps as objects. @throws Error it holds bytes */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, jsonItem, indent) ?? 'null';
}

/**
 * A value as it stands within a text: strings as they are, null as nothing, dates in ISO form, all else as compact JSON.
 * @throws Error it is or holds bytes
 */
export function renderText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
  if (value instanceof URL) return value.href;
  return jsonText(value);
}
