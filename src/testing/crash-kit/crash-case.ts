/** What a crash kit is given, and what it reports. */
import type { Limits } from '../../engine/limits.ts';
import type { Graph } from '../../graph/graph.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Models } from '../../ports/model.ts';
import type { Store } from '../../ports/store.ts';
import type { CrashUsers } from './drive-run.ts';
import type { CrashPoint, CrashProcess } from './process-life.ts';

/** What is run and crashed. */
export interface CrashCase extends CrashUsers {
  /** Builds the graph for one life of a process. */
  readonly graph: (process: CrashProcess) => Graph;
  readonly input: unknown;
  /** What answers calls of models in one life of a process. Each call is one of a step or a node, so it is watched as those are. */
  readonly models?: (process: CrashProcess) => Models;
  /**
   * Dotted paths of the final state that differ from run to run, such as `outputs.fetch.headers.etag`: what stands there is not compared.
   * A `*` stands for one name or several. Dates as HTTP headers have them are never compared.
   */
  readonly varies?: readonly string[];
  /** Looks at what the ended run left outside. What it returns is compared, as JSON; a trial for which it throws is a fault. */
  readonly inspect?: () => unknown;
  /** False: what else was done before a failure depends on the schedule; only the end, and what was done twice, is compared. Default true. */
  readonly isScheduleFree?: boolean;
}

/** What the processes of one trial share: an empty store, and blobs; default: blobs in memory. */
export interface CrashStorage {
  readonly store: Store;
  readonly blobs?: BlobStore;
}

export interface CrashKitOptions {
  /** Opens empty storage for a trial. @param now - epoch ms, the trial's virtual time: leases are measured with it */
  readonly open: (now: () => number) => CrashStorage | Promise<CrashStorage>;
  /** Which trials to make, given the points there are. Default: one for each point. A trial of several points crashes its first processes in turn. */
  readonly choose?: (points: readonly CrashPoint[]) => readonly (readonly CrashPoint[])[];
  readonly limits?: Partial<Limits>;
}

export interface CrashFault {
  readonly points: readonly CrashPoint[];
  /** What differs and what was expected, one sentence each. */
  readonly faults: readonly string[];
}

export interface CrashReport {
  /** Trials whose point did not come: real processes do not share checkpoints alike each time. Absent: none. */
  readonly missed?: number;
  /** Points at which a process was killed. */
  readonly points: number;
  readonly trials: number;
  readonly faults: readonly CrashFault[];
}
