/** Collects the next checkpoint of a run: ops, the parts of its change, and changes of the store's indexes. */
import type { ChangePart } from '../../history/stored/change.ts';
import { waitRowOf } from '../../history/stored/messages.ts';
import type { Commit, RunKey, StoredStatus, WaitRow } from '../../ports/store.ts';
import type { RunTree, WaitRecord } from '../../state/tree.ts';
import { TreeWriter } from '../../state/tree-writer.ts';
import type { Activation } from './loop.ts';
import { CairnError } from '../../errors.ts';
import type { Clock } from '../../ports/clock.ts';

/** What a commit contains in addition to its checkpoint. */
type IndexChanges = {
  -readonly [Name in 'status' | 'graphHash' | 'openWaits' | 'closeWaits' | 'takeMessages']?: Commit[Name];
};

/** Everything collected, ready to be encoded. */
export interface TakenDraft {
  readonly changeJson: string;
  readonly ops: string;
  /** Updates as nodes gave them, as JSON, where they cannot be derived from the ops (X2). */
  readonly updates: string | undefined;
  readonly index: Readonly<IndexChanges> | undefined;
}

/** One for each run being advanced. Code that changes the run notes the reason here in the same turn. */
export class Draft extends TreeWriter {
  /** Whether the next turn must make a checkpoint, whatever the policy. */
  mustCommit = false;
  /** Whether what follows must wait until the next checkpoint is durable, because it holds an effect's outcome (E3). */
  holdsEffect = false;
  /** Whether the next checkpoint must survive a power cut. */
  wantsPower = false;
  /** Whether some value of the tree is, or may be, stored as a blob. */
  hasBlobs = false;
  /** Activations whose seen state is not in a checkpoint yet (E9). */
  readonly unsealed: Set<Activation> = new Set();
  readonly #run: RunKey;
  #parts: string[] = [];
  #updates: [string, string][] = [];
  #settles = 0;
  #mustSaveUpdates = false;
  #index: IndexChanges | undefined;
  #openWaits: WaitRow[] = [];
  #closeWaits: string[] = [];
  #takeMessages: number[] = [];

  constructor(run: RunKey, root: RunTree) {
    super(root);
    this.#run = run;
  }

  /** Adds a part to the change. */
  note(part: ChangePart): void {
    this.#parts.push(JSON.stringify(part));
  }

  /** Adds the part of a settled visit, as JSON text because it is the most frequent part. */
  noteText(text: string): void {
    this.#parts.push(text);
  }

  /** Counts an outcome, and keeps its original updates in case they cannot be derived from the ops (X2). */
  noteOutcome(pathKey: string, updatesJson: string | undefined, isTransformed: boolean): void {
    this.#settles += 1;
    if (updatesJson !== undefined) this.#updates.push([pathKey, updatesJson]);
    if (isTransformed) this.#mustSaveUpdates = true;
  }

  /** Opens a wait, in the tree and in the index. */
  openWait(waitId: string, wait: WaitRecord): void {
    this.set(['waits', waitId], wait);
    this.openWaitRow(waitId, wait);
  }

  /** Closes a wait, in the tree and in the index. */
  closeWait(waitId: string): void {
    this.delete(['waits', waitId]);
    this.closeWaitRow(waitId);
  }

  /** Adds a wait of the tree to the index again, because its run goes on. */
  openWaitRow(waitId: string, wait: WaitRecord): void {
    this.#indexChanges();
    this.#openWaits.push(waitRowOf(this.#run, waitId, wait));
  }

  /** Removes a wait from the index. The tree keeps it, because the run may be resumed. */
  closeWaitRow(waitId: string): void {
    this.#indexChanges();
    const opened = this.#openWaits.findIndex((row) => row.waitId === waitId);
    if (opened >= 0) this.#openWaits.splice(opened, 1);
    else this.#closeWaits.push(waitId);
  }

  takeMessage(id: number): void {
    this.#indexChanges();
    this.#takeMessages.push(id);
  }

  /** Sets the run's status in the tree and in the index. */
  setStatus(status: StoredStatus): void {
    this.set(['status'], status);
    this.#indexChanges().status = status;
  }

  setGraphHash(hash: string): void {
    this.#indexChanges().graphHash = hash;
  }

  /** Whether the next checkpoint would contain anything. */
  get isPending(): boolean {
    return this.#parts.length > 0 || !this.delta.isEmpty || this.#takeMessages.length > 0;
  }

  get partCount(): number {
    return this.#parts.length;
  }

  /** Takes everything collected. What comes later belongs to the next checkpoint. */
  take(): TakenDraft {
    const changeJson = `[${this.#parts.join(',')}]`;
    this.#parts = [];
    return { changeJson, ops: this.delta.take(), updates: this.#takeUpdates(), index: this.#takeIndex() };
  }

  #takeUpdates(): string | undefined {
    const needed = this.#mustSaveUpdates || this.#settles > 1;
    const updates =
      needed && this.#updates.length > 0
        ? `{${this.#updates.map(([key, json]) => `${JSON.stringify(key)}:${json}`).join(',')}}`
        : undefined;
    if (this.#updates.length > 0) this.#updates = [];
    this.#settles = 0;
    this.#mustSaveUpdates = false;
    return updates;
  }

  #indexChanges(): IndexChanges {
    return (this.#index ??= {});
  }

  #takeIndex(): Readonly<IndexChanges> | undefined {
    const changes = this.#index;
    if (changes === undefined) return undefined;
    this.#index = undefined;
    if (this.#openWaits.length > 0) changes.openWaits = this.#openWaits.splice(0);
    if (this.#closeWaits.length > 0) changes.closeWaits = this.#closeWaits.splice(0);
    if (this.#takeMessages.length > 0) changes.takeMessages = this.#takeMessages.splice(0);
    return changes;
  }
}

// Whether a run goes on here and, if not, why it stops.

/** A moment by both clocks, in ms. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonic(), wallMs: clock.now() };
}

/** How long ago a moment was, by the clock that says more: the monotonic one stands still while a machine sleeps, the wall clock may be put back. */
export function elapsedMs(clock: Clock, { monotonicMs, wallMs }: Moment): number {
  return Math.max(clock.monotonic() - monotonicMs, clock.now() - wallMs);
}

const reasons = {
  claimed: 'another worker has claimed it',
  expired: 'its lease ran out before it could be renewed',
  closed: 'its engine was closed',
  yielded: 'its slice of time is over; advance it again',
} as const;

/** The error of a run that this process may not advance any more. It says what is known here, and no more: nobody may have the run. */
export function claimLost(runId: string, reason: keyof typeof reasons, cause?: unknown): CairnError {
  return new CairnError('CLAIM_LOST', { runId, reason: reasons[reason] }, cause === undefined ? {} : { cause });
}

/** Sorted by priority: a later one replaces earlier ones, and none is undone. */
const phases = ['going', 'failing', 'yielding', 'closing', 'cancelling', 'ended', 'broken'] as const;

/**
 * `going`: new activations start. `failing`: there was an unhandled failure; running work may finish (G8). `yielding`: the time of this
 * slice is over; running work may finish, and then its claim is released (HO1). `closing`: this process releases the run as it is.
 * `cancelling`: the run was cancelled (E7). `ended`: its end or its pause is recorded. `broken`: the run cannot be advanced here, because
 * its claim or its store is lost.
 */
export type Phase = (typeof phases)[number];

/** One for each run being advanced. */
export class Standing {
  #phase: Phase = 'going';
  readonly #leaseMs: number;
  #leasedAt: Moment;
  #whenRenewed: (() => void)[] = [];
  /** Who knows whether the lease was renewed while the event loop was blocked. */
  elsewhere: { renewedByGuard(): Moment | undefined } | undefined;

  /** @param leasedAt - when the claim was requested; the store's lease began no earlier */
  constructor(leaseMs: number, leasedAt: Moment) {
    this.#leaseMs = leaseMs;
    this.#leasedAt = leasedAt;
  }

  /** @param requestedAt - when the renewal was requested */
  renewLease(requestedAt: Moment): void {
    this.#leasedAt = requestedAt;
    for (const look of this.#whenRenewed.splice(0)) look();
  }

  /** Whether the lease may have run out (O2). */
  isLeaseOver(clock: Clock): boolean {
    if (!this.#isOver(clock)) return false;
    const elsewhere = this.elsewhere?.renewedByGuard();
    if (elsewhere === undefined || elsewhere.monotonicMs <= this.#leasedAt.monotonicMs) return true;
    this.#leasedAt = elsewhere;
    return this.#isOver(clock);
  }

  #isOver(clock: Clock): boolean {
    return elapsedMs(clock, this.#leasedAt) >= this.#leaseMs;
  }

  /** Calls back when the lease holds: at once, or as soon as it was renewed. Never if the claim is lost. */
  whenLeased(clock: Clock, callback: () => void): void {
    if (this.isLeaseOver(clock)) this.#whenRenewed.push(() => this.whenLeased(clock, callback));
    else callback();
  }

  get phase(): Phase {
    return this.#phase;
  }

  /** Stops the run for a reason, unless it stops for one of higher priority. */
  stop(phase: Exclude<Phase, 'going'>): void {
    if (phases.indexOf(phase) > phases.indexOf(this.#phase)) this.#phase = phase;
  }

  /** Whether no new activation may start. */
  get isStopping(): boolean {
    return this.#phase !== 'going';
  }

  /** Whether running work may end and be recorded, and announced effects may start: a failure elsewhere does not prevent it (G8). */
  get mayFinish(): boolean {
    return phases.indexOf(this.#phase) <= phases.indexOf('yielding');
  }

  /** Whether the time of this slice is over: functions stop at their next call, and the claim is released (HO1). */
  get isYielding(): boolean {
    return this.#phase === 'yielding';
  }

  get isCancelling(): boolean {
    return this.#phase === 'cancelling';
  }
}

// Lets the rest of the process have its turn: timers, signals, leases and other runs, whatever the nodes of a run are (E1.4).

/** How long, in ms, all runs of an engine may work in one turn of the event loop. */
const longestTurnMs = 20;
/** As many launches and calls end a turn, too: a clock of tests stands still while work is done. */
const mostPerTurn = 512;

/**
 * One for each engine, since its runs share the event loop. Work that goes from one promise to the next never leaves a turn of the event
 * loop by itself, so whoever works asks before each piece whether the turn is over, and rests if it is.
 */
export class Pace {
  readonly #clock: Clock;
  /** When work began in this turn of the event loop, in monotonic ms; undefined if none has. */
  #begunAt: number | undefined;
  #count = 0;
  readonly #resting: (() => void)[] = [];
  /** Whether a call was let go on whose function has not done so yet: it goes on in a microtask. */
  #isCallDue = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether enough was done in this turn of the event loop. The first who asks in a turn hears no. */
  isOver(): boolean {
    if (this.#begunAt === undefined) {
      this.#begunAt = this.#clock.monotonic();
      this.#clock.defer(this.#onTurn);
      return false;
    }
    this.#count += 1;
    return this.#count >= mostPerTurn || this.#clock.monotonic() - this.#begunAt >= longestTurnMs;
  }

  /** Calls back in a later turn. Who came first is called first, so no run is passed over. */
  rest(goOn: () => void): void {
    if (this.#begunAt === undefined) this.isOver();
    this.#resting.push(goOn);
  }

  /** Resolves when a call may do its work; undefined if that is now. Calls go on in the order in which they came. */
  turn(): Promise<void> | undefined {
    if (this.#resting.length === 0 && !this.#isCallDue && !this.isOver()) return undefined;
    return new Promise((resolve) => {
      this.rest(() => {
        this.#isCallDue = true;
        resolve();
      });
    });
  }

  readonly #onTurn = (): void => {
    this.#begunAt = undefined;
    this.#count = 0;
    this.#letNext();
  };

  /** Lets the first who rests go on, and then the next, each behind the work of the one before it, until the turn is over. */
  readonly #letNext = (): void => {
    this.#isCallDue = false;
    if (this.#resting.length === 0 || this.isOver()) return;
    this.#resting.shift()?.();
    queueMicrotask(this.#letNext);
  };
}
