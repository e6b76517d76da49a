/** A frozen object whose properties are read one by one from a source, so that reads can be recorded. */
import { absent } from './cell.ts';

/** Key of the method that console.log calls. */
const inspectKey = Symbol.for('nodejs.util.inspect.custom');

export interface Source {
  /** The property's value, or {@link absent}. */
  get(key: string): unknown;
  keys(): readonly string[];
}

/**
 * Makes an object that behaves like a plain one with the source's properties: spread, `in`, Object.keys and JSON.stringify work. Writing
 * throws TypeError.
 */
export function recordingObject(source: Source): Readonly<Record<string, unknown>> {
  return new Proxy(new Target(source), handler) as unknown as Readonly<Record<string, unknown>>;
}

/** Holds the source in a private field, so that one handler can serve all objects. */
class Target {
  readonly #source: Source;
  constructor(source: Source) {
    this.#source = source;
  }
  static sourceOf(target: Target): Source {
    return target.#source;
  }
  /** console.log looks for this method here, and calls it with the proxy as `this`. */
  [inspectKey](): unknown {
    return Object.fromEntries(Object.entries(this));
  }
}

function refuse(): never {
  throw new TypeError('the state of a run is frozen: return updates to change it');
}

const handler: ProxyHandler<Target> = {
  get(target, key) {
    if (typeof key === 'symbol') return Reflect.get(Object.prototype, key);
    const value = Target.sourceOf(target).get(key);
    return value === absent ? Reflect.get(Object.prototype, key) : value;
  },
  has(target, key) {
    if (typeof key === 'string' && Target.sourceOf(target).get(key) !== absent) return true;
    return Reflect.has(Object.prototype, key);
  },
  ownKeys: (target) => [...Target.sourceOf(target).keys()],
  getOwnPropertyDescriptor(target, key) {
    const value = typeof key === 'string' ? Target.sourceOf(target).get(key) : absent;
    return value === absent ? undefined : { value, enumerable: true, configurable: true, writable: false };
  },
  getPrototypeOf: () => Object.prototype,
  set: refuse,
  deleteProperty: refuse,
  defineProperty: refuse,
  setPrototypeOf: refuse,
  preventExtensions: refuse,
};
