/** The engine's face: what dialects and doors call. */
import type { CairnError } from '../errors.ts';
import type { Amounts } from '../graph/amounts.ts';
import type { Graph } from '../graph/graph.ts';
import type { StateView } from '../graph/contracts/node-contract.ts';
import type { FileAccess } from '../graph/contracts/context-access.ts';
import type { History } from '../history/history.ts';
import type { CheckpointName, CheckpointPosition } from '../history/read/references.ts';
import type { Change } from '../history/stored/change.ts';
import type { OpenQuestion } from '../history/stored/open-waits.ts';
import type { BlobStore } from '../ports/blobs.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { Models } from '../ports/model.ts';
import type { Secrets } from '../ports/secrets.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { Schedule } from '../ports/schedule.ts';
import type { NextRequest, Store } from '../ports/store.ts';
import type { RunStatus } from '../state/tree.ts';
import type { Limits } from './limits.ts';

export type { OpenQuestion } from '../history/stored/open-waits.ts';

/** What an engine is made of: its ports, its limits, and how it finds graphs. */
export interface EngineOptions {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly secrets?: Secrets;
  /**
   * What is never stored. `store`: names of keys at any depth (`pin`), and places (`input.card.number`, `outputs.login`, `scratch.*.pin`).
   * `[redacted]` stands for such a value from then on, for the run as well. Default: all that a run is given is stored.
   */
  readonly redact?: { readonly store?: readonly string[] };
  /** What `ctx.models` calls. Without it a call fails with MODEL_UNKNOWN. */
  readonly models?: Models;
  /** Told of runs, attempts, checkpoints and waits. Default: nobody is. */
  readonly telemetry?: Telemetry;
  /** Of the library, recorded when a run is started or resumed. Default: not recorded. */
  readonly version?: string;
  readonly limits?: Partial<Limits>;
  /** Default `default`. */
  readonly tenant?: string;
  /** Default 30,000 ms; renewed at a third. */
  readonly leaseMs?: number;
  /**
   * Whether runs that paused go on here by themselves: at once when this engine is given their answer or signal, and when their due
   * time comes, those that it advanced. Default false: they wait for `resume`, or a worker. `compile` makes engines with true.
   */
  readonly wakes?: boolean;
  /**
   * Finds the graph of a run, for workers and for commands that have only a run id.
   * @param readText - gives the text that the run was started from, if its graph had one (H3)
   */
  readonly findGraph?: (
    graphId: string,
    graphHash: string,
    meta: RunMeta,
    readText: () => Promise<string | undefined>,
  ) => Graph | undefined | Promise<Graph | undefined>;
}

/** What is kept beside a run for those who must find its graph again. */
export interface RunMeta {
  /** Path or URL of the module or file, and the export in it. */
  readonly source?: string;
  readonly exportName?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** How a run is admitted. */
export interface StartOptions {
  /** Default: a fresh UUIDv7. Starting twice with one id is the same run (E2). */
  readonly runId?: string;
  readonly meta?: RunMeta;
  /** Admit only; do not advance. */
  readonly detach?: boolean;
  /** What it may spend, by unit, in place of what the graph says. */
  readonly budget?: Amounts;
  /** When workers take it up, and from which queue; for runs that are detached. */
  readonly schedule?: Schedule;
  /** W3C trace context that the run belongs to; recorded. Default: what the telemetry says. */
  readonly traceparent?: string;
}

/** How a run goes on. */
export interface ResumeOptions {
  /** Code graphs come from the caller; default: `findGraph`. */
  readonly graph?: Graph;
  /** W3C trace context of this resume; recorded. Default: what the telemetry says, else the run's. */
  readonly traceparent?: string;
  /** Retry activations that failed a failed run. Default true. */
  readonly retryFailed?: boolean;
  /**
   * Try again, each under its key, effects of a failed run that ended and said that they failed (`applied: 'ended'`, as commands do with
   * an exit code). Default false: a person is asked whether they happened. What else is in doubt is asked about either way (X3).
   */
  readonly retry?: boolean;
  /** What it may spend in all, by unit, from now on: raises the run's budget. The question about it is closed. */
  readonly budget?: Amounts;
  /** Moves a run's state under a changed graph (H3). */
  readonly migrate?: (state: Readonly<Record<string, unknown>>) => Record<string, unknown>;
  /** Go on though the changed graph has effects where the run is past already: they are never run (H3). Default false: RUN_GRAPH_CHANGED. */
  readonly leaveOutAdded?: boolean;
  /** Adds to the run's stored meta nothing; names who resumes, for the record. */
  readonly by?: string;
}

/** A checkpoint by run and seq; the seq may be an ancestor's. */
export type CheckpointRef = CheckpointPosition;

/** What a name stands for. */
export interface NamedCheckpoint extends CheckpointRef {
  /** `KEY.SEQ`: stays what it is, whatever is forked or pruned around it. */
  readonly checkpointId: string;
  /** Whether it is the newest of its run, as it is now. */
  readonly isHead: boolean;
}

/** One change of state made by a fork: a dotted path under input, scratch, artifacts, diagnostics, or `outputs.NODE` (a recorded outcome). */
export interface Patch {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** What a fork changes (H2). */
export interface ForkOptions {
  readonly runId?: string;
  readonly set?: readonly Patch[];
  /** Other answers, by wait: its id, its node, its name, or the beginning of its id. The fork begins just before they were given. */
  readonly answers?: Readonly<Record<string, unknown>>;
  /** Who gives these answers, for the record. Default `person`. */
  readonly by?: string;
  /** Texts among these answers are what somebody typed: a label is its choice, `42` a number unless texts are asked for. Default false. */
  readonly readsTexts?: boolean;
  readonly graph?: Graph;
  /** Run pure nodes again even where a recorded outcome could be reused. */
  readonly rerunPure?: boolean;
  /** As in a resume: go on though effects were added where the fork is past already. */
  readonly leaveOutAdded?: boolean;
}

/** What becomes of an activation: docs/spec/effects.md, X5. */
export type Prediction =
  'restored' | 'replayed' | 'reused' | 'runs again' | 'runs' | 'asks' | 'in doubt' | 'fails' | 'unknown';

/** What is previewed: a resume as its options say, or the fork that these describe; `asFork`: a fork even of the newest checkpoint, unchanged. */
export interface PreviewOptions extends ForkOptions, Omit<ResumeOptions, 'traceparent'> {
  readonly asFork?: boolean;
}

/** One line of a preview: an activation and what becomes of it. */
export interface PreviewRow {
  readonly node: readonly string[];
  readonly visit: number;
  readonly effect: string;
  readonly prediction: Prediction;
  /** For `unknown`: the nodes whose outcomes decide, `a or b`. For `replayed`, `reused`: where it was recorded. For `restored`: why it is, if it had not settled: `set by the fork`, `decided by …`. For `fails`: the code. */
  readonly because?: string;
  /** What it cost when it was last done, by unit. Absent: nothing, or it is not known. */
  readonly cost?: Amounts;
  /** Of what is `unknown`: it is due already, and only waits until one of the nodes named has ended, or waits, and leaves it room. */
  readonly isQueued?: boolean;
}

/** Where a run stands when nothing more can be done for it now. */
export interface RunResult {
  readonly runId: string;
  readonly status: RunStatus;
  readonly seq: number;
  readonly state: StateView;
  readonly waits: readonly OpenQuestion[];
  /** Set when the status is `failed`: NODE_FAILED and its like, the first that failed the run. */
  readonly error?: CairnError;
  readonly failed: readonly string[];
  readonly skipped: readonly string[];
  /** What its attempts have cost that ended, by unit. */
  readonly spent: Amounts;
  /** Of a fork: what the outcomes that it took over had cost where they were recorded. */
  readonly saved: Amounts;
}

/** A durable event: what one checkpoint did. */
export interface RunEvent {
  readonly type: 'checkpoint';
  readonly runId: string;
  readonly seq: number;
  /** What doors call the checkpoint; of an ancestor's, that ancestor's. */
  readonly checkpointId: string;
  /** Epoch ms; information only. */
  readonly at: number;
  readonly change: Change;
}

/** Sent instead of history that was pruned: the state at the oldest kept checkpoint; what follows comes after it. */
export interface StateEvent {
  readonly type: 'state';
  readonly runId: string;
  readonly seq: number;
  readonly checkpointId: string;
  readonly state: StateView;
}

/**
 * Travels between durable events and is never stored. `waiting` has the wait in its detail (`waitId`, `wait`), or, where an effect
 * that another process began is waited for, who may still be in it and until when (`owner`, `until` in epoch ms).
 */
export interface LiveEvent {
  readonly type: 'started' | 'emitted' | 'retrying' | 'waiting' | 'settled';
  readonly runId: string;
  /** The seq it follows. */
  readonly after: number;
  readonly node: readonly string[];
  readonly detail: unknown;
}

/** Whatever a stream of a run's events yields. */
export type StreamEvent = RunEvent | StateEvent | LiveEvent;

/** A run that was started or taken up. */
export interface RunHandle {
  readonly runId: string;
  /** False: a run of this id existed. */
  readonly created: boolean;
  /** Resolves when the run has ended or is paused; rejects only when the run could not be advanced (store gone, claim lost). */
  result(): Promise<RunResult>;
  /** Durable events after a seq (default: all), once and in order, with live events between; ends when the run pauses or ends. */
  events(options?: { readonly after?: number; readonly live?: boolean }): AsyncIterable<StreamEvent>;
}

/** Which runs to take up (see `claimNext` of the store port), and how many at most. */
export type TakeUpOptions = Pick<NextRequest, 'graphs' | 'queues' | 'except' | 'limit'>;

/** A run that was claimed to be advanced here. */
export interface TakenRun {
  readonly runId: string;
  /** Rejects as `resume` does; the claim is given back then. */
  readonly handle: Promise<RunHandle>;
}

/** What an engine works with, for those who work beside it over the same runs: a worker, a reader of history. */
export interface EnginePorts extends Pick<EngineOptions, 'store' | 'blobs' | 'clock'> {
  readonly tenant: string;
}

/** How answers are given. */
export interface AnswerOptions {
  /** Who gives them, for the record. Default `person`. */
  readonly by?: string;
  /** The run does not go on here because of them: a resume follows. Default false. */
  readonly stays?: boolean;
}

/** Admits, resumes, answers, forks and previews runs. Every method may also throw what its store throws (STORE_UNAVAILABLE and its like). */
export interface Engine {
  readonly ports: EnginePorts;
  /** Finds this graph from now on, for runs of its id for which `findGraph` has none: when an engine is shared by several graphs. */
  know(graph: Graph): void;
  /** Files of this engine's tenant: put one here, and hand its reference over in an input, an answer or a signal. */
  readonly files: FileAccess;
  /** The histories of this engine's tenant: listed, logged, compared, named, checked, shortened, moved. */
  readonly history: History;
  /** Admits a run durably, claims it and advances it. @throws INPUT_INVALID, FILE_NOT_FOUND, RUN_EXISTS, ID_INVALID */
  start(graph: Graph, input: unknown, options?: StartOptions): Promise<RunHandle>;
  /** Claims a run and advances it. A completed run is returned as it is. @throws RUN_NOT_FOUND, CLAIM_TAKEN, RUN_GRAPH_CHANGED, RUN_CANCELLED, CHECKPOINT_CORRUPT */
  resume(runId: string, options?: ResumeOptions): Promise<RunHandle>;
  /** Claims the runs that have been due longest and advances them, as workers do: failed runs stay as they are. */
  takeUp(options: TakeUpOptions): Promise<readonly TakenRun[]>;
  /**
   * The checkpoint that a name stands for: `RUN` (its newest), `RUN@12`, `RUN@tag`, `RUN@head~2`, a checkpoint's id, or
   * `{ runId, seq }`. RUN is a run's id or its key; with `byPrefix` also the beginning of one, if no other begins so.
   * @throws RUN_NOT_FOUND, CHECKPOINT_NOT_FOUND, CHECKPOINT_PRUNED, CHECKPOINT_AMBIGUOUS
   */
  locate(name: CheckpointName, options?: { readonly byPrefix?: boolean }): Promise<NamedCheckpoint>;
  /** Where a run stands, or stood at an older checkpoint, without advancing it. @throws RUN_NOT_FOUND, CONFIG_INVALID (its graph is not known here), CHECKPOINT_CORRUPT */
  inspect(runId: string, seq?: number): Promise<RunResult>;
  /** The open waits of a run, without reading its state. @throws RUN_NOT_FOUND */
  waits(runId: string): Promise<readonly OpenQuestion[]>;
  /** Answers an open wait; durable when it resolves. The owner takes it; a paused run goes on here if this engine `wakes`, else at the next resume. `stays`: it does not, for a resume follows. @returns the value recorded: the choice that was meant. @throws WAIT_NOT_FOUND, WAIT_CLOSED, ANSWER_INVALID, FILE_NOT_FOUND */
  answer(runId: string, waitId: string, value: unknown, options?: AnswerOptions): Promise<unknown>;
  /** Several of them or none: nothing is given before each is known to fit. @returns the values recorded, in order. @throws as {@link Engine.answer} */
  answerAll(
    runId: string,
    answers: readonly (readonly [waitId: string, value: unknown])[],
    options?: AnswerOptions,
  ): Promise<readonly unknown[]>;
  /** Sends a signal; kept if it comes early. `id` makes a repeated send the same signal. The run goes on as after an answer. @throws RUN_NOT_FOUND, RUN_FINISHED it has completed or was cancelled, ID_INVALID, VALUE_UNSTORABLE, FILE_NOT_FOUND */
  signal(runId: string, name: string, value: unknown, options?: { readonly id?: string }): Promise<void>;
  /** Asks the run's owner to cancel it; cancels it at once if nobody owns it. @throws RUN_NOT_FOUND, RUN_FINISHED */
  cancel(runId: string): Promise<void>;
  /** Makes a new run that continues from a checkpoint; it is not advanced. @throws CHECKPOINT_NOT_FOUND, CHECKPOINT_PRUNED, WAIT_NOT_FOUND, ANSWER_INVALID, USAGE_INVALID an answer fits several waits */
  fork(from: CheckpointRef, options?: ForkOptions): Promise<CheckpointRef>;
  /** Says what a resume or a fork would restore, replay and run, without running anything (X5). It is a fork that is previewed where the checkpoint is not the newest, where something is changed, and where `asFork` says so. @throws CHECKPOINT_NOT_FOUND, CHECKPOINT_PRUNED, WAIT_NOT_FOUND, ANSWER_INVALID, RUN_GRAPH_CHANGED */
  preview(from: CheckpointRef, options?: PreviewOptions): Promise<readonly PreviewRow[]>;
  /** Durable events after a seq (default: all), with live ones between if the run is advanced here; ends when it is not advanced any more. @throws RUN_NOT_FOUND, CONFIG_INVALID */
  events(runId: string, options?: { readonly after?: number }): AsyncIterable<StreamEvent>;
  /** Aborts what runs here, withdraws intents not started, releases claims. */
  close(): Promise<void>;
}
