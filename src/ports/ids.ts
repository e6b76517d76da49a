/** The id port: fresh identities and randomness. Seeded in tests. */

/** Identities of runs and workers, and randomness. Nothing here throws. */
export interface Ids {
  /** A UUIDv7 at the given time, epoch ms. */
  createRunId(nowMs: number): string;
  /** Unique per process start; names who holds a claim. */
  readonly workerId: string;
  /** Uniform in [0, 1): retry jitter only. */
  random(): number;
  /** Whether a worker of this name is known to have died; `undefined`: not known. Lets local commands take over a killed process's runs at once. */
  isWorkerDead(workerId: string): boolean | undefined;
}
