/** One text and one hash for equal data, on every process and machine (G1); and frozen copies, so that nobody changes a graph. */
import { createHash } from 'node:crypto';

/** Data nested deeper than this is refused: it would overflow a stack somewhere. */
const maxDepth = 500;

/** Thrown by {@link canonicalText} and {@link freezeCopy}: `path` says where the value is that is no data. */
export class NotDataError extends Error {
  readonly path: string;
  constructor(path: string, reason: string) {
    super(reason);
    this.name = 'NotDataError';
    this.path = path;
  }
}

const isPlainObject = (value: object): value is Record<string, unknown> => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
};

const keyPath = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);

function refuse(value: unknown, path: string): never {
  const kind =
    typeof value === 'object'
      ? `an instance of ${(value as object).constructor?.name ?? 'a class'}`
      : `a ${typeof value}`;
  throw new NotDataError(path, `${kind} is no data`);
}

function enter(value: object, path: string, parents: readonly object[]): readonly object[] {
  if (parents.includes(value)) throw new NotDataError(path, 'the value contains itself');
  if (parents.length >= maxDepth) throw new NotDataError(path, `the value is nested deeper than ${maxDepth}`);
  return [...parents, value];
}

function numberText(value: number): string {
  if (Object.is(value, -0)) return '-0';
  return Number.isFinite(value) ? JSON.stringify(value) : String(value);
}

function objectText(value: object, path: string, outer: readonly object[]): string {
  const parents = enter(value, path, outer);
  const write = (item: unknown, index: number): string => textOf(item, keyPath(path, String(index)), parents);
  if (Array.isArray(value)) return `[${Array.from(value as unknown[], write).join(',')}]`;
  if (value instanceof Date) return `date(${value.getTime()})`;
  if (value instanceof Uint8Array) return `bytes(${Buffer.from(value).toString('base64')})`;
  if (value instanceof URL) return `url(${JSON.stringify(value.href)})`;
  if (value instanceof Map) return `map(${[...value].map(write).join(',')})`;
  if (value instanceof Set) return `set(${[...value].map(write).join(',')})`;
  if (!isPlainObject(value)) refuse(value, path);
  const entries = Object.keys(value)
    .sort()
    .filter((key) => value[key] !== undefined)
    .map((key) => `${JSON.stringify(key)}:${textOf(value[key], keyPath(path, key), parents)}`);
  return `{${entries.join(',')}}`;
}

function textOf(value: unknown, path: string, parents: readonly object[]): string {
  switch (typeof value) {
    case 'undefined':
      return 'undefined';
    case 'boolean':
      return String(value);
    case 'string':
      return JSON.stringify(value);
    case 'number':
      return numberText(value);
    case 'bigint':
      return `${value}n`;
    case 'object':
      return value === null ? 'null' : objectText(value, path, parents);
    default:
      return refuse(value, path);
  }
}

/**
 * The canonical text of plain data: JSON with sorted keys, extended to the other values a state may hold. A property that is
 * undefined is the same as one that is absent.
 * @throws NotDataError the value holds a function, a symbol, a class instance or itself, or is nested too deep
 */
export function canonicalText(value: unknown): string {
  return textOf(value, '', []);
}

/** SHA-256 of a text, as 64 hex digits. */
export function hashText(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** SHA-256 of the canonical text of plain data, as 64 hex digits. @throws NotDataError see {@link canonicalText} */
export function hashValue(value: unknown): string {
  return hashText(canonicalText(value));
}

function copyOf(value: unknown, path: string, outer: readonly object[]): unknown {
  if (typeof value === 'function' || typeof value === 'symbol') refuse(value, path);
  if (typeof value !== 'object' || value === null) return value;
  const parents = enter(value, path, outer);
  const copy = (item: unknown, key: number | string): unknown => copyOf(item, keyPath(path, String(key)), parents);
  if (Array.isArray(value)) return Object.freeze(Array.from(value as unknown[], copy));
  if (value instanceof Date) return new Date(value);
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (value instanceof URL) return new URL(value);
  if (value instanceof Map) return new Map([...value].map((entry, index) => copy(entry, index) as [unknown, unknown]));
  if (value instanceof Set) return new Set([...value].map(copy));
  if (!isPlainObject(value)) refuse(value, path);
  const target: Record<string, unknown> = {};
  // defineProperty, since assigning to `__proto__` would not make a property.
  for (const key of Object.keys(value))
    Object.defineProperty(target, key, { value: copy(value[key], key), enumerable: true });
  return Object.freeze(target);
}

/** A deep copy of plain data, frozen as far as the language can. @throws NotDataError see {@link canonicalText} */
export function freezeCopy(value: unknown): unknown {
  return copyOf(value, '', []);
}
