/** What the crash kit is given, and what it reports. */
import type { Limits } from '../../engine/limits.ts';
import type { Graph } from '../../graph/graph.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Models } from '../../ports/model.ts';
import type { Store } from '../../ports/store.ts';
import type { CrashUsers } from './drive-run.ts';
import type { CrashPoint, CrashProcess } from './process-life.ts';

/** The run to crash. */
export interface CrashCase extends CrashUsers {
  /** Builds the graph for one process. */
  readonly graph: (process: CrashProcess) => Graph;
  readonly input: unknown;
  /** Makes the models for one process. Each model call belongs to a step or node, and is watched as part of it. */
  readonly models?: (process: CrashProcess) => Models;
  /**
   * Dotted paths of the final state that differ from run to run and are not compared, such as `outputs.fetch.headers.etag`. A `*` stands
   * for one or more names. Dates in the format of HTTP headers are never compared.
   */
  readonly varies?: readonly string[];
  /** Examines what the ended run left outside of the store. Its result is compared, as JSON. If it throws, the trial has a fault. */
  readonly inspect?: () => unknown;
  /**
   * Whether the work done is the same for every schedule. If false, what else was done before a failure may vary; only the end, and effects
   * that happened twice, are compared. Default true.
   */
  readonly isScheduleFree?: boolean;
  /** Whether the run is meant to end as failed or cancelled when nothing kills it. If not, such an end is a fault. Default false. */
  readonly mayFail?: boolean;
}

export const caseNames: readonly string[] = Object.keys({
  answer: true,
  signal: true,
  decide: true,
  graph: true,
  input: true,
  models: true,
  varies: true,
  inspect: true,
  isScheduleFree: true,
  mayFail: true,
} satisfies Record<keyof CrashCase, true>);

/** Storage shared by the processes of one trial: an empty store, and blobs. Default: blobs in memory. */
export interface CrashStorage {
  readonly store: Store;
  readonly blobs?: BlobStore;
}

export interface CrashKitOptions {
  /** Opens empty storage for a trial. @param now - returns the trial's virtual time in epoch ms, by which leases are measured */
  readonly open: (now: () => number) => CrashStorage | Promise<CrashStorage>;
  /**
   * Chooses the trials, given all crash points. Default: one trial for each point. In a trial with several points, its first processes are
   * killed at these in turn.
   */
  readonly choose?: (points: readonly CrashPoint[]) => readonly (readonly CrashPoint[])[];
  readonly limits?: Partial<Limits>;
}

export interface CrashFault {
  readonly points: readonly CrashPoint[];
  /** The differences from what was expected, one sentence each. */
  readonly faults: readonly string[];
}

export interface CrashReport {
  /** Trials whose crash point was never reached, because real processes do not group checkpoints the same way each time. Absent: none. */
  readonly missed?: number;
  /** Number of points at which a process can be killed. */
  readonly points: number;
  readonly trials: number;
  readonly faults: readonly CrashFault[];
}
