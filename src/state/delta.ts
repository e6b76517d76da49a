/** A delta: a JSON array of ops (C4). Ops are recorded as text when the state changes, and can be applied to plain trees. */
import { jsonUnderKey } from './values/encode.ts';
import { setOwn, type PlainObject } from './values/plain-object.ts';
import { reviveValue } from './values/revive.ts';

type Path = readonly string[];

/** An op: set, delete, append to an array, append to a text. Paths are object keys from the root; they contain no array indices. */
export type Op =
  | readonly ['s', Path, unknown]
  | readonly ['d', Path]
  | readonly ['a', Path, readonly unknown[]]
  | readonly ['t', Path, string];

/** A path as it is written in a delta. */
export function pathJson(path: Path): string {
  return JSON.stringify(path);
}

/** Collects the ops of the next checkpoint as text. Values are passed as JSON text. */
export class DeltaBuilder {
  #text = '';

  set(pathJson: string, json: string): void {
    this.#add(`["s",${pathJson},${pathJson.endsWith('"$"]') ? jsonUnderKey('$', json) : json}]`);
  }

  delete(pathJson: string): void {
    this.#add(`["d",${pathJson}]`);
  }

  /** @param itemsJson - the items as a JSON array */
  append(pathJson: string, itemsJson: string): void {
    this.#add(`["a",${pathJson},${itemsJson}]`);
  }

  /** @param json - the text to add, as a JSON string */
  text(pathJson: string, json: string): void {
    this.#add(`["t",${pathJson},${json}]`);
  }

  get isEmpty(): boolean {
    return this.#text === '';
  }

  /** Approximate size of the delta in bytes: its UTF-16 length. */
  get bytes(): number {
    return this.#text.length;
  }

  /** The delta so far, as a JSON array. */
  peek(): string {
    return `[${this.#text}]`;
  }

  /** Returns the delta as a JSON array and starts a new one. */
  take(): string {
    const ops = this.peek();
    this.#text = '';
    return ops;
  }

  #add(op: string): void {
    this.#text = this.#text === '' ? op : `${this.#text},${op}`;
  }
}

/** Applies parsed ops to a plain mutable tree, in place. @throws TypeError an op does not fit the tree */
export function applyDelta(root: object, ops: readonly unknown[]): void {
  for (const op of ops as readonly Op[]) applyOp(root as PlainObject, op);
}

function applyOp(root: PlainObject, op: Op): void {
  const [kind, path, value] = op;
  if (!Array.isArray(path) || path.length === 0) throw misfit(op);
  let parent: unknown = root;
  const last = path.length - 1;
  for (let i = 0; i < last; i++) parent = child(parent, path[i] as string, op);
  const key = path[last] as string;
  if (typeof parent !== 'object' || parent === null || Array.isArray(parent)) throw misfit(op);
  if (kind === 's') {
    if (op.length !== 3) throw misfit(op);
    setOwn(parent, key, value);
    return;
  }
  const current = child(parent, key, op);
  if (kind === 'd') {
    delete (parent as PlainObject)[key];
  } else if (kind === 'a' && Array.isArray(current) && Array.isArray(value)) {
    for (const item of value) current.push(item);
  } else if (kind === 't' && typeof current === 'string' && typeof value === 'string') {
    setOwn(parent, key, current + value);
  } else {
    throw misfit(op);
  }
}

function child(parent: unknown, key: string, op: Op): unknown {
  if (typeof parent === 'object' && parent !== null && Object.hasOwn(parent, key)) return (parent as PlainObject)[key];
  throw misfit(op);
}

function misfit(op: Op): TypeError {
  return new TypeError(`the op ${JSON.stringify(op.slice(0, 2))} does not fit the tree`);
}

/**
 * Decodes the values of a tree once, in place. `hasTags`: whether any of the texts it was made from contains `"$":`. @throws
 * VALUE_UNSTORABLE
 */
export function reviveTree<T extends object>(root: T, hasTags: boolean): T {
  return hasTags ? (reviveValue(root) as T) : root;
}
