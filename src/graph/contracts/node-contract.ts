/** The contract between the engine and the code behind a node: what a node may do, and what it may return. */
import type { Amounts, AtMost } from '../amounts.ts';
import type { AnswerSchema, AnswerTo, StandardSchema } from './answer-types.ts';
import type { BlobAccess, FileAccess, SecretReader } from './access.ts';
import type { VisitPast } from './visit-past.ts';
import type { ModelAccess } from './model-messages.ts';
import type { RetryPolicy } from './retry-policy.ts';
import type { SpanParts, TraceSpan } from './trace-span.ts';
import type { OnWaiting, PartOptions } from './parts.ts';
import type { MemoryConsistency } from './memory-consistency.ts';
import type { LimitRef } from '../limit.ts';

/** An object type with no known keys, to which keys are added. `object` would not do: it cannot be combined with types that have an index signature. */
// oxlint-disable-next-line typescript/no-generated-empty-object-type
export type NoNames = Readonly<Record<never, never>>;

/** The effect class of a node or step. It says what recovery may do after a crash: see docs/spec/effects.md. */
export type EffectClass = 'pure' | 'read' | 'write' | 'external' | 'human';

/** The parts of the state that nodes may write. `input` is frozen, and `outputs` holds the recorded outputs of nodes. */
export type Partition = 'scratch' | 'artifacts' | 'diagnostics';
export const partitions: readonly Partition[] = ['scratch', 'artifacts', 'diagnostics'];

type Keyed = Readonly<Record<string, unknown>>;

/** The state at the checkpoint at which an activation started, frozen. All reads are recorded as the activation's input (E9). */
export interface StateView {
  readonly input: unknown;
  readonly scratch: Keyed;
  /** Artifacts that nodes wrote, and outputs of nodes that have an `outputAs` name. */
  readonly artifacts: Keyed;
  readonly diagnostics: Keyed;
  /** Output of each node's last completed visit, by node id. */
  readonly outputs: Keyed;
  /** Error of each node whose last visit failed, by node id. A node that is in neither map has not settled yet or was skipped. */
  readonly failures: Readonly<Record<string, Error>>;
}

/** Changes of the state that an outcome makes, by partition and top-level key. Reducers decide how they are merged. */
export interface StateUpdates {
  readonly scratch?: Keyed;
  readonly artifacts?: Keyed;
  readonly diagnostics?: Keyed;
}

/** What a node returns when it has more to say than its output. */
export interface OutcomeParts extends StateUpdates {
  readonly output?: unknown;
  /** Ids of target nodes. Exactly the outgoing edges that lead there fire; their conditions are ignored. */
  readonly goto?: string | readonly string[];
  /**
   * What the node says of its own work where it completed and yet did not quite succeed: a word such as `fail`, of small letters and `_`,
   * at most 40. Logs, progress and post-mortems show it beside the status; it decides nothing.
   */
  readonly verdict?: string;
}

const outcomeBrand = Symbol.for('cairn.outcome');

/** An outcome, made by {@link outcome}. A node's other return values are outputs. Its types are those of output and updates. */
export class Outcome<Output = unknown, Scratch = unknown, Artifacts = unknown> {
  readonly parts: OutcomeParts;
  /** Exists for the type checker only; never set. */
  declare readonly '~types'?: { readonly output: Output; readonly scratch: Scratch; readonly artifacts: Artifacts };
  constructor(parts: OutcomeParts) {
    this.parts = parts;
  }

  static {
    // The brand is on the prototype because outcomes are made often and all have the same brand.
    Object.defineProperty(this.prototype, outcomeBrand, { value: true });
  }

  /** Tests for the brand, not the class, so that an outcome made by another copy of the library is recognised (a bundled command's). */
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

/** Makes an outcome: an output together with updates of the state and routing. */
export function outcome<
  Output = undefined,
  const Scratch extends Keyed = NoNames,
  const Artifacts extends Keyed = NoNames,
>(parts: TypedParts<Output, Scratch, Artifacts>): Outcome<Output, Scratch, Artifacts> {
  return new Outcome(parts);
}

/**
 * Pass this as the output of an {@link outcome} to make the output the list of the outputs of the node's steps, in call order. The outputs
 * are then stored only once, with the steps (C1).
 */
export const stepsOutput: unique symbol = Symbol.for('cairn.stepsOutput');

/** What a failed attempt says about itself, for retries and for effects in doubt (X3). */
export interface FailureHints {
  /**
   * Whether the effect happened. `no`: certainly not, so it may be retried. `ended`: it ran to its end and reported failure, as a program
   * does with an exit code. It may have done part of its work, so it is retried only if the author's `retry` says so, and a resume asks
   * first. Default `unknown`.
   */
  readonly applied?: 'no' | 'ended' | 'unknown';
  /** Wait at least this many milliseconds before the next attempt. */
  readonly retryAfterMs?: number;
  /** Error code, matched by `retry.on` and by conditions on failure edges. */
  readonly code?: string;
  readonly data?: unknown;
}

/** An error for nodes to throw. It carries hints for retries and for effects in doubt. */
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

/** A question, and what an answer must look like. An answer that does not fit is refused; the question stays open (W3). */
export interface Question {
  /** Name of the question within its activation. Several questions of one name are distinguished by call order. Default `question`. */
  readonly name?: string;
  readonly prompt: string;
  /** The choices offered. A string is both value and label. */
  readonly choices?: readonly (string | { readonly value: unknown; readonly label: string })[];
  /**
   * How an answer is matched with the choices. `exact` (default): it must equal the `value` of a choice. `lenient`: it may also be the
   * number of a choice, counted from 1, or a text that contains a choice's label in any letter case; the first choice that matches is
   * meant, and its value is recorded. `open`: the choices are suggestions, and any answer that fits the schema is accepted.
   */
  readonly matching?: 'exact' | 'lenient' | 'open';
  /**
   * What the answer must fit: JSON Schema (the subset in docs/spec/waits.md), or a Standard Schema that can produce it, such as Zod's. The
   * question is recorded with the JSON Schema, so that anyone can answer it; what only a function can check or change is not done.
   */
  readonly schema?: AnswerSchema;
  readonly metadata?: unknown;
  /**
   * Whether the answer permits what a model wants to do, such as the call of a tool. Such a question is shown whole, whatever keys the
   * model chose, and over MCP only people answer it. Default false.
   */
  readonly isApproval?: boolean;
  /**
   * What makes it the same question when its function is repeated: an answer counts as long as this is equal. Default: its words, choices,
   * schema and metadata.
   */
  readonly identity?: unknown;
  /**
   * Whose question it is: `staff` (default), who run the workflow, or the `user` whose request the run is, such as the person in a chat.
   */
  readonly audience?: 'staff' | 'user';
  /**
   * Whose answers are taken, at every door: people by name, and roles, such as `['role:finance', 'ann']`. Default: everybody's. `audience`
   * only says where the question is shown.
   */
  readonly for?: readonly string[];
  /**
   * Name of another question of the run (its node, or its own name): only a person by name answers this one who did not answer that one and
   * did not start the run. Such a question has no default answer.
   */
  readonly fourEyes?: string;
  /** When the question is reminded of, in ms from when it is asked; several times in a list. The inbox and the history tell of it. */
  readonly remindAfterMs?: number | readonly number[];
  /** From when on, in ms from when it is asked, it is for those of `escalateTo` too. Both come together. */
  readonly escalateAfterMs?: number;
  readonly escalateTo?: readonly string[];
  /**
   * How long the question stays open, in ms from when it is asked. When the time is over, `defaultAnswer` answers it; without one the call
   * fails with NODE_TIMED_OUT, and the next attempt or visit asks again, with the full time.
   */
  readonly timeoutMs?: number;
  /** Until when it stays open, in epoch ms, in place of `timeoutMs`. A question whose deadline is past already ends at once. */
  readonly deadlineAt?: number;
  readonly defaultAnswer?: unknown;
}

export interface StepOptions {
  /** The step's effect class. Default `pure`. */
  readonly effect?: EffectClass;
  /** The input that the step's input hash covers. Default: the activation's input. */
  readonly input?: unknown;
  readonly retry?: RetryPolicy;
  readonly timeoutMs?: number;
  /** Whether a repeated call with the same key has no second effect. If so, a step in doubt is retried; otherwise a person is asked. */
  readonly idempotent?: boolean;
  readonly reconcile?: (context: { readonly idempotencyKey: string }) => Promise<Reconciliation> | Reconciliation;
  /**
   * Makes the step's output of what a person says that the effect gave: null if they do not say. If it throws, they are asked again.
   * Default: what they say.
   */
  readonly readAnswer?: (answer: unknown) => unknown;
  /**
   * JSON Schema of what a person may say that the effect gave: another answer is refused at once (`ANSWER_INVALID`), and the
   * question stays open. Default: anything.
   */
  readonly answerSchema?: Readonly<Record<string, unknown>>;
  /** The most that one attempt spends, by unit: reserved before it starts. A function is called only where there is a budget. */
  readonly atMost?: AtMost | (() => AtMost);
  /** What the call does, such as `mail to ada`, for a person who is asked about it. Up to 500 characters; it does not identify the step. */
  readonly about?: string;
  /**
   * Whether it asks a model and changes nothing outside: nobody need be asked if it is in doubt and no longer called, and a fork that
   * cannot act makes it all the same (X7). Default false.
   */
  readonly isModelCall?: boolean;
  /**
   * Whether its caller compares what it calls with the record itself, as the loop of an agent does. Under changed code it may then begin
   * whatever effects on record were not called. Default false.
   */
  readonly followsRecord?: boolean;
  /**
   * Whether its name alone says which call it is, as that of a tool call does. One whose end is on record is then given back whatever its
   * input and effect class have become. Default false.
   */
  readonly knownByName?: boolean;
  /** The limits that each attempt is under, over all workers. It waits for its places before it is announced; `timeoutMs` counts from then. */
  readonly limit?: LimitRef | readonly LimitRef[];
  /** About how many tokens an attempt uses, for limits that count them. What `spend({ tokens })` says afterwards corrects it. */
  readonly tokens?: number;
}

/** How `emit` handles an event. */
export interface EmitOptions {
  /** Whether the event is stored as part of the history and delivered once, also to those who subscribe later. Default false. */
  readonly recorded?: boolean;
  /** Name of a recorded event within its activation. Events of one name are distinguished by call order. Default `event`. */
  readonly name?: string;
}

/** The argument of a step's function. */
export interface StepContext {
  readonly idempotencyKey: string;
  readonly attempt: number;
  /** Aborted on cancel, close and timeout, when the claim is lost, and when this attempt of the step is over. */
  readonly signal: AbortSignal;
  /** Adds to the cost of this attempt. The cost is recorded when the attempt ends, however it ends. @throws NODE_CALL_REFUSED */
  spend(amounts: Amounts): void;
}

/** The answer to: did the effect with this key happen, and what was its output? */
export type Reconciliation =
  /** `output` is what the effect returned. For a node it may also be an `outcome(…)` with updates of the state. */
  | { readonly happened: true; readonly output: unknown }
  | { readonly happened: false }
  | { readonly happened: 'unknown' };

/** How a child run ended (W6). */
export interface ChildResult {
  /** `cancelled` means cancelled through its handle. */
  readonly status: 'completed' | 'failed' | 'cancelled';
  readonly state: StateView;
  /** Why the child failed, or that it was cancelled. */
  readonly error?: Error;
}

/** Options of a child run. */
export interface ChildRunOptions {
  /** Name of the child run within its activation. Several of one name are distinguished by call order. Default `run`. */
  readonly name?: string;
  /**
   * Id of the node to begin at, in place of the graph's start. Nodes before it do not run, unless a loop leads back to them, and joins
   * behind it do not wait for them.
   */
  readonly entry?: string;
}

/**
 * A child run that goes on in parallel with its parent. Its signals and cancels are recorded, so each happens once, however often the
 * parent's function is repeated. The handle is not a promise, so an async function may return it as it is.
 */
export interface ChildHandle {
  readonly name: string;
  /** Resolves when the child has ended, however it ended. */
  result(): Promise<ChildResult>;
  /**
   * Closes the oldest open wait for this signal in the child or in its own children. If there is none, the signal is pending until one is
   * opened. No effect if the child has ended. Default value: null.
   * @throws VALUE_UNSTORABLE, NODE_CALL_REFUSED
   */
  signal(name: string, value?: unknown): Promise<void>;
  /**
   * Cancels the child's open work; the child ends as `cancelled`, once somebody has said whether the effects happened that are in doubt in
   * it after a crash. No effect if the child has ended.
   * @throws NODE_CALL_REFUSED
   */
  cancel(reason?: string): Promise<void>;
  /** The child's current state, recorded as a step of class `read`: a repeated function sees the same. @throws NODE_CALL_REFUSED */
  state(): Promise<StateView>;
  /**
   * The current state of a run inside the child: the one that a node of the child began from its `subgraph` under this name. Recorded like
   * `state`. Null if there is none.
   * @throws NODE_CALL_REFUSED
   */
  stateIn(node: string, name: string): Promise<StateView | null>;
  /** Whether somebody is asked if an effect in the child happened. Recorded like `state`. @throws NODE_CALL_REFUSED */
  isInDoubt(): Promise<boolean>;
}

/** Why a run fails. */
export interface RunFailure {
  /** Code of the first error: `NODE_TIMED_OUT`, or that of an error of yours. `NODE_FAILED` if it has none. */
  readonly code: string;
  readonly message: string;
  /** The node that failed first, by its path joined with `/`. Absent if none did: the time of the run is over. */
  readonly node?: string;
  /** All errors that made the run fail, by the paths of nodes. */
  readonly errors: Readonly<Record<string, unknown>>;
}

/** The argument of a node's `run`. Graphs are typed as `object` here, to keep this file free of import cycles. */
export interface NodeContext {
  readonly runId: string;
  /** When the run was admitted, in epoch ms; a fork's is when it was made. The same in every process, whatever the run's id. */
  readonly startedAt: number;
  /** The node's id; of one that was renamed, its name in the code (G15). */
  readonly nodeId: string;
  /** Recorded ids of nodes (and keys of map items) from the run's root to this node. */
  readonly nodePath: readonly string[];
  readonly visit: number;
  readonly attempt: number;
  readonly isResumed: boolean;
  /** Why the run was cancelled, and by whom. Set in the node that runs after a cancel (`onCancel`), and nowhere else. */
  readonly cancel?: { readonly reason?: string; readonly by?: string } | undefined;
  /** The frozen input of the run, or child run, that the node belongs to. */
  readonly input: unknown;
  readonly state: StateView;
  readonly config: unknown;
  /** How the node remembers over sessions, if it or its graph says so (A43). */
  readonly memoryConsistency: MemoryConsistency | undefined;
  /** Whether the run is a fork that cannot act, so that its calls of class `write` and `external` are refused (X7). */
  readonly cannotAct: boolean;
  /** The same for every attempt of this activation (X1). */
  readonly idempotencyKey: string;
  /** Why the run fails. Set in the node that runs after that (`onRunFailure`), and nowhere else. */
  readonly failure?: RunFailure | undefined;
  /** Aborted on cancel, close and timeout, when the claim is lost, when the attempt stops at a wait, and when it is over. */
  readonly signal: AbortSignal;
  /** Runs `fn` as a recorded step. A repeated function gets the recorded value, and `fn` is not called again (X4). */
  step<T>(name: string, options: StepOptions, fn: (step: StepContext) => Promise<T> | T): Promise<T>;
  /** Asks a question. The function stops here. When the answer has come, it runs again from its top and gets the answer here. */
  ask<const Q extends Question>(question: Q): Promise<AnswerTo<Q>>;
  /** @param time - epoch ms, or a Date */
  sleepUntil(time: number | Date, name?: string): Promise<void>;
  /**
   * Waits for a signal of this name, and returns its value. A signal that came earlier is taken.
   * @throws NODE_TIMED_OUT none came in time; SIGNAL_INVALID its value does not fit the schema. The next call, and the next attempt of the
   * node, take the next signal
   */
  receive<Value>(
    signal: string,
    options: ReceiveOptions<Value> & { readonly schema: StandardSchema<Value>; readonly waits: false },
  ): Promise<Value | undefined>;
  receive<Value>(
    signal: string,
    options: ReceiveOptions<Value> & { readonly schema: StandardSchema<Value> },
  ): Promise<Value>;
  receive(signal: string, options?: ReceiveOptions): Promise<unknown>;
  /**
   * Saves the node's inner state and retires everything recorded so far, except child runs whose result was not taken yet; those stay
   * available under their names.
   */
  save(state: unknown): Promise<void>;
  /** The state that the last `save` of this activation saved, if any. */
  readonly savedState: unknown;
  /**
   * Retires the steps, answers and child runs recorded so far, except those named in `keep`. They leave the live state and stay in the
   * history. `from` says where the function goes on: a repeated function finds it in `retired`, continues from there, and makes the calls
   * named in `keep` again. Later calls are counted as if nothing had been retired, so they keep their keys.
   *
   * @throws NODE_CALL_REFUSED calls are in progress, a name in `keep` was never called, or `from` is undefined; VALUE_UNSTORABLE,
   * VALUE_TOO_LARGE, CHECKPOINT_TOO_LARGE
   */
  retire(from: unknown, options?: { readonly keep?: readonly string[] }): Promise<void>;
  /**
   * The `from` of this activation's last `retire`, if there was one since its last `save`. A repeated function must read it before its
   * first call; otherwise that call fails with NODE_CALL_REFUSED.
   */
  readonly retired: unknown;
  /**
   * Appends items to a list that is stored with this visit. A call costs as much as its own items, however long the list is. When the
   * function is repeated, recorded calls do nothing. `retire` and `save` keep the lists. Items stand in call order, so parallel parts of
   * the work need a list each.
   *
   * @throws NODE_CALL_REFUSED, ID_INVALID, RUN_LIMIT, VALUE_UNSTORABLE, VALUE_TOO_LARGE, CHECKPOINT_TOO_LARGE
   */
  append(list: string, items: readonly unknown[]): Promise<void>;
  /** The items appended to a list so far, frozen; empty before the first `append`. */
  list(name: string): readonly unknown[];
  /** Runs a graph as a child run inside this run's history, to its end. @throws INPUT_INVALID, NODE_CALL_REFUSED, RUN_LIMIT */
  run(graph: object, input: unknown, options?: ChildRunOptions): Promise<ChildResult>;
  /** Starts a child run, or takes up the recorded one of this name. The child stops when this node's function returns. */
  start(graph: object, input: unknown, options?: ChildRunOptions): Promise<ChildHandle>;
  /**
   * Makes a context for one of several parallel parts of the work. `onWaiting` is called when a call made through it stops at a wait, or
   * when a child run that it started only waits: another part may then use its place. With `isOrdered`, child runs are reported as ended in
   * the order in which they ended, also when the function is repeated. Use that if the order decides something; without it, parts run as
   * fast as they can.
   */
  part?(onWaiting: OnWaiting, options?: PartOptions): NodeContext;
  /**
   * Adds to the cost of this attempt. Inside a step the cost belongs to the step. Otherwise it is recorded with the attempt's end or the
   * next `save`, and a function that runs again from its top has to report it again.
   * @throws NODE_CALL_REFUSED
   */
  spend(amounts: Amounts): void;
  /** Whether a budget names this unit: of the visit, of its run, or of anything that these are part of. */
  isBudgeted?(unit: string): boolean;
  /** What this run (or child run) had spent in the state that this activation sees, by unit. */
  readonly spent: Amounts;
  /**
   * Sends an event to those who watch the run. By default it is ephemeral (tokens, progress): sent at once to listeners in this process and
   * never stored. A recorded event becomes part of the history, together with the node's next recorded call or its outcome.
   *
   * @throws for a recorded event: NODE_CALL_REFUSED, ID_INVALID, VALUE_UNSTORABLE, VALUE_TOO_LARGE, CHECKPOINT_TOO_LARGE
   */
  emit(event: unknown, options?: EmitOptions): void;
  /**
   * Starts a span below the attempt's in the engine's telemetry (E10.4); returns undefined without telemetry. Spans are not recorded, so a
   * repeated function reports its spans again. To report only work that is really done, call this inside a step's function.
   */
  trace(name: string, parts?: SpanParts): TraceSpan | undefined;
  /**
   * Makes the attempt fail with this error, whatever its function returns or throws later; the first such error counts. For code that calls
   * libraries that might catch an error of this context and go on as if nothing had happened.
   */
  fail(error: unknown): void;
  readonly secrets: SecretReader;
  readonly blobs: BlobAccess;
  readonly files: FileAccess;
  /** Language models by name. Call a model inside a step of class `external` with `idempotent: true`, so that its answer is recorded. */
  readonly models: ModelAccess;
  /** What was recorded of this visit when the attempt began. For code that checks that it repeats itself. */
  readonly past: VisitPast;
  /**
   * The engine's clock, epoch ms. Recorded in a composed node, as `random` and `uuid` are: a repeated function gets what its n-th call gave
   * before, so it may stand in prompts and in inputs of steps. Inside a step, and in a `write` or `external` node, it is simply the time.
   * @throws RUN_LIMIT more calls than a visit may have steps
   */
  now(): number;
  /** A random number, uniform in [0, 1), recorded as `now` is. Not for secrets. @throws RUN_LIMIT */
  random(): number;
  /** A new UUIDv7, recorded as `now` is. @throws RUN_LIMIT */
  uuid(): string;
}

/** How a signal is received. */
export interface ReceiveOptions<Value = unknown> {
  /** False: only one that has come already is taken, and it is recorded that there was none, which gives undefined. Default true. */
  readonly waits?: boolean;
  /**
   * What the value must fit: a Standard Schema, such as Zod's. The value that it makes is returned. While a node waits, what is sent and
   * does not fit its JSON Schema is refused.
   */
  readonly schema?: StandardSchema<Value>;
  /** How long to wait, in ms from the first call on. The time is recorded. Default: as long as it takes. */
  readonly timeoutMs?: number;
  /** What is returned if no signal came in time. Without it, the call fails with NODE_TIMED_OUT. */
  readonly defaultValue?: unknown;
}

/** What `reconcile` gets about the activation in doubt. Its state is the one that the attempt saw (E9). */
export interface ReconcileContext {
  /** The key under which the attempt ran. */
  readonly idempotencyKey: string;
  readonly config: unknown;
  readonly state: StateView;
  readonly signal: AbortSignal;
}

/** Work that a node's function does beside the node's own class. */
export interface InnerWork {
  readonly effect: EffectClass;
  /** Whether a person is asked before each time that it acts. Default false. */
  readonly asks?: boolean;
  /** Whether it acts without asking because an agent in it is allowed to (A6). Default false. */
  readonly isAllowed?: boolean;
}

/** The code behind a node. */
export interface NodeImplementation {
  /** Does the work. Returns an output or an {@link Outcome}. A plain return creates no promise. */
  readonly run: (ctx: NodeContext) => unknown;
  /** Finds out whether this effect happened. Called first of all for an effect in doubt. */
  readonly reconcile?: (context: ReconcileContext) => Promise<Reconciliation> | Reconciliation;
  /**
   * Checks an output that somebody sets in a fork. Returns in a few words why this node would not give it, or undefined if it fits. May
   * throw if the state does not tell yet; it is called again when the outcome is taken. Default: any output fits.
   */
  readonly outputFault?: (output: unknown, state: StateView) => string | undefined;
  /**
   * What its function does beside the node's own class: in steps, in child runs that are found by a name, by the tools of a model. It says
   * whether a person is asked before an agent may run this node. Default: nothing.
   */
  readonly inside?: readonly InnerWork[];
  /**
   * Whether the work of a node of class `read` is done in its calls alone, so that a fork that cannot act runs its function and judges
   * each call (X7). Default false: the function itself reads.
   */
  readonly isComposed?: boolean;
  /** Whether an effect of its own is that it asks a model, as {@link StepOptions.isModelCall}. Default false. */
  readonly isModelCall?: boolean;
  /** Text covered by `codeHash`, as a hint that the code changed. Default: the source of `run`. */
  readonly codeText?: string;
}
