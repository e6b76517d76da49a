/** What the parts of an advancing run share: its tree, its frames, its commits, its queues. */
import type { BlobStore } from '../../ports/blobs.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Models } from '../../ports/model.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { Claim, RunRow, Store } from '../../ports/store.ts';
import type { DeltaBuilder } from '../../state/delta.ts';
import type { NodeRecord, RunTree } from '../../state/tree.ts';
import type { Activation, FrameRun } from './frame-run.ts';
import type { LiveEvent } from '../api.ts';
import type { Committer } from './committer.ts';
import type { EffectsInFlight } from './effects-in-flight.ts';
import type { Limits } from '../limits.ts';
import type { PlanStart } from '../plan/plan.ts';
import { redactorOf } from './redact.ts';
import type { RecordedPast } from './recorded-past.ts';

/** The outside, as one value. */
export interface EngineEnvironment {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly secrets: Secrets | undefined;
  readonly models: Models | undefined;
  readonly limits: Limits;
  readonly tenant: string;
  readonly leaseMs: number;
  /** Keys of effects that run in this process now, whoever advances their runs. */
  readonly effectsInFlight: EffectsInFlight;
}

/** An activation that may start, in order of decision. */
export interface QueuedStart {
  readonly frameRun: FrameRun;
  readonly start: PlanStart;
}

type RootTable = 'failures' | 'waits' | 'replayed' | 'supplied' | 'signals';

/** One per run that is advanced here. */
export class RunCore {
  readonly env: EngineEnvironment;
  readonly run: RunRow;
  readonly claim: Claim;
  readonly root: RunTree;
  readonly delta: DeltaBuilder;
  /** Set once by the runner, before anything moves. */
  committer!: Committer;
  rootFrame!: FrameRun;
  replay: RecordedPast | undefined;

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
  /** Attempts whose function is over and whose effects have not ended: looked at again each turn. */
  readonly holds: Map<Activation, () => void> = new Map();
  readonly childFrames: Set<FrameRun> = new Set();
  readonly armedWaits: Set<string> = new Set();
  /** The head this process loaded: views at or after it are the present state. */
  resumedSeq = 0;
  readonly pinnedRoots: Map<number, Promise<RunTree>> = new Map();
  readonly heldTimers: Set<() => void> = new Set();
  /** Activations whose view is not part of a checkpoint yet. */
  readonly unsealed: Set<Activation> = new Set();
  /** Attempts being worked on. */
  busyCount = 0;
  /** Pending retries and timers held in this process. */
  timerCount = 0;
  /** Set when the next turn must make a checkpoint, whatever the policy. */
  mustCommit = false;
  /** Set when what follows must wait until the next checkpoint is durable: it holds an effect's outcome (E3). */
  holdsEffect = false;
  /** Some value of the tree is kept as a blob, or may be. */
  hasBlobs = false;
  isFailing = false;
  isCancelling = false;
  isClosing = false;
  /** Monotonic ms until which the lease certainly holds. */
  leaseUntilMs = 0;
  /** Nothing is run or written: a preview (X5). */
  isDry = false;
  /** Whether the fork that is previewed changes anything. Undefined: the run's own first checkpoint tells. */
  isPatched: boolean | undefined;
  /** Told, in a preview, of an effect that would be judged. */
  onDoubt: (activation: Activation, record: NodeRecord) => void = () => {};
  /** Told when an outcome that a fork sets stands in for an activation. */
  onSupplied: (activation: Activation) => void = () => {};
  /** Told when a recorded outcome stands in for an activation. */
  onReplay: (activation: Activation, from: { readonly runId: string; readonly seq: number }) => void = () => {};
  /** Who waits here for which wait. */
  readonly waiters: Map<string, Activation> = new Map();

  /** Set by the runner: asks for a turn of the loop. */
  requestTurn: () => void = () => {};
  /** Set by the runner: makes a checkpoint of what is pending, now. */
  seal: () => void = () => {};
  /** Set by the runner: asks for a checkpoint at the end of this turn of the event loop. */
  requestFlush: () => void = () => {};
  /** Set by the runner: takes the messages that are there. */
  readMessages: () => Promise<void> = () => Promise.resolve();
  /** Set by the runner: resolves when everything noted so far is durable. */
  durable: () => Promise<void> = () => Promise.resolve();
  /** Set by the runner: resolves when work may run ahead again. */
  drained: () => Promise<void> = () => Promise.resolve();
  /** Set by the runner: the run cannot be advanced here any further. */
  fail: (error: unknown) => void = () => {};
  /** Set by the runner: whether anybody hears live events. */
  isWatched: () => boolean = () => false;
  publishLive: (type: LiveEvent['type'], activation: Activation, detail: unknown) => void = () => {};

  constructor(options: { env: EngineEnvironment; run: RunRow; claim: Claim; root: RunTree; delta: DeltaBuilder }) {
    this.env = options.env;
    this.redact = redactorOf(options.env);
    this.run = options.run;
    this.claim = options.claim;
    this.root = options.root;
    this.delta = options.delta;
  }

  get runId(): string {
    return this.run.runId;
  }

  /** The run is failing, and nothing worse. */
  get isOnlyFailing(): boolean {
    return this.isFailing && !this.isCancelling && !this.isClosing && this.committer.broken === undefined;
  }

  /** No new activation starts any more. */
  get isStopping(): boolean {
    return this.isFailing || this.isCancelling || this.isClosing || this.committer.broken !== undefined;
  }

  /** The root frame and every live child frame. */
  frames(): readonly FrameRun[] {
    return [this.rootFrame, ...this.childFrames];
  }

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

  /** Keys whose values are redacted before anything is written. */
  readonly redact: (key: string) => boolean;

  setRootField(name: string, value: unknown, json: string): void {
    (this.root as unknown as Record<string, unknown>)[name] = value;
    this.delta.set(`["${name}"]`, json);
  }

  deleteRootField(name: string): void {
    delete (this.root as unknown as Record<string, unknown>)[name];
    this.delta.delete(`["${name}"]`);
  }

  /** Sets one key of a root table (`failures`, `waits`, `replayed`), creating the table if need be. */
  setRootEntry(table: RootTable, key: string, value: unknown, json: string): void {
    let entries: Record<string, unknown> | undefined = this.root[table];
    if (entries === undefined) {
      entries = {};
      this.setRootField(table, entries, '{}');
    }
    Object.defineProperty(entries, key, { value, writable: true, enumerable: true, configurable: true });
    this.delta.set(`["${table}",${JSON.stringify(key)}]`, json);
  }

  deleteRootEntry(table: RootTable, key: string): void {
    const entries: Record<string, unknown> | undefined = this.root[table];
    if (entries === undefined || !Object.hasOwn(entries, key)) return;
    delete entries[key];
    this.delta.delete(`["${table}",${JSON.stringify(key)}]`);
  }
}
