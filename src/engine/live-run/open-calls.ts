/**
 * What the function of an activation has called since it started: which calls are open, which names were used, and the signal that stops
 * the function. All of this begins anew when the function is started again, after a wait or a failure.
 */
import type { Clock } from '../../ports/clock.ts';
import type { OnWaiting } from '../../graph/contracts/parts.ts';
import type { DrawnKind, DrawnValue } from '../../state/tree.ts';

// Returns the results of a function's overlapping calls in the order in which the calls ended, so that a race ends the same way at every
// repetition (X4.13).

/** One for each attempt with overlapping calls. */
export class CallOrder {
  /** Numbers of recorded ends that were not returned yet, the earliest last. */
  readonly #due: number[];
  /** Calls that have ended and wait for their turn. */
  readonly #ready = new Map<number, () => void>();
  readonly #clock: Clock;
  #isGoingOn = false;

  /** @param recorded - the recorded ends at the time of creation, ascending */
  constructor(recorded: readonly number[], clock: Clock) {
    this.#due = recorded.toReversed();
    this.#clock = clock;
  }

  /** Resolves when it is the turn of the call with this number. */
  turnOf(order: number): Promise<void> {
    return new Promise((resolve) => {
      this.#ready.set(order, resolve);
      if (!this.#isGoingOn) this.#giveNext(true);
    });
  }

  /** @param isPatient - whether to wait for a call that ended earlier, which the function may be about to make */
  #giveNext(isPatient: boolean): void {
    const next = this.#due.at(-1) ?? Infinity;
    const first = this.#ready.has(next) ? next : Math.min(...this.#ready.keys());
    if (isPatient && next < first) return this.#goOn(false);
    while ((this.#due.at(-1) ?? Infinity) <= first) this.#due.pop();
    const give = this.#ready.get(first);
    this.#ready.delete(first);
    give?.();
    this.#goOn(true);
  }

  /** Lets the function run on first, because it may make further calls. */
  #goOn(isPatient: boolean): void {
    this.#isGoingOn = true;
    this.#clock.defer(() => {
      this.#isGoingOn = false;
      if (this.#ready.size > 0) this.#giveNext(isPatient);
    });
  }
}

/** An event that is to be recorded. */
export interface RecordedEvent {
  readonly name: string;
  /** Frozen plain JSON. */
  readonly detail: unknown;
}

/** A function's position in one of its lists. */
export interface ListCursor {
  /** Number of calls made, including those before the last save. */
  called: number;
  /** How many of these are recorded. */
  recorded: number;
  /** Resolves when the last call is recorded. Calls are recorded in order, however long storing their items takes. */
  last: Promise<void>;
}

/** Why the signal of an attempt or a step is aborted that has ended. */
export const attemptOver = (): DOMException => (over ??= new DOMException('The attempt is over.', 'AbortError'));

/** One for all: where it was made tells nobody anything, and to find that out takes longer than many a step. */
let over: DOMException | undefined;

/** See {@link OpenCalls.draws}. */
interface Draws {
  readonly made: Map<DrawnKind, number>;
  readonly pending: Map<DrawnKind, DrawnValue[]>;
}

const noSteps: ReadonlySet<string> = new Set();

/** The part of an activation that lasts as long as one start of its function. */
export class OpenCalls {
  /** Grows with each start of the node's function. Calls of an older one are refused. */
  generation = 0;
  /** Number of calls in progress, or ended and about to return. */
  stepsInFlight = 0;
  /** Number of calls that have returned but from which the function may not have continued yet. */
  returningCount = 0;
  /** Whether calls have overlapped since the last one that was made alone. Their order of ending is recorded then (X4.13). */
  isOverlapping = false;
  /** Whether its function has ended. It makes no more calls, and settles when the effects it called have ended. */
  isEnding = false;
  /** Whether nothing more is wanted of it. Effects that were called but have not started do not start. */
  isStopped = false;
  /** Set by `ctx.fail`: the error that its attempt fails with, however the function ends. */
  failure: { readonly error: unknown } | undefined;
  /** Number of child runs of this attempt that have not ended. */
  childrenInFlight = 0;
  /** How many of them the function is waiting for. */
  childrenAwaited = 0;
  /** Number of waits opened by this generation and not closed yet. */
  openWaits = 0;
  /** Functions that continue calls stopped at a wait, by key, for a function that is still running. */
  parked: Map<string, () => void> | undefined;
  /** Returns results of overlapping calls in the order in which they ended. */
  order: CallOrder | undefined;
  /** Number of calls by step name in this generation. */
  ordinals: Map<string, number> | undefined;
  /** Keys of calls in this generation since the last save, in order. */
  calls: string[] | undefined;
  /** Whether its function has retired calls in this generation, or has read where it goes on. */
  knowsRetired = false;
  /** Position in each list, in this generation. */
  listCursors: Map<string, ListCursor> | undefined;
  /** Number of recorded events emitted in this generation, by name, including those before the last save. */
  eventCounts: Map<string, number> | undefined;
  /** Values drawn in this generation: how many of each kind, and those that are not recorded yet. */
  draws: Draws | undefined;
  /** Events that are not in a checkpoint yet. They are lost if the attempt dies. */
  events: RecordedEvent[] | undefined;
  /** Number of calls that are held back until others were made, and what is told of each beginning or end of a call. */
  #held = 0;
  #moves = 0;
  #whenMoved: (() => void)[] = [];
  #effectSteps: Set<string> | undefined;
  #parts: Map<string, OnWaiting> | undefined;
  #controller: AbortController | undefined;
  #abortReason: unknown;
  #isSignalOver = false;

  /** Keys of effect steps that were called and have not ended. */
  get effectSteps(): ReadonlySet<string> {
    return this.#effectSteps ?? noSteps;
  }

  /** Notes whom to tell when the call with this key stops at a wait. */
  notePart(key: string, onWaiting: OnWaiting | undefined): void {
    if (onWaiting !== undefined) (this.#parts ??= new Map()).set(key, onWaiting);
  }

  /** Whether the call with this key belongs to one of several independent parts of the work. */
  isPart(key: string): boolean {
    return this.#parts?.has(key) === true;
  }

  /** Whom to tell when the call with this key stops at a wait. */
  partOf(key: string): OnWaiting | undefined {
    return this.#parts?.get(key);
  }

  beginEffect(key: string): void {
    (this.#effectSteps ??= new Set()).add(key);
  }

  endEffect(key: string): void {
    this.#effectSteps?.delete(key);
  }

  /** Created on first use, because most nodes never use it. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason);
      else if (this.#isSignalOver) this.#controller.abort(attemptOver());
    }
    return this.#controller.signal;
  }

  abort(reason: unknown): void {
    this.#abortReason = reason;
    this.#controller?.abort(reason);
  }

  /** Aborts the signal because the attempt is over, for what its function began and did not wait for, such as the loser of a race. */
  endSignal(): void {
    this.#isSignalOver = true;
    if (this.#controller?.signal.aborted === false) this.#controller.abort(attemptOver());
  }

  /** Notes that a call of its function is in progress. */
  beginCall(): void {
    this.isOverlapping = this.stepsInFlight + this.openWaits + this.childrenInFlight > 0;
    this.stepsInFlight += 1;
    this.#tellHeld();
  }

  /** Notes that a call has returned, or stopped at a wait. */
  endCall(): void {
    this.stepsInFlight -= 1;
    this.#tellHeld();
  }

  /**
   * Holds a call back until another one begins or ends.
   * @returns false if no other is in progress, or all others are held back too, and the function has had time to call more
   */
  async heldUntilOthers(clock: Clock): Promise<boolean> {
    const { generation } = this;
    const before = this.#callCount;
    this.#held += 1;
    for (let turn = 0; turn < 3; turn += 1) await new Promise<void>((resolve) => clock.defer(resolve));
    while (this.generation === generation && this.#callCount === before && this.stepsInFlight > this.#held)
      await new Promise<void>((resolve) => this.#whenMoved.push(resolve));
    if (this.generation === generation) this.#held -= 1;
    return this.#callCount > before;
  }

  /** Grows with each call, and with the end of each that was not on record. */
  get #callCount(): number {
    return this.#moves + (this.calls?.length ?? 0);
  }

  #tellHeld(): void {
    this.#moves += 1;
    if (this.#whenMoved.length > 0) for (const resolve of this.#whenMoved.splice(0)) resolve();
  }

  /** Prepares a new start of the node's function, with its own signal and calls. */
  renew(): void {
    this.generation += 1;
    this.#controller = undefined;
    this.#abortReason = undefined;
    this.#isSignalOver = false;
    this.stepsInFlight = 0;
    this.#held = 0;
    this.#tellHeld();
    this.isEnding = false;
    this.isStopped = false;
    this.failure = undefined;
    this.#effectSteps = undefined;
    this.#parts = undefined;
    this.returningCount = 0;
    this.isOverlapping = false;
    this.childrenInFlight = 0;
    this.childrenAwaited = 0;
    this.openWaits = 0;
    this.parked = undefined;
    this.order = undefined;
    this.ordinals = undefined;
    this.calls = undefined;
    this.knowsRetired = false;
    this.listCursors = undefined;
    this.eventCounts = undefined;
    this.events = undefined;
    this.draws = undefined;
  }
}
