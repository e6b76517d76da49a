/** Finds who last wrote each part of a value. Deltas are read newest first until every part is explained. */
import type { RunRow } from '../../ports/store.ts';
import type { Op } from '../../state/delta.ts';
import { loadState, readOwner } from '../load/load.ts';
import { firstSeqOf, type HistoryEntry } from '../load/lineage.ts';
import type { StatePlace } from '../access/place.ts';
import type { ResolvedReference } from '../read/references.ts';
import { walkBack } from '../read/walk-back.ts';
import type { ChangeKind, ChangePart } from '../stored/change.ts';
import { checkpointId } from '../stored/checkpoint.ts';
import { findPlaces, type TreeValue, authorsOf, isEnd, partsOf, type OpAuthor } from './op-authors.ts';
import { Claims } from './claims.ts';

/** Where a part was last written, and by what. */
export interface Origin {
  /** The run that wrote it: an ancestor if it was written before the run was forked. */
  readonly runId: string;
  readonly seq: number;
  readonly checkpointId: string;
  /** Epoch ms. */
  readonly at: number;
  /** What the checkpoint did to write this part: `settle`, `start`, `fork`, `answer`, …; `fold` if that was pruned. */
  readonly kind: ChangeKind;
  /** The node that wrote it: node ids from the root and, between them, names of child runs. Absent if no node did. */
  readonly node?: readonly string[];
  /** Number of the visit. It and `attempt` are absent if they are not known. */
  readonly visit?: number;
  readonly attempt?: number;
  /** Key of the step, question or other call that wrote it. */
  readonly step?: string;
  /** Who answered, or settled the node from outside. */
  readonly by?: string;
  /** If a fork took over the outcome: where it was recorded. */
  readonly takenFrom?: { readonly runId: string; readonly seq: number };
  /**
   * Set if the exact checkpoint was pruned: the part was written in one of those with `after < seq <= upTo`; without `after`, in any up to
   * `upTo`.
   */
  readonly within?: { readonly after?: number; readonly upTo: number };
}

/** A part of the value and its origin. */
export interface BlamedPart extends Origin {
  /** Path of the part, from the state's root. */
  readonly path: readonly string[];
  /** The items of a list, or the characters of a text, that are meant; `to` is not included. */
  readonly range?: { readonly from: number; readonly to: number };
  readonly value: unknown;
}

export interface Blame {
  readonly runId: string;
  readonly seq: number;
  /** In the order in which they occur in the value. */
  readonly parts: readonly BlamedPart[];
}

/** A value whose origin is wanted. Ops never lead into lists, so the search uses the nearest value around it that ops can lead to. */
class Target {
  readonly #path: TreeValue;
  readonly #tree: readonly string[];
  readonly #item: number | undefined;
  readonly #claims: Claims<Origin>;

  constructor(path: TreeValue, root: object) {
    this.#path = path;
    const { tree, item, value } = listAbove(path, root);
    this.#tree = tree;
    this.#item = item;
    this.#claims = new Claims(value);
  }

  get isWhole(): boolean {
    return this.#item === undefined ? this.#claims.isWhole : this.#claims.knowsItem(this.#item);
  }

  take(op: Op, origin: () => Origin): void {
    const [kind, path] = op;
    const shared = Math.min(path.length, this.#tree.length);
    for (let index = 0; index < shared; index++) if (path[index] !== this.#tree[index]) return;
    const below = path.slice(this.#tree.length);
    if (kind === 's') this.#claims.set(below, origin());
    if (path.length < this.#tree.length) return;
    if (kind === 'a') this.#claims.append(below, op[2].length, origin());
    if (kind === 't') this.#claims.append(below, op[2].length, origin());
  }

  parts(oldest: Origin): readonly BlamedPart[] {
    const { path, value } = this.#path;
    const parts = this.#claims.parts();
    const item = this.#item;
    if (item === undefined)
      return parts.map(({ origin, path: below, ...part }) => ({
        ...part,
        path: [...path, ...below],
        ...(origin ?? oldest),
      }));
    const found = parts.find(({ range }) => range === undefined || (range.from <= item && item < range.to));
    return [{ path, value, ...(found?.origin ?? oldest) }];
  }
}

/** The list that holds a value, if there is one. Ops lead to lists, never into them. */
function listAbove(
  { tree, value }: TreeValue,
  root: object,
): { readonly tree: readonly string[]; readonly item: number | undefined; readonly value: unknown } {
  let at: unknown = root;
  for (const [index, key] of tree.entries()) {
    if (Array.isArray(at)) return { tree: tree.slice(0, index), item: itemIndex(at, key), value: at };
    // A value that is not a plain object was written as a whole.
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) break;
    at = (at as Readonly<Record<string, unknown>>)[key];
  }
  return { tree, item: undefined, value };
}

function itemIndex(list: readonly unknown[], key: string): number {
  const index = Number(key);
  return index < 0 ? list.length + index : index;
}

/**
 * Finds the origins of a value's parts.
 * @param keys - path of the value from the state's root: `['scratch', 'plan']`
 * @param inside - the child run that holds the value: node ids and names of child runs in turn
 * @throws USAGE_INVALID there is no such value; what {@link loadState} throws
 */
export async function blameValue(
  { store, blobs }: Pick<StatePlace, 'store' | 'blobs'>,
  { run, seq }: ResolvedReference,
  keys: readonly string[],
  inside: readonly string[] = [],
): Promise<Blame> {
  const { root } = await loadState(store, blobs, run, seq);
  const { places } = findPlaces(root, inside, keys, `${run.runId}@${seq}`);
  const targets = places.map((place) => new Target(place, root));
  let open = targets;
  let oldest: Origin | undefined;
  for await (const entry of walkBack(store, run, { from: 0, to: seq })) {
    takeEntry(entry, open);
    open = open.filter(({ isWhole }) => !isWhole);
    const { run: owner, checkpoint } = entry;
    oldest = prunedOrigin(owner, checkpoint, { upTo: checkpoint.seq });
    // Everything earlier was pruned, so the remaining parts cannot be explained further.
    if (open.length === 0 || (owner.prunedBelow === checkpoint.seq && checkpoint.seq > firstSeqOf(owner))) break;
  }
  const rest = oldest ?? (await unread(store, run, seq));
  const parts = targets.flatMap((target) => target.parts(rest));
  return { runId: run.runId, seq, parts: parts.map((part) => ({ ...part, path: [...keys, ...part.path] })) };
}

async function unread(store: StatePlace['store'], run: RunRow, seq: number): Promise<Origin> {
  return prunedOrigin(await readOwner(store, run, seq), { seq, at: 0 }, { upTo: seq });
}

/** The origin of what was written in one of several checkpoints that were pruned: by what is not known. */
function prunedOrigin(
  { runId, key }: RunRow,
  { seq, at }: Pick<Origin, 'seq' | 'at'>,
  within: NonNullable<Origin['within']>,
): Origin {
  return { runId, seq, checkpointId: checkpointId(key, seq), at, kind: 'fold', within };
}

function takeEntry(entry: HistoryEntry, targets: readonly Target[]): void {
  const { run, checkpoint } = entry;
  const ops = checkpoint.ops as readonly Op[];
  const { fold } = checkpoint;
  let authors: ReturnType<typeof authorsOf> | undefined;
  for (let index = ops.length - 1; index >= 0; index--) {
    const op = ops[index] as Op;
    const origin = (): Origin => {
      // If several checkpoints were pruned into this one, the order of its ops no longer shows which node wrote to a channel.
      if (fold !== undefined && !op[1].includes('nodes'))
        return prunedOrigin(run, checkpoint, { after: fold.after, upTo: checkpoint.seq });
      authors ??= authorsOf(ops);
      return originOf(entry, authors[index], op[1]);
    };
    for (const target of targets) target.take(op, origin);
  }
}

function originOf(
  { run, checkpoint }: HistoryEntry,
  author: OpAuthor | undefined,
  path: readonly string[] | undefined,
): Origin {
  const { seq, at, change, fold } = checkpoint;
  const step = path === undefined ? undefined : stepIn(path);
  const part = partOf(change, author, step);
  const node = author?.node;
  const { runId, key } = run;
  const attempt = part?.attempt ?? (part?.kind === 'settle' || part?.kind === 'step' ? 1 : undefined);
  return {
    runId,
    seq,
    checkpointId: checkpointId(key, seq),
    at,
    kind: part?.kind ?? change[0]?.kind ?? 'settle',
    ...(node !== undefined && { node }),
    ...(node !== undefined && part !== undefined && { visit: part.visit ?? 1 }),
    ...(node !== undefined && attempt !== undefined && { attempt }),
    ...(step !== undefined && { step }),
    ...(part?.by !== undefined && { by: part.by }),
    ...(part?.kind === 'replay' && part.from !== undefined && { takenFrom: part.from }),
    ...(fold !== undefined && { within: { after: fold.after, upTo: seq } }),
  };
}

function stepIn(path: readonly string[]): string | undefined {
  const at = path.lastIndexOf('steps');
  return at > 0 && path[at - 2] === 'nodes' ? path[at + 1] : undefined;
}

/** The part of a change that is about a visit, or about a step of it. Without an author, the part that is about no node. */
function partOf(
  change: readonly ChangePart[],
  author: OpAuthor | undefined,
  step: string | undefined,
): ChangePart | undefined {
  if (author === undefined) return change.findLast(({ node }) => node === undefined);
  const parts = partsOf(change, author);
  return parts.findLast((part) => step !== undefined && part.step === step) ?? parts.findLast(isEnd) ?? parts.at(-1);
}
