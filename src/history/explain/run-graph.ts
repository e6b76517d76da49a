/** The tree of runs around one: its oldest ancestor, all forks of that, and what was changed in each fork. */
import type { RunRow, Store } from '../../ports/store.ts';
import type { Op } from '../../state/delta.ts';
import { firstSeqOf } from '../load/lineage.ts';
import { readAllRuns } from '../access/read-all.ts';
import type { StatePlace } from '../access/place.ts';
import { formatPath, splitPath } from '../read/state-path.ts';
import { shownStatusOf, toListedRun, type ShownStatus } from '../read/list-runs.ts';
import { readUserTags } from '../read/deleted-marks.ts';
import type { Tag } from '../read/tag-checkpoint.ts';
import { readPath } from '../../state/values/path.ts';
import { decodeOrNothing } from '../stored/chain.ts';
import { blobHash, resolveValues } from '../stored/checkpoint.ts';

/** How a fork differs from its original. */
export interface ForkChange {
  /** Paths of values that were set, `\.` for a dot within a key; with the value, unless it is large. */
  readonly set: readonly { readonly path: string; readonly value?: unknown }[];
  /** Questions that got another answer. */
  readonly answers: readonly string[];
  /** Who gave these answers. */
  readonly by?: string;
  /** Whether the fork uses another graph. */
  readonly isOtherGraph: boolean;
}

/** One run of the tree. */
export interface GraphedRun {
  readonly runId: string;
  readonly graphId: string;
  readonly status: ShownStatus;
  /** Seq of the run's newest checkpoint. */
  readonly head: number;
  /** Epoch ms. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The checkpoint that it was forked from; absent for the original. */
  readonly parent?: { readonly runId: string; readonly seq: number };
  /** Absent for the original, and if the fork's first checkpoint was pruned. */
  readonly changed?: ForkChange;
  readonly tags: readonly Omit<Tag, 'runId'>[];
  /** Whether this is the requested run. */
  readonly isCurrent: boolean;
}

export interface RunGraph {
  /** The requested run. */
  readonly runId: string;
  /** The oldest ancestor first. Each run comes before its forks, and forks of one run are sorted by their fork points. */
  readonly runs: readonly GraphedRun[];
}

/**
 * Reads the tree. For each run it reads one row and at most one checkpoint, however long the run is, and tags and forks where there are
 * some.
 */
export async function graphRuns(place: StatePlace, current: RunRow): Promise<RunGraph> {
  const root = await findRoot(place.store, current);
  const runs: GraphedRun[] = [];
  const waiting = [root];
  for (let run = waiting.pop(); run !== undefined; run = waiting.pop()) {
    runs.push(await toGraphed(place, run, run.runId === current.runId));
    if (run.hasForks === false) continue;
    const forks: RunRow[] = [];
    for await (const fork of readAllRuns(place, { parentRunId: run.runId })) forks.push(fork);
    waiting.push(...forks.sort(byForkPoint).reverse());
  }
  return { runId: current.runId, runs };
}

/** The oldest ancestor that is in this store. The tree begins there. */
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
    tags: run.hasTags === false ? [] : (await readUserTags(place.store, run)).map(({ name, seq }) => ({ name, seq })),
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
  const set = setValues(checkpoint.ops as readonly Op[], detail.set ?? []).map(async ({ path, stored }) =>
    stored === undefined || blobHash(stored.value) !== undefined
      ? { path }
      : { path, value: await resolveValues(blobs, run.tenant, structuredClone(stored.value)) },
  );
  return {
    set: await Promise.all(set),
    answers: detail.answers ?? [],
    ...(part.by !== undefined && { by: part.by }),
    isOtherGraph: detail.graph !== undefined,
  };
}

/** A value that an op of the fork's first checkpoint set. */
interface SetValue {
  readonly keys: readonly string[];
  readonly value: unknown;
}

/** The values that the ops set at these recorded paths of the state, either directly or within a value set above them. */
function setValues(
  ops: readonly Op[],
  paths: readonly string[],
): readonly { readonly path: string; readonly stored: { readonly value: unknown } | undefined }[] {
  const made = ops.flatMap(([kind, at, value]): SetValue[] =>
    kind === 's' && at[0] === 'frame' ? [{ keys: at.slice(at[1] === 'channels' ? 2 : 1), value }] : [],
  );
  // Earlier versions recorded paths without `\` before the dots of keys: such a path leads to a value to which no recorded path leads.
  const unnamed = made.filter(({ keys }) => !paths.some((path) => leadsTo(formatPath(keys), path)));
  return paths.map((path) => {
    const old = unnamed.find(({ keys }) => leadsTo(keys.join('.'), path));
    const keys =
      old === undefined ? splitPath(path) : [...old.keys, ...path.slice(old.keys.join('.').length).split('.').slice(1)];
    return { path: formatPath(keys), stored: valueAt(made, keys) };
  });
}

/** Whether a written path leads to another, or into its value. */
function leadsTo(above: string, path: string): boolean {
  return path === above || path.startsWith(`${above}.`);
}

function valueAt(made: readonly SetValue[], path: readonly string[]): { readonly value: unknown } | undefined {
  const last = made.findLast(({ keys }) => keys.every((key, index) => key === path[index]));
  const value = last === undefined ? absent : readPath(last.value, path.slice(last.keys.length), absent);
  return value === absent ? undefined : { value };
}

const absent = Symbol('absent');
