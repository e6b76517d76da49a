/** What a stage sees of the pipeline that it runs. One that restarts is in a run within that, which changes with each restart. */
import type { ChildHandle, StateView } from '../../../../graph/contracts/node-contract.ts';
import type { TextWorkflow } from '../../../text-workflow.ts';
import { failuresIn } from '../stage/failures-in.ts';
import type { StageFailure } from '../stage/stage-outcome.ts';
import { bodyName } from './restarts.ts';

export class SeenChild {
  readonly #handle: ChildHandle;
  /** The node that runs the stages of one that restarts; undefined of any other. */
  readonly #wrapper: string | undefined;
  /** How often it restarted, as far as was seen. */
  #restarts = 0;

  constructor({ graph }: TextWorkflow, handle: ChildHandle) {
    this.#handle = handle;
    this.#wrapper = graph.nodes.find(({ type }) => type === 'restarts')?.id;
  }

  /** The state of its stages now. */
  async state(): Promise<StateView> {
    return (await this.#newest()) ?? this.#handle.state();
  }

  /** What failed so far in all runs of one that restarts; undefined of any other. */
  async failures(): Promise<readonly StageFailure[] | undefined> {
    const newest = await this.#newest();
    if (newest === null) return undefined;
    const failures: StageFailure[] = [];
    for (let count = 0; count < this.#restarts; count += 1) {
      const state = await this.#after(count);
      if (state !== null) failures.push(...failuresIn({ status: 'completed', state }));
    }
    return [...failures, ...failuresIn({ status: 'cancelled', state: newest })];
  }

  async #newest(): Promise<StateView | null> {
    let newest = await this.#after(this.#restarts);
    while (newest !== null) {
      const next = await this.#after(this.#restarts + 1);
      if (next === null) break;
      this.#restarts += 1;
      newest = next;
    }
    return newest;
  }

  /** The run that it is in after so many restarts, or was. */
  async #after(restarts: number): Promise<StateView | null> {
    return this.#wrapper === undefined ? null : this.#handle.stateIn(this.#wrapper, bodyName(restarts));
  }
}
