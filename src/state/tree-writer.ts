/** A run's tree, and the only way to change it outside of a frame's channels. Each change is recorded as an op in the same call (C4). */
import { DeltaBuilder, pathJson } from './delta.ts';
import type { RunTree } from './tree.ts';
import { encodeValue } from './values/encode.ts';
import { setOwn, type PlainObject } from './values/plain-object.ts';

type Path = readonly string[];

/** Keeps the tree and the ops since the last checkpoint consistent. Only this class, and frames over the same delta, write to either. */
export class TreeWriter {
  readonly root: RunTree;
  readonly delta: DeltaBuilder;

  constructor(root: RunTree, delta: DeltaBuilder = new DeltaBuilder()) {
    this.root = root;
    this.delta = delta;
  }

  /**
   * Sets a value. A missing table of the root is created; every other object on the path must exist.
   *
   * @param path - keys from the root
   * @param json - JSON text of the value, if it is known already or is a reference to the value. Default: its encoding
   */
  set(path: Path, value: unknown, json: string = encodeValue(value)): void {
    const [table] = path;
    if (path.length === 2 && !Object.hasOwn(this.root, table as string)) this.set([table as string], {}, '{}');
    setOwn(this.#holderOf(path) as PlainObject, path.at(-1) as string, value);
    this.delta.set(pathJson(path), json);
  }

  /** Appends items to an existing list. @param json - the items as a JSON array */
  append(path: Path, items: readonly unknown[], json: string): void {
    const list = this.#holderOf(path)?.[path.at(-1) as string] as unknown[];
    for (const item of items) list.push(item);
    this.delta.append(pathJson(path), json);
  }

  /** Deletes a value; no effect if it does not exist. */
  delete(path: Path): void {
    const holder = this.#holderOf(path);
    const key = path.at(-1) as string;
    if (holder === undefined || !Object.hasOwn(holder, key)) return;
    delete holder[key];
    this.delta.delete(pathJson(path));
  }

  #holderOf(path: Path): PlainObject | undefined {
    let holder: unknown = this.root;
    for (const key of path.slice(0, -1)) {
      if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, key)) return undefined;
      holder = (holder as PlainObject)[key];
    }
    return holder as PlainObject;
  }
}
