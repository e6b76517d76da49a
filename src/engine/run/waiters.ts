/** The activations that wait, and which of them wait for somebody to say whether an effect happened. */
import type { Activation } from './frame-run.ts';

interface Waiter {
  readonly activation: Activation;
  readonly isInDoubt: boolean;
}

export class Waiters {
  readonly #byWait = new Map<string, Waiter>();
  /** Number of effects in doubt, by activation. Almost always empty. */
  readonly #doubts = new Map<Activation, number>();

  get(waitId: string): Activation | undefined {
    return this.#byWait.get(waitId)?.activation;
  }

  /** @param isInDoubt - whether the wait asks if an effect happened */
  set(waitId: string, activation: Activation, isInDoubt: boolean): void {
    this.delete(waitId);
    this.#byWait.set(waitId, { activation, isInDoubt });
    if (isInDoubt) this.#doubts.set(activation, (this.#doubts.get(activation) ?? 0) + 1);
  }

  delete(waitId: string): void {
    const waiter = this.#byWait.get(waitId);
    if (waiter === undefined) return;
    this.#byWait.delete(waitId);
    if (!waiter.isInDoubt) return;
    const left = (this.#doubts.get(waiter.activation) ?? 1) - 1;
    if (left === 0) this.#doubts.delete(waiter.activation);
    else this.#doubts.set(waiter.activation, left);
  }

  /** The activations that have an effect in doubt. */
  inDoubt(): Iterable<Activation> {
    return this.#doubts.keys();
  }
}
