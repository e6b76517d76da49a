/** The work to be done for a run: its queues, and counts of work in progress. Others add to it; only the loop removes from it. */
import type { Activation, FrameRun } from './loop.ts';
import type { PlanStart } from '../plan/plan-step.ts';
import { Charge, stepChargeOf } from './attempt-scope.ts';

// The activations that wait, and which of them wait for somebody to say whether an effect happened.

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
    const remaining = (this.#doubts.get(waiter.activation) ?? 1) - 1;
    if (remaining === 0) this.#doubts.delete(waiter.activation);
    else this.#doubts.set(waiter.activation, remaining);
  }

  /** The activations that have an effect in doubt. */
  inDoubt(): Iterable<Activation> {
    return this.#doubts.keys();
  }
}

/** An activation that may start. These are queued in the order in which they were decided. */
export interface QueuedStart {
  readonly frameRun: FrameRun;
  readonly start: PlanStart;
  /** Whether it was due already when this process took the run from one that was at work on it, so that it may have begun there. */
  readonly mayHaveBegun?: true;
}

/** One for each run being advanced. */
export class Agenda {
  readonly queue: QueuedStart[] = [];
  /** Activations whose function is started next. */
  readonly launches: Activation[] = [];
  /** Activations that start when the next checkpoint is durable. */
  readonly gates: Activation[] = [];
  /** How many of these wait for a checkpoint that was made already. */
  gatedCount = 0;
  /** Number of parts of a node's work whose `onWaiting` is about to be called. */
  notifyingCount = 0;
  /** Activations to be stopped because their result is no longer needed. */
  readonly cancelled: Activation[] = [];
  /** Activations whose wait was closed, to be run again. */
  readonly wakeUps: Activation[] = [];
  /** Attempts whose function has returned while effects it started are running. They are checked again in each turn. */
  readonly holds: Map<Activation, () => void> = new Map();
  /** Frames of child runs that have not ended. */
  readonly childFrames: Set<FrameRun> = new Set();
  /** The activation waiting for each wait, by wait id. */
  readonly waiters: Waiters = new Waiters();
  /** The waits whose due time has a timer in this process, by id, with when it fires (monotonic ms). */
  readonly armedWaits: Map<string, number> = new Map();
  /** What waits for places of limits: functions that end it, because the run is given back as it is, and since when (monotonic ms). */
  readonly placeWaits: Map<() => void, number> = new Map();
  /** Functions that cancel the timers of this process. */
  readonly timers: Set<() => void> = new Set();
  /** Number of pending retries and timers that keep the run from pausing. */
  keepAliveCount = 0;
  /** Number of activations whose earlier view is being loaded. They are decided about afterwards (E9). */
  openingCount = 0;
  /** Number of attempts in progress. */
  busyCount = 0;

  setBusy(activation: Activation, isBusy: boolean): void {
    if (activation.isBusy === isBusy) return;
    activation.isBusy = isBusy;
    this.busyCount += isBusy ? 1 : -1;
  }

  /** Number of places taken: by attempts in progress, and by what waits for a word about its effect in doubt (E1.3). */
  get placesTaken(): number {
    let taken = this.busyCount;
    for (const { isBusy, isOver } of this.waiters.inDoubt()) if (!isBusy && !isOver) taken += 1;
    return taken;
  }

  /** Removes an activation that has settled, or will not settle in this process. */
  forget(activation: Activation): void {
    activation.phase = 'settled';
    activation.permit?.leave();
    activation.cancelTimer?.();
    activation.endSignal();
    activation.scope?.end();
    activation.view.close();
    this.setBusy(activation, false);
    activation.frameRun.activations.delete(activation.node.index);
  }

  /** Whether something has to be started, woken, notified or stopped. */
  get isDue(): boolean {
    const { launches, gates, gatedCount, notifyingCount, wakeUps, cancelled } = this;
    return launches.length + gates.length + gatedCount + wakeUps.length + cancelled.length + notifyingCount > 0;
  }
}

/** One for each run being advanced: the attempts that have spent something or have a limit, in the order in which they began to. */
export class Ledger {
  readonly #open = new Set<Charge>();
  readonly #waiting: (() => void)[] = [];
  #isChanged = false;

  open(charge: Charge): void {
    this.#open.add(charge);
  }

  close(charge: Charge): void {
    charge.isOver = true;
    if (this.#open.delete(charge)) this.#isChanged = true;
  }

  /** Calls back when a budget was raised or an attempt has ended, for work that a budget keeps from starting. */
  whenChanged(look: () => void): void {
    this.#waiting.push(look);
  }

  /** Notes that a budget has changed. */
  change(): void {
    this.#isChanged = true;
  }

  /** Makes these callbacks, once for each turn, if something has changed. */
  lookAgain(): void {
    if (!this.#isChanged) return;
    this.#isChanged = false;
    for (const look of this.#waiting.splice(0)) look();
  }

  /** All costs in progress, or those of an activation and of child runs below it. */
  charges(below?: Activation): readonly Charge[] {
    if (this.#open.size === 0) return [];
    return [...this.#open].filter(({ activation }) => below === undefined || isBelow(activation, below));
  }

  /** The account for a call of an activation's function: that of the step it is made in, or the visit's own. */
  chargeOf(activation: Activation): Charge {
    return stepChargeOf(activation) ?? this.ownOf(activation) ?? new Charge(activation);
  }

  /** What the attempt of a visit has spent outside of its steps. */
  ownOf(activation: Activation): Charge | undefined {
    if (this.#open.size === 0) return undefined;
    return [...this.#open].find((charge) => charge.activation === activation && charge.step === undefined);
  }
}

function isBelow(activation: Activation, top: Activation): boolean {
  for (let at: Activation | undefined = activation; at !== undefined; at = at.frameRun.starter)
    if (at === top) return true;
  return false;
}
