/** Freezes values, and guards those that JavaScript cannot freeze. */
import { isPlainObject } from './plain-object.ts';

function refuseWrite(): never {
  throw new TypeError('this value belongs to the state of a run and is frozen: make a copy and return it');
}

type Guards = Readonly<Record<string, PropertyDescriptor>>;

/** Hidden own properties that replace the methods that would change the value. */
function guardsFor(names: readonly string[]): Guards {
  return Object.fromEntries(names.map((name) => [name, { value: refuseWrite }]));
}

function guardsForUrl(): Guards {
  const guards: Record<string, PropertyDescriptor> = {};
  for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(URL.prototype))) {
    if (descriptor.set !== undefined) guards[name] = { ...descriptor, enumerable: false, set: refuseWrite };
  }
  // The live parameters of a URL would write through to it, so a copy of them is returned.
  guards['searchParams'] = {
    get(this: URL) {
      return new URLSearchParams(this.search);
    },
  };
  return guards;
}

const mapGuards = guardsFor(['set', 'delete', 'clear']);
const setGuards = guardsFor(['add', 'delete', 'clear']);
const dateGuards = guardsFor(Object.getOwnPropertyNames(Date.prototype).filter((name) => name.startsWith('set')));
const urlGuards = guardsForUrl();

/** Freezes one object of our own, but not what it contains. Bytes cannot be frozen and stay as they are. */
export function freezeShallow<T extends object>(value: T): T {
  if (value instanceof Uint8Array) return value;
  if (value instanceof Map) Object.defineProperties(value, mapGuards);
  else if (value instanceof Set) Object.defineProperties(value, setGuards);
  else if (value instanceof Date) Object.defineProperties(value, dateGuards);
  else if (value instanceof URL) Object.defineProperties(value, urlGuards);
  return Object.freeze(value);
}

/**
 * Deeply freezes a decoded value of our own, in place. Frozen parts are skipped, since they are frozen deeply, so only new parts cost time.
 */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  if (Array.isArray(value)) {
    for (const item of value) deepFreeze(item);
    return Object.freeze(value);
  }
  if (isPlainObject(value)) {
    for (const key of Object.keys(value)) deepFreeze(value[key]);
    return Object.freeze(value);
  }
  if (value instanceof Map) {
    for (const [key, item] of value) {
      deepFreeze(key);
      deepFreeze(item);
    }
  } else if (value instanceof Set) {
    for (const item of value) deepFreeze(item);
  } else if (value instanceof Error) {
    deepFreeze((value as { data?: unknown }).data);
    deepFreeze(value.cause);
  }
  return freezeShallow(value);
}
