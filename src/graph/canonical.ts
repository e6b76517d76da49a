/** One text and one hash for equal data, on every process and machine (G1); and frozen copies, so that nobody changes a graph. */
import { hash } from 'node:crypto';

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

/** Whether an object is no more than its keys. */
export const isPlainObject = (value: object): value is Record<string, unknown> => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
};

/** Where a walk through a value is: the keys that led here and the values around it. */
class Trail {
  readonly #keys: string[] = [];
  readonly #around: object[] = [];

  /** Calls back inside a value. */
  within<T>(value: object, visit: () => T): T {
    if (this.#around.includes(value)) this.refuse('the value contains itself');
    if (this.#around.length >= maxDepth) this.refuse(`the value is nested deeper than ${maxDepth}`);
    this.#around.push(value);
    const result = visit();
    this.#around.pop();
    return result;
  }

  /** Calls back at a key of the value that the walk is in. */
  at<T>(key: string | number, visit: () => T): T {
    this.#keys.push(String(key));
    const result = visit();
    this.#keys.pop();
    return result;
  }

  refuse(reason: string): never {
    throw new NotDataError(this.#keys.join('.'), reason);
  }

  refuseKind(value: unknown): never {
    if (typeof value !== 'object' || value === null) return this.refuse(`a ${typeof value} is no data`);
    return this.refuse(`an instance of ${value.constructor?.name ?? 'a class'} is no data`);
  }
}

function numberText(value: number): string {
  if (Object.is(value, -0)) return '-0';
  return Number.isFinite(value) ? JSON.stringify(value) : String(value);
}

function objectText(value: object, trail: Trail): string {
  const list = (items: Iterable<unknown>): string =>
    Array.from(items, (item, index) => trail.at(index, () => textOf(item, trail))).join(',');
  if (Array.isArray(value)) return `[${list(value)}]`;
  if (value instanceof Date) return `date(${value.getTime()})`;
  if (value instanceof Uint8Array) return `bytes(${Buffer.from(value).toString('base64')})`;
  if (value instanceof URL) return `url(${JSON.stringify(value.href)})`;
  if (value instanceof Map) return `map(${list(value)})`;
  if (value instanceof Set) return `set(${list(value)})`;
  if (!isPlainObject(value)) return trail.refuseKind(value);
  const entries: string[] = [];
  for (const key of Object.keys(value).sort()) {
    if (value[key] === undefined) continue;
    entries.push(`${JSON.stringify(key)}:${trail.at(key, () => textOf(value[key], trail))}`);
  }
  return `{${entries.join(',')}}`;
}

function textOf(value: unknown, trail: Trail): string {
  switch (typeof value) {
    case 'undefined':
      return 'undefined';
    case 'boolean':
      return value ? 'true' : 'false';
    case 'string':
      return JSON.stringify(value);
    case 'number':
      return numberText(value);
    case 'bigint':
      return `${value}n`;
    case 'object':
      return value === null ? 'null' : trail.within(value, () => objectText(value, trail));
    default:
      return trail.refuseKind(value);
  }
}

/**
 * The canonical text of plain data: JSON with sorted keys, extended to the other values a state may hold. A property that is
 * undefined is the same as one that is absent.
 * @throws NotDataError the value holds a function, a symbol, a class instance or itself, or is nested too deep
 */
export function canonicalText(value: unknown): string {
  return textOf(value, new Trail());
}

/** SHA-256 of a text, as 64 hex digits. */
export function hashText(text: string): string {
  return hash('sha256', text, 'hex');
}

/** SHA-256 of the canonical text of plain data, as 64 hex digits. @throws NotDataError see {@link canonicalText} */
export function hashValue(value: unknown): string {
  return hashText(canonicalText(value));
}

function copyObject(value: object, trail: Trail): unknown {
  const list = (items: Iterable<unknown>): unknown[] =>
    Array.from(items, (item, index) => trail.at(index, () => copyOf(item, trail)));
  if (Array.isArray(value)) return Object.freeze(list(value));
  if (value instanceof Date) return new Date(value);
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (value instanceof URL) return new URL(value);
  if (value instanceof Map) return new Map(list(value) as [unknown, unknown][]);
  if (value instanceof Set) return new Set(list(value));
  if (!isPlainObject(value)) return trail.refuseKind(value);
  const target: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const copy = trail.at(key, () => copyOf(value[key], trail));
    // Assigning to `__proto__` would not make a property.
    Object.defineProperty(target, key, { value: copy, enumerable: true });
  }
  return Object.freeze(target);
}

function copyOf(value: unknown, trail: Trail): unknown {
  if (typeof value === 'function' || typeof value === 'symbol') return trail.refuseKind(value);
  if (typeof value !== 'object' || value === null) return value;
  return trail.within(value, () => copyObject(value, trail));
}

/** A deep copy of plain data, frozen as far as the language can. @throws NotDataError see {@link canonicalText} */
export function freezeCopy(value: unknown): unknown {
  return copyOf(value, new Trail());
}
