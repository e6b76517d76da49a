/** What the functions of a graph under test see of the process they run in, so that a killed process does nothing more. */
import type { EffectOracle } from './effect-oracle.ts';

/** One life of a process: a graph under test is built anew for each, and reaches the outside through it only. */
export interface CrashProcess {
  /** Where effects go. A killed process cannot reach it any more: `apply` throws then. */
  readonly oracle: EffectOracle;
  /** Work that takes time on the process's clock; never resolves in a killed process. */
  sleep(delayMs: number): Promise<void>;
}
