/** Finds the checkpoints of a run that pruning must keep (C8). */
import type { BlobStore } from '../../ports/blobs.ts';
import type { RunRow, Store } from '../../ports/store.ts';
import type { FrameTree, RunTree } from '../../state/tree.ts';
import type { Change } from '../stored/change.ts';
import { firstSeqOf, readHistory } from '../load/lineage.ts';
import { loadState } from '../load/load.ts';
import { readUserTags } from '../read/deleted-marks.ts';
import { viewState } from '../read/checkpoint-view.ts';

export interface PruneOptions {
  /** Keep each checkpoint whose seq is a multiple of this number. */
  readonly keepEvery?: number;
  /** Keep this many of the newest checkpoints. Default 1: the head. */
  readonly keepLast?: number;
  /** Of the checkpoints that nothing needs, remove only these. Default: all. */
  readonly only?: readonly number[];
}

export interface PruneNeeds {
  /** Seq of the oldest checkpoint to keep. */
  readonly oldest: number;
  /** Seqs of the run's own checkpoints that stay unchanged, from the oldest on, ascending. */
  readonly retained: readonly number[];
  /** Those of them that remain only because forks from before them take over what they recorded. */
  readonly takenOver: ReadonlySet<number>;
}

const effectClasses = new Set(['write', 'external', 'human']);
const outcomeKinds = new Set(['settle', 'retry', 'step', 'replay']);
const forkPage = 500;

/**
 * Which checkpoints to keep. Chosen are the head, the newest ones, tagged ones, fork points and every k-th. A chosen checkpoint can be
 * forked from, so the states that its open activations see are chosen too. Of the others, those stay that hold an effect's outcome or
 * opened something that is still open.
 */
export async function readPruneNeeds(
  store: Store,
  blobs: BlobStore,
  run: RunRow,
  options: PruneOptions,
): Promise<PruneNeeds> {
  const first = Math.max(firstSeqOf(run), run.prunedBelow);
  const chosen = await choose(store, run, first, options);
  for (const fork of await listForks(store, run)) {
    const { root } = await loadState(store, blobs, fork);
    for (const seq of viewsOf(root.frame)) if (seq >= first && seq <= run.head) chosen.add(seq);
  }
  await addSeen(store, blobs, run, first, chosen);
  const oldest = Math.min(...chosen);
  const isOpen = openPartsOf((await loadState(store, blobs, run)).root);
  const takenOver = new Set<number>();
  for await (const { checkpoint } of readHistory(store, run, { from: oldest, to: run.head })) {
    if (checkpoint.change.some(isOpen)) chosen.add(checkpoint.seq);
    else if (!chosen.has(checkpoint.seq) && holdsOutcome(checkpoint.change)) takenOver.add(checkpoint.seq);
  }
  return { oldest, retained: [...chosen, ...takenOver].sort((a, b) => a - b), takenOver };
}

async function choose(
  store: Store,
  run: RunRow,
  first: number,
  { keepEvery, keepLast = 1, only }: PruneOptions,
): Promise<Set<number>> {
  const chosen = new Set<number>();
  for (let seq = Math.max(first, run.head - Math.max(1, keepLast) + 1); seq <= run.head; seq++) chosen.add(seq);
  for (const { seq } of await readUserTags(store, run)) chosen.add(seq);
  for await (const fork of readForks(store, run)) if (fork.parent !== undefined) chosen.add(fork.parent.seq);
  const every = keepEvery === undefined ? 0 : Math.max(1, Math.floor(keepEvery));
  if (every > 0) for (let seq = Math.ceil(first / every) * every; seq <= run.head; seq += every) chosen.add(seq);
  if (only !== undefined) {
    const droppable = new Set(only);
    for (let seq = first; seq <= run.head; seq++) if (!droppable.has(seq)) chosen.add(seq);
  }
  // A checkpoint that earlier pruning removed can no longer be chosen.
  return existing(store, run, chosen);
}

async function existing(store: Store, run: RunRow, seqs: ReadonlySet<number>): Promise<Set<number>> {
  const found = new Set<number>();
  for (const seq of seqs) {
    const [row] = await store.readCheckpoints(run, { from: seq, to: seq, limit: 1 });
    if (row !== undefined) found.add(seq);
  }
  return found;
}

/** Adds the checkpoints whose states the open activations of chosen ones see, and so on backwards. */
async function addSeen(store: Store, blobs: BlobStore, run: RunRow, first: number, chosen: Set<number>): Promise<void> {
  for (const seq of chosen) {
    // A set's iteration also visits items that are added meanwhile.
    const { root } = await loadState(store, blobs, run, seq);
    for (const seen of viewsOf(root.frame)) if (seen >= first && seen <= run.head) chosen.add(seen);
  }
}

/** Seqs of the checkpoints whose state an open activation sees (E9). */
function viewsOf(frame: FrameTree): number[] {
  return Object.values(frame.nodes).flatMap(({ view, children, fired }) => [
    ...(view === undefined || fired !== undefined ? [] : [view]),
    ...Object.values(children ?? {}).flatMap(viewsOf),
  ]);
}

/** Returns a test: did a part of a change open a wait or an intent that is still open? */
function openPartsOf(root: RunTree): (part: Change[number]) => boolean {
  const view = viewState(root);
  const waits = new Set(view.waits.map(({ waitId }) => waitId));
  const intents = new Set(
    view.nodes.filter(({ hasOpenEffect }) => hasOpenEffect).map(({ path }) => JSON.stringify(path)),
  );
  return ({ kind, wait, node }) =>
    (kind === 'wait' && wait !== undefined && waits.has(wait)) ||
    (kind === 'intent' && intents.has(JSON.stringify(node)));
}

/** Whether a fork from an earlier checkpoint would take over something from this one (X2). */
function holdsOutcome(change: Change): boolean {
  return change.some(
    ({ kind, effect = '' }) => kind === 'answer' || (outcomeKinds.has(kind) && effectClasses.has(effect)),
  );
}

async function* readForks(store: Store, run: RunRow): AsyncGenerator<RunRow> {
  let cursor: string | undefined;
  do {
    const query = { tenant: run.tenant, parentRunId: run.runId, limit: forkPage };
    const page = await store.listRuns(cursor === undefined ? query : { ...query, cursor });
    yield* page.rows;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** All forks of a run, forks of forks included. */
async function listForks(store: Store, run: RunRow): Promise<readonly RunRow[]> {
  const found: RunRow[] = [];
  for await (const fork of readForks(store, run)) found.push(fork, ...(await listForks(store, fork)));
  return found;
}
