/** The id port: new ids and random numbers. Tests use a seeded one. */

/** Ids of runs and workers, and random numbers. Nothing here throws. */
export interface Ids {
  /** Makes a UUIDv7 for a time in epoch ms: of a run, and for `ctx.uuid()`. */
  createRunId(nowMs: number): string;
  /** Id of this process as a worker, unique for each process start. It says who holds a claim. */
  readonly workerId: string;
  /** A random number, uniform in [0, 1). For retry jitter and `ctx.random()`. */
  random(): number;
  /**
   * Whether the worker with this id is known to be dead; `undefined` if not known. It lets a local command take over the runs of a killed
   * process at once.
   */
  isWorkerDead(workerId: string): boolean | undefined;
  /**
   * Notes that this worker has closed, though its process may live on: it counts as dead as soon as nothing of it runs. Absent where nobody
   * asks for workers of the same process.
   *
   * @param isIdle - whether no effect of it is running any more
   */
  close?(isIdle: () => boolean): void;
}
