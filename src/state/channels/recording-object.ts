/** A frozen object whose properties are asked for, one by one, from a source. */
import { absent } from './cell.ts';

/** Where console.log asks for what to show. */
const inspectKey = Symbol.for('nodejs.util.inspect.custom');

export interface Source {
  /** The property's value, or {@link absent}. */
  get(key: string): unknown;
  keys(): readonly string[];
}

/** Behaves like a plain object of the source's properties: spread, `in`, Object.keys and JSON.stringify included. Writing throws TypeError. */
export function recordingObject(source: Source): Readonly<Record<string, unknown>> {
  return new Proxy(new Target(source), handler) as unknown as Readonly<Record<string, unknown>>;
}

/** Holds the source where only the handler finds it, so that one handler serves all. */
class Target {
  readonly #source: Source;
  constructor(source: Source) {
    this.#source = source;
  }
  static sourceOf(target: Target): Source {
    return target.#source;
  }
  /** Looked for here, and called with the proxy as `this`. */
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
