/** Plain objects: how they are recognised, and how to write to them when keys may be anything, `__proto__` included. */

export type PlainObject = Record<string, unknown>;

/** Whether an admitted or decoded value is a plain object. */
export function isPlainObject(value: unknown): value is PlainObject {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** Sets an own property, whatever its key, and returns the object. */
export function setOwn<T extends object>(target: T, key: string, value: unknown): T {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    (target as PlainObject)[key] = value;
  }
  return target;
}

/** Reads an own property; inherited ones do not count. */
export function getOwn(source: object, key: string): unknown {
  return Object.hasOwn(source, key) ? (source as PlainObject)[key] : undefined;
}

/** `a string`, `a list`, `a Promise`, … */
export function describeValue(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'undefined';
  if (Array.isArray(value)) return 'a list';
  if (typeof value !== 'object') return `a ${typeof value}`;
  const { constructor } = value as { readonly constructor?: unknown };
  return isPlainObject(value) || typeof constructor !== 'function' ? 'an object' : `a ${constructor.name}`;
}
