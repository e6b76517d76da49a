/** Counts the runs that are being advanced through a store, to decide whether a commit should wait for others. */
import type { RunKey } from '../../../ports/store.ts';

export class AdvancedRuns {
  readonly #keys = new Set<string>();

  add({ tenant, runId }: RunKey): void {
    this.#keys.add(`${tenant}\0${runId}`);
  }

  delete({ tenant, runId }: RunKey): void {
    this.#keys.delete(`${tenant}\0${runId}`);
  }

  /** Whether there is at most one. If this is wrong, it costs only speed. */
  get isOne(): boolean {
    return this.#keys.size <= 1;
  }
}
