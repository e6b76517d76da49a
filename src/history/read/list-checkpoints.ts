/** Lists the checkpoints of all runs, group of runs by group. */
import { CairnError } from '../../errors.ts';
import { requireIntact } from '../../ports/intact-run.ts';
import type { RunRow } from '../../ports/store.ts';
import type { ReadPlace, StatePlace } from '../access/place.ts';
import { loadState } from '../load/load.ts';
import { checkpointId } from '../stored/checkpoint.ts';
import { letOthersIn } from '../stored/pace.ts';
import { isAnswerable } from '../stored/wait-row.ts';
import type { LogEntry } from './log.ts';
import { newestFirst, type Position, positionOf, type WalkedCheckpoint } from './newest-first.ts';

/** Runs of a group: those that were admitted one after another. Of their checkpoints the newest stands first. */
const runsOfGroup = 100;
/** A page that is not full ends when so many runs were looked through for it. */
const runsOfPage = 1_000;

/** One checkpoint in this list. */
export interface ListedCheckpoint {
  readonly checkpointId: string;
  readonly runId: string;
  readonly seq: number;
  readonly graphId: string;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Whether the run was paused at this checkpoint. */
  readonly isPaused: boolean;
  /** If the run was paused here: the first of its open questions. */
  readonly prompt?: string;
  /** Whether it is its run's newest checkpoint. */
  readonly isHead: boolean;
  /** Set if a node read its memory here, and what it read is on record. */
  readonly readsMemory?: true;
}

/** Which checkpoints to list; all conditions must hold. */
export interface CheckpointQuery {
  /** Only checkpoints of this graph's runs. */
  readonly graphId?: string;
  /** Only checkpoints at which a run was paused. */
  readonly isPaused?: boolean;
  /** Only checkpoints that come after this position in the list. */
  readonly after?: Position;
  /** The most to list. Default: all. */
  readonly limit?: number;
}

/**
 * Runs that were admitted one after another, by what stays the same whatever is admitted or removed meanwhile: its first run, and the store's
 * cursors behind that one and behind the last.
 */
export interface RunGroup {
  readonly first: string;
  /** Absent if there is no other run behind the first. */
  readonly from?: string;
  /** Absent if it is the last group. */
  readonly to?: string;
}

/** Where the next page begins: in a group behind a position, or with the group that begins at a cursor of the store. */
export type ListMark = { readonly group: RunGroup; readonly after?: Position } | { readonly from: string };

interface OpenGroup {
  readonly group: RunGroup;
  readonly runs: readonly RunRow[];
}

class Groups {
  readonly #place: ReadPlace;
  readonly #graph: { readonly graphId?: string };

  constructor(place: ReadPlace, graphId: string | undefined) {
    this.#place = place;
    this.#graph = graphId === undefined ? {} : { graphId };
  }

  /** Groups, that of the newest runs first. @param mark - begin with the group that it names */
  async *read(mark?: ListMark): AsyncGenerator<OpenGroup> {
    let cursor: string | undefined;
    if (mark !== undefined && 'group' in mark) {
      yield { group: mark.group, runs: await this.#readAgain(mark.group) };
      cursor = mark.group.to;
      if (cursor === undefined) return;
    } else cursor = mark?.from;
    do {
      const opened = await this.#readAt(cursor);
      if (opened === undefined) return;
      yield opened;
      cursor = opened.group.to;
      if (cursor !== undefined) await letOthersIn();
    } while (cursor !== undefined);
  }

  async #readAt(cursor: string | undefined): Promise<OpenGroup | undefined> {
    // What is admitted meanwhile stands before the first run, so what is behind it stays as it is.
    const { rows, cursor: from } = await this.#page(1, cursor);
    const [first] = rows;
    if (first === undefined) return undefined;
    const group = { first: first.runId };
    if (from === undefined) return { group, runs: rows };
    const rest = await this.#page(runsOfGroup - 1, from);
    return {
      group: { ...group, from, ...(rest.cursor !== undefined && { to: rest.cursor }) },
      runs: [first, ...rest.rows],
    };
  }

  /** The runs of a group that there still are. Where some were removed, as many of the next group come into the page, and are left out. */
  async #readAgain({ first, from, to }: RunGroup): Promise<readonly RunRow[]> {
    const { store, tenant } = this.#place;
    const run = await store.readRun({ tenant, runId: first });
    const rest = from === undefined ? [] : (await this.#page(runsOfGroup - 1, from)).rows;
    const [next] = to === undefined ? [] : (await this.#page(1, to)).rows;
    const end = rest.findIndex(({ runId }) => runId === next?.runId);
    return [...(run === undefined ? [] : [run]), ...(end === -1 ? rest : rest.slice(0, end))];
  }

  async #page(limit: number, cursor: string | undefined): ReturnType<ReadPlace['store']['listRuns']> {
    const { store, tenant } = this.#place;
    const page = await store.listRuns({ tenant, limit, ...this.#graph, ...(cursor !== undefined && { cursor }) });
    return { ...page, rows: page.rows.map((row) => requireIntact(store.name, row)) };
  }
}

/**
 * Lists checkpoints of all runs, reading as it goes: in groups of 100 runs, those that were admitted last first, and newest first within a
 * group.
 *
 * @throws CHECKPOINT_CORRUPT, BLOB_NOT_FOUND and the like; RUN_NOT_FOUND the run of `after` is not there any more
 */
export async function* listCheckpoints(
  place: StatePlace,
  { graphId, isPaused = false, after }: CheckpointQuery = {},
): AsyncGenerator<ListedCheckpoint> {
  let isReached = after === undefined;
  for await (const { runs } of new Groups(place, graphId).read()) {
    const isIn = !isReached && runs.some(({ runId }) => runId === after?.runId);
    if (!isReached && !isIn) continue;
    isReached = true;
    for await (const walked of newestFirst(place, runs, isIn ? after : undefined))
      if (!isPaused || isPause(walked)) yield toListed(place, walked);
  }
  if (!isReached) throw new CairnError('RUN_NOT_FOUND', { runId: after?.runId });
}

export interface CheckpointPage {
  readonly checkpoints: readonly ListedCheckpoint[];
  /** Where the next page begins; absent on the last one. */
  readonly next?: ListMark;
}

/**
 * One page of that list. It costs what the page costs and what its group listed before; a page that is not full ends when 1,000 runs were
 * looked through.
 *
 * @throws as {@link listCheckpoints}
 */
export async function pageOfCheckpoints(
  place: StatePlace,
  { graphId, isPaused = false }: Pick<CheckpointQuery, 'graphId' | 'isPaused'>,
  { limit, start }: { readonly limit: number; readonly start?: ListMark },
): Promise<CheckpointPage> {
  const checkpoints: ListedCheckpoint[] = [];
  let after = start !== undefined && 'group' in start ? start.after : undefined;
  let looked = 0;
  for await (const { group, runs } of new Groups(place, graphId).read(start)) {
    for await (const walked of newestFirst(place, runs, after)) {
      if (isPaused && !isPause(walked)) continue;
      if (checkpoints.length >= limit) return { checkpoints, next: { group, ...(after !== undefined && { after }) } };
      checkpoints.push(await toListed(place, walked));
      after = positionOf(walked);
    }
    after = undefined;
    looked += runs.length;
    if (looked >= runsOfPage && group.to !== undefined) return { checkpoints, next: { from: group.to } };
  }
  return { checkpoints };
}

function isPause({ entry }: WalkedCheckpoint): boolean {
  return entry.change.some(({ kind }) => kind === 'pause');
}

async function toListed(place: StatePlace, walked: WalkedCheckpoint): Promise<ListedCheckpoint> {
  const { run, entry, at } = walked;
  const isPaused = isPause(walked);
  const prompt = isPaused ? await readPrompt(place, walked) : undefined;
  return {
    checkpointId: checkpointId(run.key, entry.seq),
    runId: run.runId,
    seq: entry.seq,
    graphId: run.graphId,
    createdAt: at,
    isPaused,
    ...(prompt !== undefined && { prompt }),
    isHead: entry.seq === run.head,
    ...(entry.change.some(isRecall) && { readsMemory: true as const }),
  };
}

/** Steps of a session memory are named for it, and for what they do. */
const isRecall = ({ kind, step }: LogEntry['change'][number]): boolean =>
  kind === 'step' && step !== undefined && / recall(?:\W|$)/u.test(step);

async function readPrompt({ store, blobs }: StatePlace, { run, entry }: WalkedCheckpoint): Promise<string | undefined> {
  const { root } = await loadState(store, blobs, run, entry.seq);
  return Object.values(root.waits).find(isAnswerable)?.prompt;
}
