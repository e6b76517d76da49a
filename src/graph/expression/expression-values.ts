/** Converts values on their way into expressions and out of them. */
import { isPlainObject } from '../canonical.ts';

/** A map that reads an entry only when an expression asks for it. An undefined entry counts as absent. */
export class FieldReader extends Map<unknown, unknown> {
  readonly #read: (key: string | number) => unknown;
  /** Returns the value that replaces the map when it leaves the expression. */
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
 * The result of an expression as plain data: bigints become numbers where that is safe, and readers become what they stand for. Parts that
 * need no change are shared with the original.
 * @throws Error the result is not data (a duration, a type)
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

/** An error as expressions see it: a map, since expressions know no classes; null if there is no error. */
export function errorMap(error: Error | undefined): Readonly<Record<string, unknown>> | null {
  if (error === undefined) return null;
  const { code, data } = error as { readonly code?: unknown; readonly data?: unknown };
  return { name: error.name, message: error.message, code: code ?? null, data: data ?? null };
}

/** Replacer for JSON.stringify: converts values that JSON cannot express. */
function jsonItem(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof FieldReader) return value.plain();
  if (value instanceof Map) return Object.fromEntries(value);
  if (value instanceof Set) return [...value];
  if (value instanceof Error) return errorMap(value);
  if (value instanceof Uint8Array) throw new Error('bytes have no text; name a field that holds text');
  return value;
}

/** Compact JSON of a value. Dates are written in ISO form, maps as objects. @throws Error it contains bytes */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, jsonItem, indent) ?? 'null';
}

/**
 * A value as it appears inside a text: strings unchanged, null as nothing, dates in ISO form, everything else as compact JSON.
 * @throws Error it is or contains bytes
 */
export function renderText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
  if (value instanceof URL) return value.href;
  return jsonText(value);
}
