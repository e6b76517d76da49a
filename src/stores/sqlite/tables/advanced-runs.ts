/** Which runs are advanced through a store: whether a commit has company worth waiting for. */
import type { RunKey } from '../../../ports/store.ts';

export class AdvancedRuns {
  readonly #keys = new Set<string>();

  add({ tenant, runId }: RunKey): void {
    this.#keys.add(`${tenant}\0${runId}`);
  }

  delete({ tenant, runId }: RunKey): void {
    this.#keys.delete(`${tenant}\0${runId}`);
  }

  /** At most one: a wrong count costs speed, and nothing else. */
  get isOne(): boolean {
    return this.#keys.size <= 1;
  }
}
