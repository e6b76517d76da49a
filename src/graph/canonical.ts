/**
 * Canonical text and hashes of plain data, equal for equal data on every machine (G1), and frozen copies, so that nobody can change a
 * graph.
 */
import { hash } from 'node:crypto';

/** The deepest nesting allowed. Deeper data would overflow the stack somewhere. */
const maxDepth = 500;

/** Thrown by {@link canonicalText} and {@link freezeCopy} for a value that is not plain data. `path` says where in the whole it is. */
export class NotDataError extends Error {
  readonly path: string;
  constructor(path: string, reason: string) {
    super(reason);
    this.name = 'NotDataError';
    this.path = path;
  }
}

/** Whether an object is plain: its prototype is `Object.prototype` or null. */
export const isPlainObject = (value: object): value is Record<string, unknown> => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
};

/** The position of a walk through a value: the keys that led here, and the objects around it. */
class Trail {
  readonly #keys: (string | number)[] = [];
  readonly #around: object[] = [];

  /** Goes into an object. */
  enter(value: object): void {
    if (this.#around.includes(value)) this.refuse('the value contains itself');
    if (this.#around.length >= maxDepth) this.refuse(`the value is nested deeper than ${maxDepth}`);
    this.#around.push(value);
  }

  leave(): void {
    this.#around.pop();
  }

  /** Sets the key that is visited next in the current object, until {@link passed} is called. */
  at(key: string | number): void {
    this.#keys.push(key);
  }

  passed(): void {
    this.#keys.pop();
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

function listText(items: Iterable<unknown>, trail: Trail): string {
  const texts: string[] = [];
  for (const item of items) {
    trail.at(texts.length);
    texts.push(textOf(item, trail));
    trail.passed();
  }
  return texts.join(',');
}

/**
 * The keys in sorted order. Most objects have few keys, and those of a graph's description are sorted already, so this checks before it
 * sorts.
 */
function sortedKeys(value: object): readonly string[] {
  const keys = Object.keys(value);
  for (let index = 1; index < keys.length; index += 1) if (keys[index - 1]! > keys[index]!) return keys.sort();
  return keys;
}

function propertiesText(value: Readonly<Record<string, unknown>>, trail: Trail): string {
  let text = '';
  for (const key of sortedKeys(value)) {
    if (value[key] === undefined) continue;
    trail.at(key);
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${textOf(value[key], trail)}`;
    trail.passed();
  }
  return text;
}

function objectText(value: object, trail: Trail): string {
  if (Array.isArray(value)) return `[${listText(value, trail)}]`;
  if (isPlainObject(value)) return `{${propertiesText(value, trail)}}`;
  if (value instanceof Date) return `date(${value.getTime()})`;
  if (value instanceof Uint8Array) return `bytes(${Buffer.from(value).toString('base64')})`;
  if (value instanceof URL) return `url(${JSON.stringify(value.href)})`;
  if (value instanceof Map) return `map(${listText(value, trail)})`;
  if (value instanceof Set) return `set(${listText(value, trail)})`;
  return trail.refuseKind(value);
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
    case 'object': {
      if (value === null) return 'null';
      trail.enter(value);
      const text = objectText(value, trail);
      trail.leave();
      return text;
    }
    default:
      return trail.refuseKind(value);
  }
}

/**
 * The canonical text of plain data: JSON with sorted keys, extended to the other values that a state may hold. A property that is undefined
 * counts as absent.
 * @throws NotDataError the value holds a function, a symbol, a class instance or itself, or is nested too deep
 */
export function canonicalText(value: unknown): string {
  return textOf(value, new Trail());
}

/** SHA-256 of a text, as 64 hex digits or in the shorter base64url. */
export function hashText(text: string, encoding: 'hex' | 'base64url' = 'hex'): string {
  return hash('sha256', text, encoding);
}

/** SHA-256 of the canonical text of plain data, as 64 hex digits. @throws NotDataError see {@link canonicalText} */
export function hashValue(value: unknown): string {
  return hashText(canonicalText(value));
}

function copyList(items: Iterable<unknown>, trail: Trail): unknown[] {
  const copies: unknown[] = [];
  for (const item of items) {
    trail.at(copies.length);
    copies.push(copyOf(item, trail));
    trail.passed();
  }
  return copies;
}

function copyObject(value: object, trail: Trail): unknown {
  if (Array.isArray(value)) return Object.freeze(copyList(value, trail));
  if (value instanceof Date) return new Date(value);
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (value instanceof URL) return new URL(value);
  if (value instanceof Map) return new Map(copyList(value, trail) as [unknown, unknown][]);
  if (value instanceof Set) return new Set(copyList(value, trail));
  if (!isPlainObject(value)) return trail.refuseKind(value);
  const target: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    trail.at(key);
    // A plain assignment to `__proto__` would set the prototype in place of a property.
    Object.defineProperty(target, key, { value: copyOf(value[key], trail), enumerable: true });
    trail.passed();
  }
  return Object.freeze(target);
}

function copyOf(value: unknown, trail: Trail): unknown {
  if (typeof value === 'function' || typeof value === 'symbol') return trail.refuseKind(value);
  if (typeof value !== 'object' || value === null) return value;
  trail.enter(value);
  const copy = copyObject(value, trail);
  trail.leave();
  return copy;
}

/** A deep copy of plain data, frozen as far as JavaScript allows. @throws NotDataError see {@link canonicalText} */
export function freezeCopy(value: unknown): unknown {
  return value === undefined ? undefined : copyOf(value, new Trail());
}
