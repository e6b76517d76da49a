/**
 * The history of runs, as programs use it: read, name, compare, verify, shorten and move it. Commands call the same functions. Rarely used
 * parts are loaded on first use.
 */
import type { GraphStructure } from '../graph/graph.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import type { RetentionSettings } from '../graph/retention.ts';
import type { RunRow } from '../ports/store.ts';
import { readWait, type OpenQuestion } from './stored/wait-row.ts';
import { readOwner } from './load/lineage.ts';
import { readAllWaits } from './access/read-all.ts';
import type { WritePlace } from './access/place.ts';
import { giveIdentity } from './access/identity.ts';
import type { ExportAs, ExportReport } from './export-import/export-from.ts';
import type { ImportReport } from './export-import/import.ts';
import type { ImportAs } from './export-import/import-into.ts';
import {
  diffCheckpoints,
  type CheckpointDifference,
  showCheckpoint,
  walkLog,
  type CheckpointDetails,
  type LogEntry,
} from './read/log.ts';
import { listCheckpoints, type CheckpointQuery, type ListedCheckpoint } from './read/list-checkpoints.ts';
import { checkListQuery, listRuns, toListedRun, type ListedRun, type ListQuery } from './read/list-runs.ts';
import {
  nameOf,
  resolveName,
  resolveRun,
  type CheckpointName,
  type CheckpointPosition,
  type NamingOptions,
  type ResolvedReference,
  type RunName,
} from './read/references.ts';
import { checkTagName, removeTag, tagCheckpoint, type Tag } from './read/tag-checkpoint.ts';
import { pickPart, readStateAt, type StateAt } from './read/state-at.ts';
import { followHistory, type FollowedEvent, type FollowOptions } from './read/follow.ts';
import { followRuns, type FollowedRunsEvent, type FollowRunsOptions } from './read/follow-runs.ts';
import { parsePath } from './read/state-path.ts';
import type { RecordedVisit } from './read/read-visit.ts';
import type { ExpiredRun } from './retention/apply-retention.ts';
import type {
  CleanUpOptions,
  CleanUpReport,
  CleanUpSettings,
  SettingsFor,
  VacuumReport,
} from './retention/clean-up.ts';
import type { HeldRun, ReleasedRun } from './retention/held-runs.ts';
import type { KeepOptions, PrunedRuns } from './retention/prune-runs.ts';
import type { RemovedCheckpoint } from './retention/remove-checkpoint.ts';
import type { RemovedRuns, RemoveOptions } from './retention/remove-run.ts';
import { checkpointId } from './stored/checkpoint.ts';
import type { Bisection } from './explain/bisect.ts';
import type { Blame } from './explain/blame.ts';
import type { CheckpointRecords } from './explain/read-records.ts';
import type { RunGraph } from './explain/run-graph.ts';
import { CairnError } from '../errors.ts';
import type { PostMortem } from './explain/story.ts';
import type { Finding } from './verify/examine-runs.ts';
import type { Verification } from './verify/verify-place.ts';
import { readStoreStats, type StatsOptions, type StoreStats } from './retention/store-stats.ts';

/** At most the first few of a listing. @throws CONFIG_INVALID the limit is no count */
function firstOf<Item>(of: string, items: AsyncIterable<Item>, limit = Infinity): AsyncIterable<Item> {
  if (limit !== Infinity && !(Number.isInteger(limit) && limit > 0))
    throw new CairnError('CONFIG_INVALID', { path: `${of}: limit`, reason: 'it is a whole number from 1 on' });
  return takeFirst(items, limit);
}

async function* takeFirst<Item>(items: AsyncIterable<Item>, limit: number): AsyncGenerator<Item> {
  let remaining = limit;
  for await (const item of items) {
    yield item;
    remaining -= 1;
    if (remaining <= 0) return;
  }
}

/** The differences between two checkpoints. */
export interface ComparedCheckpoints extends CheckpointDifference {
  readonly a: CheckpointPosition;
  readonly b: CheckpointPosition;
}

/** Which waits to list. */
export interface WaitsQuery {
  /** Only waits of this run. */
  readonly run?: CheckpointName;
  /** Whether to include waits for a time or a signal. Default: only questions and effects in doubt. */
  readonly all?: boolean;
}

/**
 * The names of all options, by method. Others are refused, since plain JavaScript has no type checker that would do it: a misspelt `dryRun`
 * would remove checkpoints.
 */
const known = {
  list: ['status', 'graphId', 'forksOf', 'labels', 'since', 'until', 'limit'] satisfies readonly (keyof ListQuery)[],
  latest: ['status'] satisfies readonly (keyof ListQuery)[],
  checkpoints: ['graphId', 'isPaused', 'after', 'limit'] satisfies readonly (keyof CheckpointQuery)[],
  log: ['ancestors'],
  stats: ['sizes'] satisfies readonly (keyof StatsOptions)[],
  follow: ['after', 'until', 'live', 'signal'] satisfies readonly (keyof FollowOptions)[],
  followRuns: ['labels', 'graph', 'after', 'signal'] satisfies readonly (keyof FollowRunsOptions)[],
  waits: ['run', 'all'] satisfies readonly (keyof WaitsQuery)[],
  prune: ['keepEvery', 'keepLast', 'dryRun'] satisfies readonly (keyof KeepOptions)[],
  cleanUp: ['graphId', 'dryRun', 'vacuum', 'sweeps', 'beat'] satisfies readonly (keyof CleanUpOptions)[],
  applyRetention: ['graphId', 'dryRun'],
  settings: [
    'max_per_workflow',
    'ttl_seconds',
    'keep_paused',
    'retention',
  ] satisfies readonly (keyof CleanUpSettings)[],
  remove: ['withForks', 'dryRun', 'forget'] satisfies readonly (keyof RemoveOptions)[],
  export: ['move', 'masked', 'fixture', 'mask'] satisfies readonly (keyof ExportAs)[],
  import: ['move', 'runId', 'trust'] satisfies readonly (keyof ImportAs)[],
} as const;

/**
 * The runs of a store and their histories. Long results are async iterables, read piece by piece as they are consumed. Every method may
 * throw RUN_NOT_FOUND, CHECKPOINT_NOT_FOUND or CHECKPOINT_PRUNED for its arguments; CHECKPOINT_CORRUPT, CHECKPOINT_VERSION_UNKNOWN,
 * BLOB_NOT_FOUND or BLOB_CORRUPT for damaged data; and the errors of the store (STORE_UNAVAILABLE and the like).
 */
export class History<State = StateAt> {
  readonly #place: WritePlace;
  readonly #naming: NamingOptions;

  /** @param naming - whether the beginning of an id may stand for it. Default: no, because a program's ids may begin alike */
  constructor(place: WritePlace, naming: NamingOptions = { byPrefix: false }) {
    this.#place = place;
    this.#naming = naming;
  }

  /** Lists runs, newest first. */
  list(query: ListQuery = {}): AsyncIterable<ListedRun> {
    refuseUnknownKeys('history.list', query, known.list);
    checkListQuery(query);
    return firstOf('history.list', listRuns(this.#place, query), query.limit);
  }

  /**
   * The newest run of a graph, as `list` shows it, or of those with one of these statuses; undefined if there is none.
   * @throws CONFIG_INVALID
   */
  async latest(graphId: string, query: Pick<ListQuery, 'status'> = {}): Promise<ListedRun | undefined> {
    refuseUnknownKeys('history.latest', query, known.latest);
    for await (const run of this.list({ ...query, graphId })) return run;
    return undefined;
  }

  /** One run as `list` shows it, by its id or key. */
  async find(run: RunName): Promise<ListedRun> {
    return toListedRun(await this.#run(run), this.#place.isWorkerDead);
  }

  /** Lists the checkpoints of all runs: by groups of 100 runs, those that were started last first, and newest first within a group. */
  checkpoints(query: CheckpointQuery = {}): AsyncIterable<ListedCheckpoint> {
    refuseUnknownKeys('history.checkpoints', query, known.checkpoints);
    return firstOf('history.checkpoints', listCheckpoints(this.#place, query), query.limit);
  }

  /**
   * Counts runs and checkpoints by workflow, status and age, and what belongs to nothing. With `sizes`, it reads all checkpoints, and adds
   * up what they take.
   */
  async stats(options: StatsOptions = {}): Promise<StoreStats> {
    refuseUnknownKeys('history.stats', options, known.stats);
    return readStoreStats(this.#place, options);
  }

  /**
   * The checkpoints of a run and why each was made, newest first, starting at the named one. With `ancestors`, goes on past the point where
   * the run was forked.
   */
  async *log(
    name: CheckpointName,
    options: { readonly ancestors?: boolean } = {},
  ): AsyncGenerator<LogEntry, void, undefined> {
    refuseUnknownKeys('history.log', options, known.log);
    const { run, seq } = await this.#find(name);
    yield* walkLog(this.#place.store, run, { before: seq + 1, includeAncestors: options.ancestors ?? false });
  }

  /**
   * Follows a run that any process on the store advances: each checkpoint once and in order, with what it recorded, over pauses, until the
   * run ends. The `cursor` of an event is `after` of whoever goes on later.
   * @throws USAGE_INVALID `after` is no cursor
   */
  async *follow(name: RunName, options: FollowOptions = {}): AsyncGenerator<FollowedEvent, void, undefined> {
    refuseUnknownKeys('history.follow', options, known.follow);
    const { store, tenant } = this.#place;
    const { runId } = await resolveRun(store, tenant, name, this.#naming);
    yield* followHistory(this.#place, runId, options);
  }

  /**
   * Follows many runs in one stream: those that are open, from where they stand, and those that are started meanwhile. The `position` of an
   * event is `after` of whoever goes on later. @throws USAGE_INVALID `after` is no position of this filter
   */
  followRuns(options: FollowRunsOptions = {}): AsyncGenerator<FollowedRunsEvent, void> {
    refuseUnknownKeys('history.followRuns', options, known.followRuns);
    return followRuns(this.#place, options);
  }

  /** The checkpoint that a name stands for. Its `checkpointId` never changes, whatever is forked or pruned later. */
  async locate(
    name: CheckpointName,
  ): Promise<CheckpointPosition & { readonly checkpointId: string; readonly isHead: boolean }> {
    const { run, seq } = await this.#find(name);
    const { key } = await readOwner(this.#place.store, run, seq);
    return { runId: run.runId, seq, checkpointId: checkpointId(key, seq), isHead: seq === run.head };
  }

  /** Everything about one checkpoint. */
  async show(name: CheckpointName): Promise<CheckpointDetails> {
    const { run, seq } = await this.#find(name);
    return showCheckpoint(this.#place, run, seq);
  }

  /** The state of a run at a checkpoint. */
  async state(name: CheckpointName): Promise<State>;
  /**
   * A part of the state. The path is dotted, as in `scratch.plan.0.title`; write `\.` for a dot within a key. @throws USAGE_INVALID there
   * is no such part
   */
  async state(name: CheckpointName, path: string): Promise<unknown>;
  async state(name: CheckpointName, path?: string): Promise<unknown> {
    const state = await readStateAt(this.#place, await this.#find(name));
    return path === undefined ? state : pickPart(state, parsePath(path), nameOf(name));
  }

  /**
   * The record of a node's last visit at a checkpoint, with its steps, questions and child runs.
   * @param node - the node's id, or its path from the root: node ids and, between them, names of child runs
   * @throws USAGE_INVALID the node has no record, or its outcome was taken over from another run
   */
  async visit(name: CheckpointName, node: string | readonly string[]): Promise<RecordedVisit> {
    const { readVisit } = await import('./read/read-visit.ts');
    return readVisit(this.#place, await this.#find(name), typeof node === 'string' ? [node] : node);
  }

  /** The differences between two checkpoints, of one run or of two. */
  async diff(a: CheckpointName, b: CheckpointName): Promise<ComparedCheckpoints> {
    const [before, after] = [await this.#find(a), await this.#find(b)];
    return {
      a: { runId: before.run.runId, seq: before.seq },
      b: { runId: after.run.runId, seq: after.seq },
      ...(await diffCheckpoints(this.#place.store, this.#place.blobs, before, after)),
    };
  }

  /**
   * Who last wrote each part of a value: the checkpoint, the node and the attempt. The search goes back through forks.
   * @param path - dotted, as for {@link History.state}: `scratch.plan`
   * @param inside - the child run that holds the value: node ids and names of child runs in turn. Default: the run itself
   * @throws USAGE_INVALID there is no such value
   */
  async blame(name: CheckpointName, path: string, inside: readonly string[] = []): Promise<Blame> {
    const { blameValue } = await import('./explain/blame.ts');
    return blameValue(this.#place, await this.#find(name), parsePath(path), inside);
  }
  /**
   * Finds the first checkpoint at which a condition holds. It searches from the oldest ancestor up to the named checkpoint.
   * @param when - a condition over `status`, `input`, `scratch`, `artifacts`, `diagnostics`, `outputs` and `failures`
   * @throws CONDITION_SYNTAX with line and column, before anything is read
   */
  async bisect(name: CheckpointName, when: string): Promise<Bisection> {
    const { bisect } = await import('./explain/bisect.ts');
    return bisect(this.#place, await this.#find(name), when);
  }
  /** The tree of a run, its ancestors and all their forks: the fork point of each, and what was changed in it. */
  async graph(run: CheckpointName): Promise<RunGraph> {
    const { graphRuns } = await import('./explain/run-graph.ts');
    return graphRuns(this.#place, (await this.#find(run)).run);
  }
  /**
   * What happened in a run up to a checkpoint: each visit of a node in order with its outcome, attempts, questions, what it changed, and
   * every edge that leaves it with why it was taken or not. Conditions are computed again from the state as it was; functions of a
   * program are not called.
   */
  async postMortem(name: CheckpointName): Promise<PostMortem> {
    const { postMortem } = await import('./explain/post-mortem.ts');
    return postMortem(this.#place, await this.#find(name));
  }
  /** The graph of a run at a checkpoint, as data. Undefined if it was not recorded. */
  async structure(name: CheckpointName): Promise<GraphStructure | undefined> {
    const { readStructure } = await import('./explain/structures.ts');
    return readStructure(this.#place, await this.#find(name));
  }
  /** All that a checkpoint holds: values and records of nodes, with those of child runs; for those who show it in a way of their own. */
  async records(name: CheckpointName): Promise<CheckpointRecords> {
    const { readRecords } = await import('./explain/read-records.ts');
    return readRecords(this.#place, await this.#find(name));
  }
  /** Open waits, soonest due first; not those whose answer waits to be taken. */
  async *waits(query: WaitsQuery = {}): AsyncGenerator<OpenQuestion, void, undefined> {
    refuseUnknownKeys('history.waits', query, known.waits);
    const { run, all = false } = query;
    const runId = run === undefined ? undefined : (await this.#find(run)).run.runId;
    const ofRun = { isAnswered: false, ...(runId !== undefined && { runId }) };
    const of = { ...ofRun, ...(!all && { kinds: ['question', 'doubt'] as const }) };
    for await (const row of readAllWaits(this.#place, of)) yield readWait(row);
  }

  /**
   * Tags a checkpoint. From then on `RUN@tag` names it, and pruning keeps it. @throws ID_INVALID the tag would be read as another
   * checkpoint
   */
  async tag(name: CheckpointName, tag: string): Promise<Tag> {
    checkTagName(tag);
    return tagCheckpoint(this.#place.store, await this.#find(name), tag);
  }

  /** Removes a tag from a run. @returns the checkpoint that had it. @throws CHECKPOINT_NOT_FOUND the run has no such tag */
  async untag(run: CheckpointName, tag: string): Promise<Tag> {
    return removeTag(this.#place.store, (await this.#find(run)).run, tag);
  }

  /**
   * Prunes a run: removes checkpoints that nothing needs, to save space. The states of the remaining checkpoints do not change. @throws
   * CLAIM_TAKEN another worker has the run
   */
  async prune(run: RunName, options: KeepOptions = {}): Promise<PrunedRuns> {
    refuseUnknownKeys('history.prune', options, known.prune);
    const { pruneOneRun } = await import('./retention/prune-runs.ts');
    return pruneOneRun(this.#place, await this.#run(run), options);
  }

  /** Prunes every run, except those that a worker has claimed, and removes large values that nothing refers to. */
  async pruneAll(options: KeepOptions = {}): Promise<PrunedRuns> {
    refuseUnknownKeys('history.pruneAll', options, known.prune);
    const { pruneAllRuns } = await import('./retention/prune-runs.ts');
    return pruneAllRuns(this.#place, options);
  }

  /**
   * Removes what the settings of each graph do not retain, like `cairn cleanup`. The newest checkpoint of an unfinished run always stays,
   * and so does what forks, tags and open work need.
   */
  async cleanUp(settings: SettingsFor, options: CleanUpOptions = {}): Promise<CleanUpReport> {
    refuseUnknownKeys('history.cleanUp', options, known.cleanUp);
    if (typeof settings !== 'function') refuseUnknownKeys('history.cleanUp', settings, known.settings);
    const { cleanUpPlace } = await import('./retention/clean-up.ts');
    return cleanUpPlace(this.#place, settings, options);
  }

  /**
   * Gives the room that removed runs and checkpoints took back to the file system. It rewrites the store's file, and nothing else is
   * written meanwhile, so call it while little is going on. @returns undefined if the store does so by itself. @throws STORE_BUSY
   */
  async vacuum(): Promise<VacuumReport | undefined> {
    const { vacuumPlace } = await import('./retention/clean-up.ts');
    return vacuumPlace(this.#place);
  }

  /**
   * Removes runs that ended and that a graph is to keep no longer, and gives each as it goes; whoever stops reading stops removing.
   * @throws CONFIG_INVALID
   */
  async *applyRetention(
    retention: RetentionSettings,
    options: { readonly graphId?: string; readonly dryRun?: boolean } = {},
  ): AsyncGenerator<ExpiredRun, void> {
    refuseUnknownKeys('history.applyRetention', options, known.applyRetention);
    const { applyRetention } = await import('./retention/apply-retention.ts');
    yield* applyRetention(this.#place, retention, options);
  }

  /**
   * Removes a run with its history. Its id is not used again for 30 days, or at once if it is to be forgotten.
   * @throws CLAIM_TAKEN; HISTORY_HAS_FORKS the run has forks and `withForks` is not set
   */
  async remove(run: RunName, options: RemoveOptions = {}): Promise<RemovedRuns> {
    refuseUnknownKeys('history.remove', options, known.remove);
    const { forgetRun, removeRun } = await import('./retention/remove-run.ts');
    if (options.forget === true) {
      const forgotten = await forgetRun(this.#place, typeof run === 'string' ? run : run.runId, options.dryRun);
      if (forgotten !== undefined) return forgotten;
    }
    return removeRun(this.#place, (await this.#run(run)).runId, options);
  }

  /**
   * Removes one checkpoint that nothing needs. Removing a run's newest checkpoint removes the run. @throws CHECKPOINT_NEEDED,
   * HISTORY_HAS_FORKS, CLAIM_TAKEN
   */
  async removeCheckpoint(name: CheckpointName): Promise<RemovedCheckpoint> {
    const { removeCheckpoint } = await import('./retention/remove-checkpoint.ts');
    return removeCheckpoint(this.#place, await this.#find(name));
  }

  /**
   * Holds a run that is not over: whoever advances it loses it, and nobody takes it up before it is released. For a store that was taken back
   * to an earlier time: what its runs did since is not in it. @throws USAGE_INVALID the run is over
   */
  async hold(run: RunName): Promise<HeldRun> {
    const { holdRun } = await import('./retention/held-runs.ts');
    return holdRun(this.#place.store, await this.#run(run));
  }

  /** Holds every run that is not over. */
  async holdAll(): Promise<readonly HeldRun[]> {
    const { holdAllRuns } = await import('./retention/held-runs.ts');
    return holdAllRuns(this.#place);
  }

  /** Releases a run that is held, so that it can go on. @throws USAGE_INVALID the run is not held */
  async release(run: RunName): Promise<ReleasedRun> {
    const { releaseRun } = await import('./retention/held-runs.ts');
    return releaseRun(this.#place, await this.#run(run));
  }

  /** Releases every run that is held. */
  async releaseAll(): Promise<readonly ReleasedRun[]> {
    const { releaseAllRuns } = await import('./retention/held-runs.ts');
    return releaseAllRuns(this.#place);
  }

  /**
   * Verifies a run's history: checksums, the chain of checkpoints, snapshots, blobs, open waits. Without a run: all runs, and the medium
   * that the store uses.
   */
  async verify(run?: CheckpointName): Promise<Verification> {
    const { verifyPlace } = await import('./verify/verify-place.ts');
    return verifyPlace(this.#place, run === undefined ? undefined : (await this.#find(run)).run);
  }

  /** Which runs need a person, and whether unfinished runs could be resumed. */
  async examine(): Promise<readonly Finding[]> {
    const { examinePlace } = await import('./verify/examine-place.ts');
    return examinePlace(this.#place);
  }

  /**
   * Exports a run's history up to a checkpoint as text, piece by piece, with its blobs, tags and messages. Values are written as they are
   * stored; `masked` hides secrets, and the result can then only be read.
   * @returns a report, after the last piece
   * @throws CLAIM_TAKEN to move a run that another worker has; USAGE_INVALID both `move` and `masked`
   */
  async *export(name: CheckpointName, options: ExportAs = {}): AsyncGenerator<string, ExportReport, undefined> {
    refuseUnknownKeys('history.export', options, known.export);
    const { exportFrom } = await import('./export-import/export-from.ts');
    return yield* exportFrom(this.#place, await this.#find(name), options);
  }

  /**
   * Imports the text of {@link History.export}, in pieces of any size. An import that was interrupted can be repeated.
   * @throws INPUT_INVALID the text is not an export, or its end is missing; RUN_EXISTS another run has this id; CLAIM_TAKEN
   */
  async import(text: AsyncIterable<string>, options: ImportAs = {}): Promise<ImportReport> {
    refuseUnknownKeys('history.import', options, known.import);
    const { importInto } = await import('./export-import/import-into.ts');
    return importInto(this.#place, text, options);
  }

  /** The identity of the store's data, from which idempotency keys are derived; empty if it has none. */
  async identity(): Promise<string> {
    return this.#place.store.readIdentity();
  }

  /**
   * Sets the identity of the store's data, by default to a random one. It applies to runs started from now on. @throws USAGE_INVALID it is
   * empty
   */
  async setIdentity(identity?: string): Promise<string> {
    return giveIdentity(this.#place.store, identity);
  }

  #run(name: RunName): Promise<RunRow> {
    return resolveRun(this.#place.store, this.#place.tenant, name, this.#naming);
  }

  #find(name: CheckpointName): Promise<ResolvedReference> {
    return resolveName(this.#place.store, this.#place.tenant, name, this.#naming);
  }
}
