/** Combines the ops of several checkpoints into those of one, without values that are overwritten later (C8). */
import type { BlobStore } from '../../ports/blobs.ts';
import { applyDelta } from '../../state/delta.ts';
import { isPlainObject } from '../../state/values/plain-object.ts';
import { inlineGrownBlob } from '../stored/stored-state.ts';

type Path = readonly string[];
type Kind = 's' | 'd' | 'a' | 't';
type AnyOp = readonly [Kind, Path, unknown?];

/** What a span of checkpoints did to one place of the tree. */
interface Place {
  /** The value that replaced the old one, wrapped as `{ v }`. */
  set?: { v: unknown };
  /** Whether the value from before the span was deleted. */
  isDeleted?: boolean;
  items?: unknown[];
  text?: string;
  readonly children: Map<string, Place>;
}

const createPlace = (): Place => ({ children: new Map() });

/** Collects ops in order. The tree passed to the constructor must not change until `take` is called. */
export class FoldedOps {
  readonly #before: object;
  readonly #blobs: BlobStore;
  readonly #tenant: string;
  readonly #root: Place = createPlace();

  /** @param before - the stored state before the span; only its keys are used */
  constructor(before: object, blobs: BlobStore, tenant: string) {
    this.#before = before;
    this.#blobs = blobs;
    this.#tenant = tenant;
  }

  async add(op: unknown): Promise<void> {
    const [kind, path, value] = op as AnyOp;
    let holder = this.#root;
    for (const [index, key] of path.slice(0, -1).entries()) {
      const place = childOf(holder, key);
      if (place.set !== undefined) return this.#change(place.set, [kind, path.slice(index + 1), value]);
      holder = place;
    }
    const key = path.at(-1) as string;
    if (kind === 'd') {
      await inlineGrownBlob(this.#before, this.#blobs, this.#tenant, op);
      return this.#delete(holder, key, path);
    }
    if (kind === 's') return replace(holder, key, value);
    const place = childOf(holder, key);
    if (place.set !== undefined) return this.#change(place.set, [kind, [], value]);
    if (kind === 'a') (place.items ??= []).push(...(value as unknown[]));
    else place.text = (place.text ?? '') + (value as string);
  }

  /** The combined ops of the whole span. */
  take(): readonly AnyOp[] {
    const ops: AnyOp[] = [];
    emit(this.#root, [], ops);
    return ops;
  }

  /** Applies an op inside a value that the span itself has written. */
  async #change(holder: { v: unknown }, [kind, rest, value]: AnyOp): Promise<void> {
    const op: AnyOp = kind === 'd' ? ['d', ['v', ...rest]] : [kind, ['v', ...rest], value];
    await inlineGrownBlob(holder, this.#blobs, this.#tenant, op);
    applyDelta(holder, [op]);
  }

  #delete(holder: Place, key: string, path: Path): void {
    holder.children.delete(key);
    if (hasPath(this.#before, path)) holder.children.set(key, { isDeleted: true, children: new Map() });
  }
}

function childOf(holder: Place, key: string): Place {
  const known = holder.children.get(key);
  if (known !== undefined) return known;
  const place = createPlace();
  holder.children.set(key, place);
  return place;
}

/** Sets a key. If the span deleted the key before, it must end up last in its object, so it is removed and added again here. */
function replace(holder: Place, key: string, value: unknown): void {
  const known = holder.children.get(key);
  const isDeleted = known?.isDeleted === true;
  if (isDeleted && known.set === undefined) holder.children.delete(key);
  holder.children.set(key, { set: { v: value }, isDeleted, children: new Map() });
}

function hasPath(tree: object, path: Path): boolean {
  let value: unknown = tree;
  for (const key of path) {
    if (!isPlainObject(value) || !Object.hasOwn(value, key)) return false;
    value = value[key];
  }
  return true;
}

function emit(place: Place, path: Path, ops: AnyOp[]): void {
  if (place.isDeleted === true) ops.push(['d', path]);
  if (place.set !== undefined) ops.push(['s', path, place.set.v]);
  if (place.items !== undefined) ops.push(['a', path, place.items]);
  if (place.text !== undefined) ops.push(['t', path, place.text]);
  for (const [key, child] of place.children) emit(child, [...path, key], ops);
}
