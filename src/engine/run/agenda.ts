/** The work to be done for a run: its queues, and counts of work in progress. Others add to it; only the loop removes from it. */
import type { PlanStart } from '../plan/plan-step.ts';
import type { Activation, FrameRun } from './frame-run.ts';
import { Waiters } from './waiters.ts';

/** An activation that may start. These are queued in the order in which they were decided. */
export interface QueuedStart {
  readonly frameRun: FrameRun;
  readonly start: PlanStart;
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
  /** Number of parts of a node's work that are about to be told that they wait. */
  toldCount = 0;
  /** Activations asked to stop because their result is no longer needed. */
  readonly cancelled: Activation[] = [];
  /** Activations whose wait was closed, to be run again. */
  readonly wakeUps: Activation[] = [];
  /** Attempts whose function has returned while effects it started are running. They are checked again in each turn. */
  readonly holds: Map<Activation, () => void> = new Map();
  /** Frames of child runs that have not ended. */
  readonly childFrames: Set<FrameRun> = new Set();
  /** The activation waiting for each wait, by wait id. */
  readonly waiters: Waiters = new Waiters();
  /** Ids of waits whose due time has a timer in this process. */
  readonly armedWaits: Set<string> = new Set();
  /** Functions that cancel the timers of this process. */
  readonly timers: Set<() => void> = new Set();
  /** Number of pending retries and timers that keep the run from pausing. */
  heldCount = 0;
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
    activation.cancelTimer?.();
    activation.endSignal();
    activation.view.close();
    this.setBusy(activation, false);
    activation.frameRun.activations.delete(activation.node.index);
  }

  /** Whether something has to be started, woken, told or stopped. */
  get isDue(): boolean {
    const { launches, gates, gatedCount, toldCount, wakeUps, cancelled } = this;
    return launches.length + gates.length + gatedCount + wakeUps.length + cancelled.length + toldCount > 0;
  }
}
