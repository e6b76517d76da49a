/** What is to be done for a run: its queues, and the counts that say whether something is under way. Others fill it; only the loop empties it. */
import type { PlanStart } from '../plan/plan-step.ts';
import type { Activation, FrameRun } from './frame-run.ts';

/** An activation that may start, in order of decision. */
export interface QueuedStart {
  readonly frameRun: FrameRun;
  readonly start: PlanStart;
}

/** One per advancing run. */
export class Agenda {
  readonly queue: QueuedStart[] = [];
  /** Activations whose function starts now. */
  readonly launches: Activation[] = [];
  /** Activations that start when the next checkpoint is durable. */
  readonly gates: Activation[] = [];
  /** Of those, how many wait for a checkpoint already made. */
  gatedCount = 0;
  /** Activations asked to stop because their result is no longer needed. */
  readonly cancelled: Activation[] = [];
  /** Left activations whose wait was closed: they run again. */
  readonly wakeUps: Activation[] = [];
  /** Attempts whose function has returned while effects that it started still run: looked at again each turn. */
  readonly holds: Map<Activation, () => void> = new Map();
  /** Frames of child runs that have not ended. */
  readonly childFrames: Set<FrameRun> = new Set();
  /** Who waits here for which wait, by wait id. */
  readonly waiters: Map<string, Activation> = new Map();
  /** Waits whose due time has a timer here. */
  readonly armedWaits: Set<string> = new Set();
  /** Cancels each timer that is held here. */
  readonly timers: Set<() => void> = new Set();
  /** Pending retries and timers for which the run does not pause. */
  heldCount = 0;
  /** Activations whose earlier view is being read back: they are decided about when it is there (E9). */
  openingCount = 0;
  /** Attempts being worked on. */
  busyCount = 0;

  setBusy(activation: Activation, isBusy: boolean): void {
    if (activation.isBusy === isBusy) return;
    activation.isBusy = isBusy;
    this.busyCount += isBusy ? 1 : -1;
  }

  /** An activation is over here: it has settled, or will not settle in this process. */
  forget(activation: Activation): void {
    activation.phase = 'settled';
    activation.cancelTimer?.();
    activation.view.close();
    this.setBusy(activation, false);
    activation.frameRun.activations.delete(activation.node.index);
  }

  /** Whether something has yet to be started, woken or stopped. */
  get isDue(): boolean {
    const { launches, gates, gatedCount, wakeUps, cancelled } = this;
    return launches.length + gates.length + gatedCount + wakeUps.length + cancelled.length > 0;
  }
}
