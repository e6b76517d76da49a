/** Decides in which order a fork takes outcomes over: in recorded order, also within one checkpoint (X2.2). */
import type { Activation } from '../run/frame-run.ts';
import type { Recorded } from '../run/recorded-past.ts';
import type { RunCore } from '../run/run-core.ts';
import type { RecordedOutcomes } from './recorded-outcomes.ts';

/** An activation, and the record that it takes over. */
export interface PendingTake {
  readonly activation: Activation;
  readonly recorded: Recorded;
}

/** The activations that have something to take over. */
export class RecordedOrder {
  readonly #core: RunCore;
  readonly #outcomes: RecordedOutcomes;
  readonly #pending: PendingTake[] = [];

  constructor(core: RunCore, outcomes: RecordedOutcomes) {
    this.#core = core;
    this.#outcomes = outcomes;
  }

  get isEmpty(): boolean {
    return this.#pending.length === 0;
  }

  add(pending: PendingTake): void {
    this.#pending.push(pending);
  }

  takeAll(): readonly PendingTake[] {
    return this.#pending.splice(0);
  }

  /** The earliest recorded one that does not have to wait for another. */
  next(): PendingTake | undefined {
    this.#pending.sort((a, b) => a.recorded.seq - b.recorded.seq || a.recorded.index - b.recorded.index);
    const index = this.#pending.findIndex((pending) => !this.#isPreceded(pending));
    return index < 0 ? undefined : this.#pending.splice(index, 1)[0];
  }

  /** Whether an activation recorded earlier is running now. Activations that contain this one do not count, since they wait for it. */
  #isPreceded({ activation, recorded }: PendingTake): boolean {
    for (const frameRun of this.#core.frames()) {
      for (const other of frameRun.activations.values()) {
        if (other === activation || !other.isBusy || other.phase === 'left' || this.#waits(other)) continue;
        if (other.path.every((part, index) => activation.path[index] === part)) continue;
        const [own] = this.#outcomes.of(other);
        if (own !== undefined && own.run === recorded.run && isBefore(own, recorded)) return true;
      }
    }
    return false;
  }

  #waits(activation: Activation): boolean {
    return this.#pending.some((pending) => pending.activation === activation);
  }
}

function isBefore(one: Recorded, other: Recorded): boolean {
  return one.seq < other.seq || (one.seq === other.seq && one.index < other.index);
}
