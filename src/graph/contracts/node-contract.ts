/** What a node may do and say: the contract between the engine and the code behind a node. */
import type { Amounts, AtMost } from '../amounts.ts';
import type { AnswerTo } from './answer-types.ts';
import type { BlobAccess, FileAccess, SecretReader, VisitPast } from './context-access.ts';
import type { ModelAccess } from './model-contract.ts';
import type { NoNames } from '../no-names.ts';
import type { SpanParts, TraceSpan } from './trace-contract.ts';

/** What recovery may do with an activation: see docs/spec/effects.md. */
export type EffectClass = 'pure' | 'read' | 'write' | 'external' | 'human';

/** The partitions of a frame's state that nodes may write. `input` is frozen, `outputs` are the nodes' recorded outputs. */
export type Partition = 'scratch' | 'artifacts' | 'diagnostics';
export const partitions: readonly Partition[] = ['scratch', 'artifacts', 'diagnostics'];

type Keyed = Readonly<Record<string, unknown>>;

/** The state as of the seq at which an activation started, frozen; what is read through it is recorded as the activation's input (E9). */
export interface StateView {
  readonly input: unknown;
  readonly scratch: Keyed;
  /** Written artifacts, and outputs of nodes under their `outputAs` name (default: none). */
  readonly artifacts: Keyed;
  readonly diagnostics: Keyed;
  /** The last completed visit's output of each node, by node id. */
  readonly outputs: Keyed;
  /** The error of each node whose last visit failed, by node id. A node that is in neither has not settled, or was skipped. */
  readonly failures: Readonly<Record<string, Error>>;
}

/** Updates an outcome makes to the state, by partition and top-level key; reducers decide how they merge. */
export interface StateUpdates {
  readonly scratch?: Keyed;
  readonly artifacts?: Keyed;
  readonly diagnostics?: Keyed;
}

/** What a node returns when it wants to say more than its output. */
export interface OutcomeParts extends StateUpdates {
  readonly output?: unknown;
  /** Node ids: of the outgoing edges, exactly those that lead there fire; their conditions are not read. */
  readonly goto?: string | readonly string[];
}

const outcomeBrand = Symbol.for('cairn.outcome');

/** An outcome made by {@link outcome}; any other returned value is the node's output. Its type keeps what it updates and with what. */
export class Outcome<Output = unknown, Scratch = unknown, Artifacts = unknown> {
  readonly parts: OutcomeParts;
  /** Never there: for the type checker. */
  declare readonly '~types'?: { readonly output: Output; readonly scratch: Scratch; readonly artifacts: Artifacts };
  constructor(parts: OutcomeParts) {
    this.parts = parts;
  }

  static {
    // On the prototype: an outcome is made at many visits, and the brand is the same for all.
    Object.defineProperty(this.prototype, outcomeBrand, { value: true });
  }

  /** Known by its brand, so that an outcome of one copy of the library is one for another (a bundled command, a user's module). */
  static [Symbol.hasInstance](value: unknown): value is Outcome {
    return typeof value === 'object' && value !== null && outcomeBrand in value;
  }
}

/** {@link OutcomeParts} with the types of what is in them. */
interface TypedParts<Output, Scratch, Artifacts> extends Omit<OutcomeParts, 'output' | 'scratch' | 'artifacts'> {
  readonly output?: Output | undefined;
  readonly scratch?: Scratch;
  readonly artifacts?: Artifacts;
}

/** Returns an outcome with updates of the state and routing hints beside the output. */
export function outcome<
  Output = undefined,
  const Scratch extends Keyed = NoNames,
  const Artifacts extends Keyed = NoNames,
>(parts: TypedParts<Output, Scratch, Artifacts>): Outcome<Output, Scratch, Artifacts> {
  return new Outcome(parts);
}

/** Given as the output of an {@link outcome}: the output is the list of the outputs of the node's steps, in the order in which it called them. So it is stored in one place only (C1). */
export const stepsOutput: unique symbol = Symbol.for('cairn.stepsOutput');

/** How a failed attempt of an effect is to be read (X3). */
export interface FailureHints {
  /**
   * `no`: it certainly did not happen, so it may be tried again. `ended`: it came to its end and said itself that it failed, as a program
   * does with an exit code; it may have done a part, so only its author's `retry` tries it again, and a resume asks. Default `unknown`.
   */
  readonly applied?: 'no' | 'ended' | 'unknown';
  /** Wait at least this long before the next attempt. */
  readonly retryAfterMs?: number;
  /** Matched by `retry.on` and by failure conditions. */
  readonly code?: string;
  readonly data?: unknown;
}

/** An error to throw from a node: a failed outcome with hints for retries and in-doubt handling. */
export class NodeFailure extends Error {
  readonly applied: 'no' | 'ended' | 'unknown';
  readonly retryAfterMs: number | undefined;
  readonly code: string;
  readonly data: unknown;
  constructor(message: string, hints: FailureHints & { readonly cause?: unknown } = {}) {
    super(message, hints.cause === undefined ? undefined : { cause: hints.cause });
    this.name = 'NodeFailure';
    this.applied = hints.applied ?? 'unknown';
    this.retryAfterMs = hints.retryAfterMs;
    this.code = hints.code ?? 'FAILED';
    this.data = hints.data;
  }
}

export interface RetryPolicy {
  /** Attempts in all, counted from 1. Default 1: no retry. */
  readonly attempts: number;
  /** Default `exponential`. */
  readonly backoff?: 'fixed' | 'linear' | 'exponential';
  /** What an exponential delay is multiplied by from one attempt to the next, 1 or more. Default 2. */
  readonly factor?: number;
  /** Delay before the second attempt. Default 1,000 ms. */
  readonly delayMs?: number;
  /** Longest delay, before jitter. Default 60,000 ms. */
  readonly delayMsMax?: number;
  /** By how much of itself a delay is made longer or shorter at random at most, 0 to 1, so that many that failed together do not come again together. Default 0. */
  readonly jitter?: number;
  /** Error codes that are retried. Default: all. */
  readonly on?: readonly string[];
  /**
   * Asked of a failure that the rest of the policy would retry; anything but true, and an error of its own, means no. It is code, so
   * `codeHash` covers it; its yes is on record with the retry, and is not asked for again after a crash.
   */
  readonly when?: (failure: RetryFailure) => boolean;
}

/** A failed attempt, as a retry policy sees it. */
export interface RetryFailure {
  /** What was thrown. */
  readonly error: unknown;
  /** Its code, else its name. */
  readonly code: string;
  /** The attempt that failed, counted from 1. */
  readonly attempt: number;
}

/** A question: what is asked, and how an answer must look. An answer that does not fit is refused and the question stays open (W3). */
export interface Question {
  /** Names the question within its activation; the n-th of a name by call order. Default `question`. */
  readonly name?: string;
  readonly prompt: string;
  /** What is offered; a string stands for itself. */
  readonly choices?: readonly (string | { readonly value: unknown; readonly label: string })[];
  /**
   * How an answer is held against the choices. `exact` (default): it must equal one `value`. `lenient`: also the number of a choice,
   * counted from 1, or a text that contains a choice's label, letter case aside; the first that is contained is meant, and its value is
   * what is recorded. `open`: the choices are suggestions, and anything that fits the schema is an answer.
   */
  readonly matching?: 'exact' | 'lenient' | 'open';
  /** JSON Schema the answer must fit (the subset of docs/spec/waits.md). */
  readonly schema?: Readonly<Record<string, unknown>>;
  readonly metadata?: unknown;
  /** Epoch ms. When it passes, `defaultAnswer` closes the wait, or it fails with NODE_TIMED_OUT if there is none. */
  readonly deadlineAt?: number;
  readonly defaultAnswer?: unknown;
}

export interface StepOptions {
  /** Default `pure`. */
  readonly effect?: EffectClass;
  /** What the step's input hash covers; default: its activation's input. */
  readonly input?: unknown;
  readonly retry?: RetryPolicy;
  readonly timeoutMs?: number;
  /** A repeated call with the same key has no second effect: an in-doubt step is retried rather than asked about. */
  readonly idempotent?: boolean;
  readonly reconcile?: (asked: { readonly idempotencyKey: string }) => Promise<Reconciliation> | Reconciliation;
  /** The most that one attempt spends, by unit: reserved before it begins, so that the budget is never passed. */
  readonly atMost?: AtMost;
  /**
   * What the call does, for the person who is asked whether it happened: `mail to ada`. Kept while the effect is open, up to 500 characters;
   * no part of what the step is known by.
   */
  readonly about?: string;
}

/** How an event is told. */
export interface EmitOptions {
  /** Whether it is kept with the history, as plain JSON, and told to subscribers once, also after the run ended. Default false. */
  readonly recorded?: boolean;
  /** Of a recorded event: names it within its activation; the n-th of a name by call order is told once. Default `event`. */
  readonly name?: string;
}

/** What a step's function is handed. */
export interface StepContext {
  readonly idempotencyKey: string;
  readonly attempt: number;
  readonly signal: AbortSignal;
  /** Says what the attempt has cost so far, on top of what it said before. Recorded with its end, however it ends. @throws NODE_CALL_REFUSED */
  spend(amounts: Amounts): void;
}

/** Did the effect under this key happen, and with what output? */
export type Reconciliation =
  /** `output`: what the effect gave; of a node also an `outcome(…)`, with its updates of the state. */
  | { readonly happened: true; readonly output: unknown }
  | { readonly happened: false }
  | { readonly happened: 'unknown' };

/** How a child run ended (W6). */
export interface ChildResult {
  /** `cancelled`: through its handle. */
  readonly status: 'completed' | 'failed' | 'cancelled';
  readonly state: StateView;
  /** Why it failed, or that it was cancelled. */
  readonly error?: Error;
}

/** How a child run is begun. */
export interface ChildRunOptions {
  /** Names the child run within its activation; the n-th of a name by call order. Default `run`. */
  readonly name?: string;
  /**
   * Id of the node to begin at in place of the graph's start. What comes before it never runs, unless a loop leads back there, and joins
   * behind it do not wait for that.
   */
  readonly entry?: string;
}

/**
 * A child run that goes on beside its parent. What is done through the handle is recorded with what it does: the n-th signal and the n-th
 * cancel of a child happen once, however often the parent's function is repeated. It is no promise: return it from functions as it is.
 */
export interface ChildHandle {
  readonly name: string;
  /** Resolves when the child has ended, however it ended. */
  result(): Promise<ChildResult>;
  /**
   * Closes the oldest open wait for this signal in the child, or in a child of it; if there is none, it is kept there until one is asked
   * for. Of a child that has ended nothing comes of it. Default value: null.
   * @throws VALUE_UNSTORABLE, NODE_CALL_REFUSED
   */
  signal(name: string, value?: unknown): Promise<void>;
  /** Cancels what is open in the child, which ends as `cancelled`. One that has ended stays as it ended. @throws NODE_CALL_REFUSED */
  cancel(reason?: string): Promise<void>;
  /** The child's state as it is now: a step of class `read`, so a repeated function sees what it saw. @throws NODE_CALL_REFUSED */
  state(): Promise<StateView>;
}

/** What the engine hands to a node's `run`. `Graph` is left open here to keep this file free of cycles. */
export interface NodeContext {
  readonly runId: string;
  readonly nodeId: string;
  /** Node ids (and map item keys) from the run's root to this node. */
  readonly nodePath: readonly string[];
  readonly visit: number;
  readonly attempt: number;
  readonly isResumed: boolean;
  /** The frozen input of this node's run (or child run). */
  readonly input: unknown;
  readonly state: StateView;
  readonly config: unknown;
  /** The same for every attempt of this activation (X1). */
  readonly idempotencyKey: string;
  /** Aborted on cancel, timeout, lost claim, or when the attempt was left at a wait. */
  readonly signal: AbortSignal;
  /** A recorded finer unit: on resume the recorded value is returned and `fn` is not called (X4). */
  step<T>(name: string, options: StepOptions, fn: (step: StepContext) => Promise<T> | T): Promise<T>;
  /** Asks and leaves the function where it stands; on resume it runs again from its top and gets the answer here. */
  ask<const Asked extends Question>(question: Asked): Promise<AnswerTo<Asked>>;
  /** @param time - epoch ms, or a Date */
  sleepUntil(time: number | Date, name?: string): Promise<void>;
  /** Waits for a signal of this name; one that came early is taken. */
  receive(signal: string): Promise<unknown>;
  /** Commits the node's inner state and retires what is recorded so far; child runs whose result was not taken stay, under their names. */
  save(state: unknown): Promise<void>;
  /** What the last `save` of this activation kept, if any. */
  readonly savedState: unknown;
  /**
   * Retires the steps, answers and child runs recorded so far, except those of the names in `keep`: they leave the live state and stay in
   * the history. `from` says where the function goes on from; when it is repeated, it gets that as `retired`, and makes the calls of the
   * names it kept again. The calls that follow count on: the n-th of a name is the n-th of the visit, with the key that it would have had.
   *
   * @throws NODE_CALL_REFUSED calls are under way, a name in `keep` was never called, or `from` is undefined; VALUE_UNSTORABLE,
   * VALUE_TOO_LARGE, CHECKPOINT_TOO_LARGE
   */
  retire(from: unknown, options?: { readonly keep?: readonly string[] }): Promise<void>;
  /**
   * What the last `retire` of this activation said, if calls were retired since its last `save`. A function that is repeated after that must
   * read it before its first call, which is NODE_CALL_REFUSED otherwise.
   */
  readonly retired: unknown;
  /**
   * Appends items to a list of this visit, kept with it: a call costs its own items, however long the list is. The n-th call of a list
   * that is repeated finds itself recorded and does nothing. It retires no steps, and `save` keeps the lists. Work that goes on side by
   * side needs a list for each part, since the items stand in the order of the calls.
   *
   * @throws NODE_CALL_REFUSED, ID_INVALID, RUN_LIMIT, VALUE_UNSTORABLE, VALUE_TOO_LARGE, CHECKPOINT_TOO_LARGE
   */
  append(list: string, items: readonly unknown[]): Promise<void>;
  /** What the calls of `append` made so far have added to a list, frozen; empty before the first. */
  list(name: string): readonly unknown[];
  /** Runs a graph as a child, inside this run's history, to its end. @throws INPUT_INVALID, NODE_CALL_REFUSED, RUN_LIMIT */
  run(graph: object, input: unknown, options?: ChildRunOptions): Promise<ChildResult>;
  /** Begins a child run, or takes up the one recorded under this name, and goes on beside it. It stops when this node's function returns. */
  start(graph: object, input: unknown, options?: ChildRunOptions): Promise<ChildHandle>;
  /**
   * The same context for one of several parts of the work that go on side by side. `onWaiting` is called, after the call, when a call
   * made through it is left at a wait, or a child run that it started does nothing but wait: another part may have its place.
   * Parts that do not heed each other go on as fast as they can; `isOrdered`: the child runs of such parts are told ended in the order in
   * which they ended, also when the function is repeated, for what is decided by who was first.
   */
  part?(onWaiting: () => void, options?: PartOptions): NodeContext;
  /**
   * Says what the attempt has cost, on top of what it said before. Inside a step it is the step's; else it is recorded with the end of the
   * attempt, or the next `save`: a function that runs again from its top says it again.
   * @throws NODE_CALL_REFUSED
   */
  spend(amounts: Amounts): void;
  /** What this run (or child run) had spent in the state that this activation sees. */
  readonly spent: Amounts;
  /**
   * Tells an event to those who watch. Without options it is ephemeral (tokens, progress): told at once, to who listens in this process,
   * and never stored. A recorded one becomes a part of the history, together with the node's next recorded call or its outcome.
   *
   * @throws of a recorded event: NODE_CALL_REFUSED, ID_INVALID, VALUE_UNSTORABLE, VALUE_TOO_LARGE, CHECKPOINT_TOO_LARGE
   */
  emit(event: unknown, options?: EmitOptions): void;
  /**
   * Begins a span within the attempt's, told to the engine's telemetry (E10.4); undefined: nobody is told. It is live and of this attempt:
   * a function that is repeated tells what it does again. In a step's function, tell what happens there; what is on record does not.
   */
  trace(name: string, parts?: SpanParts): TraceSpan | undefined;
  /**
   * The attempt fails with this error, whatever its function returns or throws from now on. For code that calls others who catch what a
   * call of this context threw, and would go on as if nothing was. The first error counts.
   */
  fail(error: unknown): void;
  readonly secrets: SecretReader;
  readonly blobs: BlobAccess;
  readonly files: FileAccess;
  /** Language models by name. Call one inside a step, so that its answer is recorded: `external`, idempotent. */
  readonly models: ModelAccess;
  /** What was on record of this visit when the attempt began, for code that checks that it repeats itself. */
  readonly past: VisitPast;
  /** The engine's clock, epoch ms. */
  now(): number;
}

/** How a part of a node's work goes on beside the others. */
export interface PartOptions {
  /** Default false. */
  readonly isOrdered?: boolean;
}

/** What `reconcile` is told of the activation in doubt: it sees the state that the attempt saw (E9). */
export interface ReconcileContext {
  /** The key under which the attempt ran. */
  readonly idempotencyKey: string;
  readonly config: unknown;
  readonly state: StateView;
  readonly signal: AbortSignal;
}

/** The code behind a node. */
export interface NodeImplementation {
  /** Returns an output, or an {@link Outcome}. Functions are started directly: a plain return costs no promise. */
  readonly run: (ctx: NodeContext) => unknown;
  /** Did this effect happen? Asked for an effect in doubt before anything else. */
  readonly reconcile?: (asked: ReconcileContext) => Promise<Reconciliation> | Reconciliation;
  /**
   * Why an output that somebody sets in a fork is none that this node gives, in a few words; undefined: it fits. May throw where the
   * state does not tell yet: it is asked again when the outcome is taken. Default: any output fits.
   */
  readonly outputFault?: (output: unknown, state: StateView) => string | undefined;
  /** Text hashed into `codeHash`, as a hint that code changed. Default: the source of `run`. */
  readonly codeText?: string;
}
