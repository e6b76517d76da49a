/** The runs that go back to one: an original, its forks and theirs, and what each was given when it was forked. */
import type { RunRow, Store } from '../../ports/store.ts';
import type { Op } from '../../state/delta.ts';
import { firstSeqOf } from '../load/lineage.ts';
import { readAllRuns } from '../place/all-rows.ts';
import type { StatePlace } from '../place/place.ts';
import { shownStatusOf, toListedRun, type ShownStatus } from '../read/list-runs.ts';
import type { Tag } from '../read/tag-checkpoint.ts';
import { readPath } from '../../state/values/path.ts';
import { decodeOrNothing } from '../stored/chain.ts';
import { blobHash, resolveValues } from '../stored/resolve-values.ts';

/** What a fork was given that its original had not. */
export interface ForkChange {
  /** Paths of values that were set, with the value where it is not a large one. */
  readonly set: readonly { readonly path: string; readonly value?: unknown }[];
  /** Questions that were answered otherwise. */
  readonly answers: readonly string[];
  /** Who answered. */
  readonly by?: string;
  /** Whether it goes on under another graph. */
  readonly isOtherGraph: boolean;
}

/** A run of the tree. */
export interface GraphedRun {
  readonly runId: string;
  readonly graphId: string;
  readonly status: ShownStatus;
  /** Seq of its newest checkpoint. */
  readonly head: number;
  /** Epoch ms. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The checkpoint that it was forked from. */
  readonly parent?: { readonly runId: string; readonly seq: number };
  /** Absent of an original, and where its first checkpoint was pruned. */
  readonly changed?: ForkChange;
  readonly tags: readonly Omit<Tag, 'runId'>[];
  /** Whether it is the one that was asked about. */
  readonly isCurrent: boolean;
}

export interface RunGraph {
  /** The run that was asked about. */
  readonly runId: string;
  /** The oldest ancestor first, each run before its forks; forks of one run by where they leave it. */
  readonly runs: readonly GraphedRun[];
}

/** Reads one row and at most one checkpoint of each run, however long they are. */
export async function graphRuns(place: StatePlace, current: RunRow): Promise<RunGraph> {
  const root = await findRoot(place.store, current);
  const runs: GraphedRun[] = [];
  const waiting = [root];
  for (let run = waiting.pop(); run !== undefined; run = waiting.pop()) {
    runs.push(await toGraphed(place, run, run.runId === current.runId));
    const forks: RunRow[] = [];
    for await (const fork of readAllRuns(place, { parentRunId: run.runId })) forks.push(fork);
    waiting.push(...forks.sort(byForkPoint).reverse());
  }
  return { runId: current.runId, runs };
}

/** An ancestor that is not in this store is where the tree begins. */
async function findRoot(store: Store, run: RunRow): Promise<RunRow> {
  let root = run;
  for (;;) {
    const { tenant, parent } = root;
    const next = parent && (await store.readRun({ tenant, runId: parent.runId }));
    if (next === undefined) return root;
    root = next;
  }
}

function byForkPoint(a: RunRow, b: RunRow): number {
  return (a.parent?.seq ?? 0) - (b.parent?.seq ?? 0) || a.createdAt - b.createdAt || (a.runId < b.runId ? -1 : 1);
}

async function toGraphed(place: StatePlace, run: RunRow, isCurrent: boolean): Promise<GraphedRun> {
  const listed = toListedRun(run, place.isWorkerDead);
  const { runId, graphId, head, createdAt, updatedAt, parent } = listed;
  const changed = parent === undefined ? undefined : await readChange(place, run);
  return {
    runId,
    graphId,
    status: shownStatusOf(listed),
    head,
    createdAt,
    updatedAt,
    ...(parent !== undefined && { parent }),
    ...(changed !== undefined && { changed }),
    tags: (await place.store.readTags(run)).map(({ name, seq }) => ({ name, seq })),
    isCurrent,
  };
}

async function readChange({ store, blobs }: StatePlace, run: RunRow): Promise<ForkChange | undefined> {
  const seq = firstSeqOf(run);
  const [row] = await store.readCheckpoints(run, { from: seq, to: seq, limit: 1 });
  const checkpoint = row && decodeOrNothing(run, row);
  const part = checkpoint?.change.find(({ kind }) => kind === 'fork');
  if (checkpoint === undefined || part === undefined) return undefined;
  const detail = (part.detail ?? {}) as {
    readonly set?: readonly string[];
    readonly answers?: readonly string[];
    readonly graph?: unknown;
  };
  const set = (detail.set ?? []).map(async (path) => {
    const stored = setValue(checkpoint.ops as readonly Op[], path);
    return stored === undefined || blobHash(stored.value) !== undefined
      ? { path }
      : { path, value: await resolveValues(blobs, run.tenant, structuredClone(stored.value)) };
  });
  return {
    set: await Promise.all(set),
    answers: detail.answers ?? [],
    ...(part.by !== undefined && { by: part.by }),
    isOtherGraph: detail.graph !== undefined,
  };
}

/** What was set at a path of the state, as people write it: by an op there, or within what an op set above it. */
function setValue(ops: readonly Op[], path: string): { readonly value: unknown } | undefined {
  for (const [kind, at, value] of ops.toReversed()) {
    if (kind !== 's' || at[0] !== 'frame') continue;
    const place = (at[1] === 'channels' ? at.slice(2) : at.slice(1)).join('.');
    if (place === path) return { value };
    if (!path.startsWith(`${place}.`)) continue;
    const found = readPath(value, path.slice(place.length + 1).split('.'), absent);
    return found === absent ? undefined : { value: found };
  }
  return undefined;
}

const absent = Symbol('absent');
