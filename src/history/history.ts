/** The history of runs, for programs: read, named, compared, checked, shortened, moved. Operations call the same functions. What few programs do is loaded when it is done. */
import type { RunRow } from '../ports/store.ts';
import { readWait, type OpenQuestion } from './stored/open-waits.ts';
import { readOwner } from './load/lineage.ts';
import { readAllWaits } from './place/all-rows.ts';
import { giveIdentity } from './place/identity.ts';
import type { WritePlace } from './place/place.ts';
import type { ExportAs, ExportReport } from './move/export-from.ts';
import type { ImportReport } from './move/import.ts';
import type { ImportAs } from './move/import-into.ts';
import { diffCheckpoints, type CheckpointDifference } from './read/diff-checkpoints.ts';
import { listCheckpoints, type CheckpointQuery, type ListedCheckpoint } from './read/list-checkpoints.ts';
import { listRuns, toListedRun, type ListedRun, type ListQuery } from './read/list-runs.ts';
import { showCheckpoint, walkLog, type CheckpointDetails, type LogEntry } from './read/log.ts';
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
import { pickPart, readStateAt, type StateAt } from './read/state-at.ts';
import { parsePath } from './read/state-path.ts';
import type { RecordedVisit } from './read/read-visit.ts';
import { releaseAllRuns, releaseRun, type ReleasedRun } from './read/release-runs.ts';
import { checkTagName, removeTag, tagCheckpoint, type Tag } from './read/tag-checkpoint.ts';
import type { CleanUpOptions, CleanUpReport, SettingsFor } from './shorten/clean-up.ts';
import type { KeepOptions, PrunedRuns } from './shorten/prune-runs.ts';
import type { RemovedCheckpoint } from './shorten/remove-checkpoint.ts';
import type { RemovedRuns } from './shorten/remove-run.ts';
import { checkpointId } from './stored/checkpoint.ts';
import type { Bisection } from './trace/bisect.ts';
import type { Blame } from './trace/blame.ts';
import type { RunGraph } from './trace/run-graph.ts';
import type { Finding } from './verify/finding.ts';
import type { Verification } from './verify/verify-place.ts';

/** What a difference was looked for between. */
export interface ComparedCheckpoints extends CheckpointDifference {
  readonly a: CheckpointPosition;
  readonly b: CheckpointPosition;
}

/** Which waits are listed. */
export interface WaitsQuery {
  /** Only those of this run. */
  readonly run?: CheckpointName;
  /** Also what waits for a time or a signal. Default: only questions, and effects in doubt. */
  readonly all?: boolean;
}

/**
 * The runs of a store and their histories. What may be long is given piece by piece, read as it is taken. Every method may throw
 * RUN_NOT_FOUND, CHECKPOINT_NOT_FOUND or CHECKPOINT_PRUNED for what it is asked about, CHECKPOINT_CORRUPT, CHECKPOINT_VERSION_UNKNOWN,
 * BLOB_NOT_FOUND or BLOB_CORRUPT for what is damaged, and what the store throws (STORE_UNAVAILABLE and its like).
 */
export class History<State = StateAt> {
  readonly #place: WritePlace;
  readonly #naming: NamingOptions;

  /** @param naming - whether beginnings of ids will do. Default: not, since those of a program's runs may begin alike */
  constructor(place: WritePlace, naming: NamingOptions = { byPrefix: false }) {
    this.#place = place;
    this.#naming = naming;
  }

  /** Runs, newest first. */
  list(query: ListQuery = {}): AsyncIterable<ListedRun> {
    return listRuns(this.#place, query);
  }

  /** One run as it stands in a list, by its id or its key. */
  async find(run: RunName): Promise<ListedRun> {
    return toListedRun(await this.#run(run), this.#place.isWorkerDead);
  }

  /** Checkpoints of all runs together, newest first. */
  checkpoints(query: CheckpointQuery = {}): AsyncIterable<ListedCheckpoint> {
    return listCheckpoints(this.#place, query);
  }

  /** The checkpoints of a run from the one named, newest first, and why each was made. `ancestors`: past the point where the run was forked. */
  async *log(
    name: CheckpointName,
    { ancestors = false }: { readonly ancestors?: boolean } = {},
  ): AsyncGenerator<LogEntry, void, undefined> {
    const { run, seq } = await this.#find(name);
    yield* walkLog(this.#place.store, run, { before: seq + 1, includeAncestors: ancestors });
  }

  /** Where a name leads: the run, the seq, and the checkpoint's id, which stays what it is whatever is forked or pruned around it. */
  async locate(
    name: CheckpointName,
  ): Promise<CheckpointPosition & { readonly checkpointId: string; readonly isHead: boolean }> {
    const { run, seq } = await this.#find(name);
    const { key } = await readOwner(this.#place.store, run, seq);
    return { runId: run.runId, seq, checkpointId: checkpointId(key, seq), isHead: seq === run.head };
  }

  /** All there is to say about one checkpoint. */
  async show(name: CheckpointName): Promise<CheckpointDetails> {
    const { run, seq } = await this.#find(name);
    return showCheckpoint(this.#place, run, seq);
  }

  /** The values of a run at a checkpoint. */
  async state(name: CheckpointName): Promise<State>;
  /** A part of them: `scratch.plan.0.title`, with `\.` for a dot within a key. @throws USAGE_INVALID there is no such part */
  async state(name: CheckpointName, path: string): Promise<unknown>;
  async state(name: CheckpointName, path?: string): Promise<unknown> {
    const state = await readStateAt(this.#place, await this.#find(name));
    return path === undefined ? state : pickPart(state, parsePath(path), nameOf(name));
  }

  /**
   * What is on record of the last visit of a node at a checkpoint, with its steps, questions and child runs.
   * @param node - its id, or its path from the root, with the names of child runs between
   * @throws USAGE_INVALID nothing is on record of it, or its outcome was taken over from another run
   */
  async visit(name: CheckpointName, node: string | readonly string[]): Promise<RecordedVisit> {
    const { readVisit } = await import('./read/read-visit.ts');
    return readVisit(this.#place, await this.#find(name), typeof node === 'string' ? [node] : node);
  }

  /** What differs between two checkpoints, of one run or of two. */
  async diff(a: CheckpointName, b: CheckpointName): Promise<ComparedCheckpoints> {
    const [before, after] = [await this.#find(a), await this.#find(b)];
    return {
      a: { runId: before.run.runId, seq: before.seq },
      b: { runId: after.run.runId, seq: after.seq },
      ...(await diffCheckpoints(this.#place.store, this.#place.blobs, before, after)),
    };
  }

  /**
   * Who last wrote each part of a value: the checkpoint, the node and the attempt; across forks, the ancestor's.
   * @param path - as for {@link History.state}: `scratch.plan`. @param inside - the child run whose value it is: node ids and names of
   *   child runs in turns. Default: the run itself
   * @throws USAGE_INVALID there is no such value
   */
  async blame(name: CheckpointName, path: string, inside: readonly string[] = []): Promise<Blame> {
    const { blameValue } = await import('./trace/blame.ts');
    return blameValue(this.#place, await this.#find(name), parsePath(path), inside);
  }
  /**
   * The first checkpoint at which a condition holds, up to the one named; ancestors are looked through first.
   * @param when - in the language of conditions, over `status`, `input`, `scratch`, `artifacts`, `diagnostics`, `outputs`, `failures`
   * @throws CONDITION_SYNTAX with line and column, before anything is read
   */
  async bisect(name: CheckpointName, when: string): Promise<Bisection> {
    const { bisect } = await import('./trace/bisect.ts');
    return bisect(this.#place, await this.#find(name), when);
  }
  /** The tree of a run and its forks, those of its ancestors included: where each left its original, and with what. */
  async graph(run: CheckpointName): Promise<RunGraph> {
    const { graphRuns } = await import('./trace/run-graph.ts');
    return graphRuns(this.#place, (await this.#find(run)).run);
  }
  /** What runs wait for, soonest due first. */
  async *waits({ run, all = false }: WaitsQuery = {}): AsyncGenerator<OpenQuestion, void, undefined> {
    const runId = run === undefined ? undefined : (await this.#find(run)).run.runId;
    const query = { ...(runId !== undefined && { runId }), ...(!all && { kinds: ['question', 'doubt'] as const }) };
    for await (const row of readAllWaits(this.#place, query)) yield readWait(row);
  }

  /** Names a checkpoint: `RUN@tag` means it from then on, and pruning keeps it. @throws ID_INVALID the tag would be read as another checkpoint */
  async tag(name: CheckpointName, tag: string): Promise<Tag> {
    checkTagName(tag);
    return tagCheckpoint(this.#place.store, await this.#find(name), tag);
  }

  /** Takes a tag from a run, whichever of its checkpoints has it. @returns what it named. @throws CHECKPOINT_NOT_FOUND none has it */
  async untag(run: CheckpointName, tag: string): Promise<Tag> {
    return removeTag(this.#place.store, (await this.#find(run)).run, tag);
  }

  /** Folds checkpoints of a run that nothing needs, to save room; no state that is kept changes. @throws CLAIM_TAKEN somebody works on it */
  async prune(run: RunName, options: KeepOptions = {}): Promise<PrunedRuns> {
    const { pruneOneRun } = await import('./shorten/prune-runs.ts');
    return pruneOneRun(this.#place, await this.#run(run), options);
  }

  /** The same for every run of the store but those that somebody works on, and removes large values that nothing refers to. */
  async pruneAll(options: KeepOptions = {}): Promise<PrunedRuns> {
    const { pruneAllRuns } = await import('./shorten/prune-runs.ts');
    return pruneAllRuns(this.#place, options);
  }

  /**
   * Keeps of the runs of each graph what settings say, and no more: as `cairn cleanup` does by the settings of files. The head of a run
   * that is not over stays, and so does what forks, tags and open work need.
   */
  async cleanUp(settings: SettingsFor, options: CleanUpOptions = {}): Promise<CleanUpReport> {
    const { cleanUpPlace } = await import('./shorten/clean-up.ts');
    return cleanUpPlace(this.#place, settings, options);
  }

  /** Removes a run with its history. @throws CLAIM_TAKEN; HISTORY_HAS_FORKS runs were forked from it, and `withForks` was not said */
  async remove(run: RunName, options: { readonly withForks?: boolean } = {}): Promise<RemovedRuns> {
    const { removeRun } = await import('./shorten/remove-run.ts');
    return removeRun(this.#place, (await this.#run(run)).runId, options);
  }

  /** Removes one checkpoint that nothing needs; the newest of a run removes the run. @throws CHECKPOINT_NEEDED, HISTORY_HAS_FORKS, CLAIM_TAKEN */
  async removeCheckpoint(name: CheckpointName): Promise<RemovedCheckpoint> {
    const { removeCheckpoint } = await import('./shorten/remove-checkpoint.ts');
    return removeCheckpoint(this.#place, await this.#find(name));
  }

  /** Lets a run go on that was restored from a backup and held since. @throws USAGE_INVALID it is not held */
  async release(run: RunName): Promise<ReleasedRun> {
    return releaseRun(this.#place, await this.#run(run));
  }

  /** The same for every run that is held. */
  async releaseAll(): Promise<readonly ReleasedRun[]> {
    return releaseAllRuns(this.#place);
  }

  /** Whether a run's history is whole: checksums, the chain, snapshots, blobs, open waits. Without a run: every run, and what the store stands on. */
  async verify(run?: CheckpointName): Promise<Verification> {
    const { verifyPlace } = await import('./verify/verify-place.ts');
    return verifyPlace(this.#place, run === undefined ? undefined : (await this.#find(run)).run);
  }

  /** Which runs need a person, and whether those that are not over can be taken up again. */
  async examine(): Promise<readonly Finding[]> {
    const { examinePlace } = await import('./verify/examine-place.ts');
    return examinePlace(this.#place);
  }

  /**
   * A run's history up to a checkpoint as text, in pieces, with its blobs, tags and messages; the report comes at the end. Values are
   * as they are stored, unless they are masked to be read.
   * @throws CLAIM_TAKEN to move what somebody works on; USAGE_INVALID it is to be moved and masked
   */
  async *export(name: CheckpointName, options: ExportAs = {}): AsyncGenerator<string, ExportReport, undefined> {
    const { exportFrom } = await import('./move/export-from.ts');
    return yield* exportFrom(this.#place, await this.#find(name), options);
  }

  /**
   * Takes in what {@link History.export} gave, in any pieces; one that was cut off can be repeated.
   * @throws INPUT_INVALID it is no export, or its end is missing; RUN_EXISTS another run has the id; CLAIM_TAKEN
   */
  async import(text: AsyncIterable<string>, options: ImportAs = {}): Promise<ImportReport> {
    const { importInto } = await import('./move/import-into.ts');
    return importInto(this.#place, text, options);
  }

  /** The name of the store's data to the outside, which idempotency keys derive from; empty: it has none. */
  async identity(): Promise<string> {
    return this.#place.store.readIdentity();
  }

  /** Gives the store's data another identity, by default a random one, for runs from now on. @throws USAGE_INVALID it is empty */
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
