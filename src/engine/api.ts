/** The engine's public interface: what dialects, the command line and the MCP server call. */
import type { CheckOptions, RunCheck } from './run-check.ts';
import type { StandIns, WithoutEffects } from './without-effects.ts';
import type { CairnError } from '../errors.ts';
import type { Amounts } from '../graph/amounts.ts';
import type { Graph } from '../graph/graph.ts';
import type { StateView } from '../graph/contracts/node-contract.ts';
import type { FileAccess } from '../graph/contracts/access.ts';
import type { Failure } from '../history/read/failures.ts';
import type { WorkerAbout } from '../history/read/list-workers.ts';
import type { History } from '../history/history.ts';
import type { WholeCheckpoint } from '../history/read/whole-checkpoint.ts';
import type { CheckpointName, CheckpointPosition } from '../history/read/references.ts';
import type { OpenQuestion } from '../history/stored/wait-row.ts';
import type { RunOrigin, StoredMeta } from '../history/stored/stored-meta.ts';
import type { BlobStore } from '../ports/blobs.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { LeaseGuard } from '../ports/lease-guard.ts';
import type { Models } from '../ports/model.ts';
import type { Secrets } from '../ports/secrets.ts';
import type { Log } from '../ports/log.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { StartSchedule } from '../ports/schedule.ts';
import type { WebhookSettings } from '../ports/webhooks.ts';
import type { Claim, NextRequest, RunRow, Store } from '../ports/store.ts';
import type { RunStatus } from '../state/tree.ts';
import type { Bounds } from './bounds.ts';
import type { Monitor } from './monitor.ts';
import type { StreamEvent } from './run-events.ts';
import type { LimitRef } from '../graph/limit.ts';

export type { LiveEvent, RunEvent, StateEvent, StreamEvent } from './run-events.ts';
export type { Positions, RunProgress, WholeCheckpoint } from '../history/read/whole-checkpoint.ts';
export type { OpenQuestion } from '../history/stored/wait-row.ts';

/** What an engine is made of: its ports, its limits, and a way to find graphs. */
export interface EngineOptions {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly secrets?: Secrets;
  /**
   * Values that must never be stored. Each entry of `store` names a key at any depth (`pin`) or a path (`input.card.number`,
   * `outputs.login`, `scratch.*.pin`). Such a value is replaced by `[redacted]` as soon as it arrives, so the run itself does not see it
   * either. Default: nothing is redacted.
   */
  readonly redact?: { readonly store?: readonly string[] };
  /** The language models behind `ctx.models`. Without them every model call fails with MODEL_UNKNOWN. */
  readonly models?: Models;
  /** Receives spans and counters of runs, attempts, checkpoints and waits. Default: no telemetry. */
  readonly telemetry?: Telemetry;
  /** Receives what happens to runs, an event at a time; a logger of pino fits. Default: nothing is logged. */
  readonly log?: Log;
  /** Receives the counters alone; they cost less than a telemetry's spans. Default: only a telemetry counts. */
  readonly metrics?: Metrics;
  /** Version of the library, recorded when a run is started or resumed under a graph that has none. Default: not recorded. */
  readonly version?: string;
  /** How large, deep, many or slow things may be, where the defaults do not fit. */
  readonly bounds?: Partial<Bounds>;
  /** What `bounds` was called before limits over all workers were. @deprecated Write `bounds`. */
  readonly limits?: Partial<Bounds>;
  /** The tenant whose runs this engine sees. Default `default`. */
  readonly tenant?: string;
  /** How long a claim on a run holds without renewal. It is renewed when a third of this has passed. Default 10,000 ms. */
  readonly leaseMs?: number;
  /** Renews leases while the event loop is blocked. Default: none; engines made by `compile` and the commands have one. */
  readonly leaseGuard?: LeaseGuard | undefined;
  /** Advances suspects apart from this process, whoever resumes them here. Default: none; the engines of commands have one. */
  readonly isolation?: Isolation | undefined;
  /**
   * Whether this engine resumes paused runs by itself: when it records their answer or signal, and, for the runs that it advanced, when a
   * timer is due. `due`: only when a timer is due. Default false: paused runs wait for `resume` or for a worker. Engines made by `compile`
   * use true.
   */
  readonly wakes?: boolean | 'due';
  /** Tells webhooks what becomes of runs: `hooks` of all, those of a graph of its runs. Default: none, but for engines of `compile`. */
  readonly webhooks?: WebhookSettings | undefined;
  /** Decides when and where runs go on, in place of `wakes`: see {@link Engine.dispatchBy}. Default: no host. */
  readonly host?: RunWaker | undefined;
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

/** Kept with a run for whoever must find its graph again. */
export interface RunMeta extends Pick<StoredMeta, 'webhooks' | 'keepFor'> {
  /** Path or URL of the module or file that exports the graph. The name of the export is in `exportName`. */
  readonly source?: string;
  readonly exportName?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /**
   * Set on runs that were imported and are not trusted: their texts are held to the grants, and no module is imported because they name it.
   */
  readonly isImported?: true;
  /** Set on runs of a restored backup that is not trusted: their texts count as a file's only if a file here gives the same. */
  readonly isRestored?: true;
}

/**
 * Who acts on a run, and by which door. Doors tell it of their callers: nothing that a caller says of himself is in it, but for a name where
 * nobody else knows it.
 */
export interface Acting {
  /** Who acts, for the record. Default `person`: somebody without a name. */
  readonly by?: string;
  /** The roles of whoever acts: a question for `role:finance` takes the answers of those who have `finance`. Default none. */
  readonly roles?: readonly string[];
  /** By which door: `cli`, `http`, `mcp`, `chat`, `link`. Default: the library. */
  readonly door?: string;
  /**
   * `owner`: of the store, whose answer counts whomever a question is for. `program`: whoever acts is no person, and has no eyes of the four
   * that a question needs.
   */
  readonly as?: 'owner' | 'program';
  /** Hash of the answer link by which it came: such an answer is given once. */
  readonly link?: string;
}

/** How a run is started. */
export interface StartOptions extends Pick<Acting, 'by' | 'door' | 'as'> {
  /** Id of the new run. Default: a fresh UUIDv7. A second start with the same id returns the same run (E2). */
  readonly runId?: string;
  readonly meta?: RunMeta;
  /** Only record the run; leave it to a worker to advance it. Default false. */
  readonly detach?: boolean;
  /** What the run may spend, by unit. It replaces the graph's budget. */
  readonly budget?: Amounts;
  /** Queue, priority and due time, for workers that pick up detached runs. */
  readonly schedule?: StartSchedule;
  /** Bounds that the run is under beside those of its graph. */
  readonly limit?: LimitRef | readonly LimitRef[];
  /** W3C trace context that the run belongs to; recorded. Default: the telemetry's current one. */
  readonly traceparent?: string;
  /** For parts of the system, which start runs under ids that they derive: `cairn:ORIGIN:…`. Recorded, and held against a run that is there. */
  readonly origin?: RunOrigin;
}

export type { StandInCall, StandIns } from './without-effects.ts';

/** The file that a graph comes from, and the name of the export in it if it is a module. */
export interface GraphFile {
  readonly source: string;
  readonly exportName?: string;
}

/** How a run is resumed. */
export interface ResumeOptions extends Pick<Acting, 'door' | 'as'> {
  /** The graph to go on with; a graph written in code must be passed here. Default: the one that `findGraph` gives. */
  readonly graph?: Graph;
  /** W3C trace context of this resume; recorded. Default: the telemetry's current one, else the run's. */
  readonly traceparent?: string;
  /** If the run has failed, retry the activations that made it fail. Default true. */
  readonly retryFailed?: boolean;
  /**
   * Retry effects that reported their own failure (`applied: 'ended'`), as a command does with an exit code. Each keeps its idempotency
   * key. Default false: a person is asked whether the effect happened. A person is asked about all other effects in doubt in either case
   * (X3).
   */
  readonly retry?: boolean;
  /** The run's new budget in all, by unit. An open question about the old budget is closed. */
  readonly budget?: Amounts;
  /** Converts the run's state for a changed graph (H3). */
  readonly migrate?: (state: Readonly<Record<string, unknown>>) => Record<string, unknown>;
  /**
   * Go on although the changed graph has new effects at places that the run has already passed; they are never run (H3). Default false:
   * such a graph is refused with RUN_GRAPH_CHANGED.
   */
  readonly leaveOutAdded?: boolean;
  /** From here on any code may go on with the run, until some does: for workers that are pinned to a version (O3.2.3). Default false. */
  readonly anyVersion?: boolean;
  /**
   * What stands in for what a fork that cannot act would refuse: by the path or the id of a node, or by the name of a step or a tool (X7).
   */
  readonly standIns?: StandIns;
  /** Where `graph` comes from, if it was named: the run's file from then on, in place of the one that its meta names (H3). */
  readonly file?: GraphFile;
  /** Who resumes the run. Recorded with the resume. */
  readonly by?: string;
  /** Only record that the run goes on, and leave it to a worker to advance it. Default false. */
  readonly detach?: boolean;
}

/** A checkpoint, named by run and seq. The seq may belong to an ancestor of the run. */
export type CheckpointRef = CheckpointPosition;

/** The checkpoint that a name resolves to. */
export interface NamedCheckpoint extends CheckpointRef {
  /** `KEY.SEQ`. This id never changes, whatever is forked or pruned later. */
  readonly checkpointId: string;
  /** Whether it is the run's newest checkpoint at the moment. */
  readonly isHead: boolean;
}

/**
 * One change of state made by a fork. The path leads into `input`, `scratch`, `artifacts` or `diagnostics`, or is `outputs.NODE`, which
 * replaces a recorded outcome.
 */
export interface Patch {
  readonly path: readonly string[];
  readonly value: unknown;
  /** Takes a channel (`scratch.NAME` and the like) out of the state, as if nothing had set it. `value` says nothing then. */
  readonly isRemoved?: true;
}

/** What a fork does differently from the original run (H2). */
export interface ForkOptions extends Acting, WithoutEffects {
  /** Id of the fork. Default: a fresh UUIDv7. */
  readonly runId?: string;
  /** As in {@link StartOptions.origin}. */
  readonly origin?: RunOrigin;
  readonly set?: readonly Patch[];
  /**
   * Other answers to questions that the original was asked. Keys name the wait: by its id, the beginning of its id, its node or its name.
   * The fork starts just before the original answers were recorded.
   */
  readonly answers?: Readonly<Record<string, unknown>>;
  /**
   * Whether answers that are texts were typed by a person. If so, the label of a choice stands for its value, and `42` is a number unless
   * the question asks for text. Default false.
   */
  readonly readsTexts?: boolean;
  readonly graph?: Graph;
  /** Run pure nodes again even where a recorded outcome could be reused. */
  readonly rerunPure?: boolean;
  /**
   * Go on although the changed graph has new effects at places that the fork has already passed, as in {@link ResumeOptions.leaveOutAdded}.
   */
  readonly leaveOutAdded?: boolean;
}

/** What would happen to an activation. The values are explained in docs/spec/effects.md (X5). */
export type Prediction =
  | 'restored'
  | 'replayed'
  | 'reused'
  | 'runs again'
  | 'runs'
  | 'asks'
  | 'refused'
  | 'in doubt'
  | 'fails'
  | 'unknown';

/**
 * What to preview: a resume with these options, or a fork. It is a fork if the checkpoint is not the newest, if the options change
 * something, or if `asFork` is true.
 */
export interface PreviewOptions extends ForkOptions, Omit<ResumeOptions, 'traceparent'> {
  readonly asFork?: boolean;
}

/** One line of a preview: an activation and what becomes of it. */
export interface PreviewRow {
  readonly node: readonly string[];
  /** What the code calls the node now, if that is another name than the recorded one (G15). */
  readonly inCode?: string;
  readonly visit: number;
  readonly effect: string;
  readonly prediction: Prediction;
  /**
   * Why. For `unknown`: the nodes whose outcomes decide (`a or b`). For `replayed` and `reused`: where the outcome was recorded. For
   * `restored`, if the activation had not settled: `set by the fork` or `decided by …`. For `fails`: the error code.
   */
  readonly because?: string;
  /** What the activation cost when it was last run, by unit. Absent if it cost nothing or the cost is not known. */
  readonly cost?: Amounts;
  /**
   * Set on `unknown` rows that are due already but have no free place: they start when one of the nodes in `because` ends or begins to
   * wait.
   */
  readonly isQueued?: boolean;
  /**
   * For a function that is run: how many of its calls (steps, questions) have their end on record. Each is taken from there if the function
   * makes it again with the same input; any other is made.
   */
  readonly callsOnRecord?: number;
}

/** Why and how a run is cancelled. */
export interface CancelOptions extends Pick<Acting, 'door' | 'as'> {
  /** Why, in words: recorded, and part of the input of the node that runs after the cancel. */
  readonly reason?: string;
  /** Who cancels, for the record. */
  readonly by?: string;
  /** Ends the run without its `onCancel` node: leaves it out, or gives up on it where it has begun. The history says so. */
  readonly force?: boolean;
}

/** Where a run stands when it cannot be advanced further for now. */
export interface RunResult {
  readonly runId: string;
  readonly status: RunStatus;
  /** True if the run is recorded as running and its process has died: {@link Engine.inspect} says so, and lists show `stopped`. */
  readonly isStopped?: true;
  /** True if the run was admitted and nobody has taken it up yet, or if it waits in line for a place of a limit: {@link Engine.inspect} says so, and lists show `queued`. */
  readonly isQueued?: true;
  /** Where the run waits for a place of a limit that it is under: how many runs are before it, up to 1,000. Absent if it waits for none. */
  readonly queued?: { readonly key: string; readonly ahead: number };
  readonly seq: number;
  readonly state: StateView;
  readonly waits: readonly OpenQuestion[];
  /** The first error that made the run fail, such as NODE_FAILED. Set when the status is `failed`. */
  readonly error?: CairnError;
  readonly failed: readonly string[];
  /**
   * Why the nodes in `failed` failed, and what failed within them (steps, nodes of child runs): the newest attempt of each, in the order in
   * which they were recorded, at most 20. Absent if nothing failed, or if the history cannot be read any more.
   */
  readonly failures?: readonly Failure[];
  readonly skipped: readonly string[];
  /**
   * Nodes (`a`) and steps (`a/step`) without a declared effect class that the process before this one may have begun, that have no recorded
   * result, and that this one began again. What they did to the world outside may have happened twice. Absent if there are none.
   */
  readonly repeated?: readonly string[];
  /** What the run's finished attempts have cost, by unit. */
  readonly spent: Amounts;
  /** For a fork: what the outcomes that it took over had cost in the original run, by unit. */
  readonly saved: Amounts;
  /**
   * Signals that nothing has received, oldest first; {@link Engine.inspect} has those too that the run has not heard of. Absent if none came.
   */
  readonly unreceived?: readonly { readonly id: string; readonly name: string; readonly value: unknown }[];
}

/** A run that was started or resumed. */
export interface RunHandle {
  readonly runId: string;
  /** False if a run with this id existed already. */
  readonly created: boolean;
  /**
   * Resolves when the run has ended or is paused. Rejects only if the run could not be advanced (the store is gone, the claim was lost).
   */
  result(): Promise<RunResult>;
  /** Durable events after a seq (default: all), each once and in order, with live events in between. Ends when the run pauses or ends. */
  events(options?: { readonly after?: number; readonly live?: boolean }): AsyncIterable<StreamEvent>;
}

/** How long a run is advanced. */
export interface AdvanceOptions {
  /** After this time, in ms, nothing new starts. What runs ends by itself or at its deadline, and is recorded. */
  readonly forMs: number;
  /** Stops at once, as closing the engine does: work is aborted, and the claim is released. */
  readonly signal?: AbortSignal;
}

/**
 * Where a run stands after a slice of time, and when to advance it again. `running` and `cancelling`: at once. `paused`: at `dueAt` (epoch
 * ms) if there is one, and when a message comes; `asks` says whether somebody's answer or signal is awaited. `held`: another process has
 * it, or may still be in an effect of it, until then at the latest.
 */
export type AdvanceResult =
  | { readonly status: 'completed' | 'failed' | 'cancelled' }
  | { readonly status: 'running' | 'cancelling' }
  | { readonly status: 'paused'; readonly dueAt?: number; readonly asks: boolean }
  | { readonly status: 'held'; readonly by: string; readonly until: number };

/** What decides when and where runs go on, other than this process: a queue, a platform of functions, another engine. */
export interface RunWaker {
  /**
   * Asks it to advance a run at a time (epoch ms) or as soon as it can. A hint: it may come late, twice or never, so it should not take
   * long, and what it rejects with is ignored.
   */
  wake(runId: string, at: number): Promise<void>;
}

/** Which runs to claim (see `claimNext` of the store port), and how many at most. */
export interface TakeUpOptions extends Pick<NextRequest, 'graphs' | 'queues' | 'isPinned' | 'except' | 'limit'> {
  /** Gets each claimed run that is a suspect, in place of this engine's advancing it. Default: they are advanced like others. */
  readonly onSuspect?: (suspect: Suspect) => void;
}

/** What of a resume is told to the process that carries it out. */
export type ResumeApart = Pick<
  ResumeOptions,
  'traceparent' | 'retryFailed' | 'retry' | 'budget' | 'leaveOutAdded' | 'anyVersion' | 'by'
>;

/** A claimed run that is a suspect. Its claim is renewed until it is released or lost. */
export interface Suspect {
  readonly run: RunRow;
  readonly claim: Claim;
  /** How it is resumed. Default: as a worker does, which retries no failed run. */
  readonly resume?: ResumeApart;
  /** Aborted, with the error, when another worker has the run or the engine is closed. */
  readonly lost: AbortSignal;
  /** Advances it in this process after all. */
  advance(): Promise<RunHandle>;
  /** Gives the claim back. A second call has no effect. */
  release(): Promise<void>;
}

/** Advances suspects apart from this process, which is the witness of how that ends (O7). */
export interface Isolation {
  /**
   * Advances a suspect until it comes to rest, and fails the nodes that ended their process meanwhile. Gives its claim back, whatever
   * happens. @param signal - aborted when the worker stops
   * @returns whether it came to rest; if not, it is tried again later
   */
  advance(suspect: Suspect, signal: AbortSignal): Promise<boolean>;
  /** Resolves when what it advances now is at rest; undefined: it advances nothing. Two at once would take the memory of two. */
  readonly busy: Promise<void> | undefined;
}

/** How a suspect is advanced apart from other runs: one node at a time, and watched. */
export interface Apart {
  /** Why a node is not to be begun but fails: it has ended the process that ran it. */
  readonly condemned: (node: readonly string[]) => CairnError | undefined;
  /** Called before the function of a node is called, and when it has ended. */
  readonly onBegun: (node: readonly string[]) => void;
  readonly onEnded: (node: readonly string[]) => void;
}

/** A run that this engine claimed. */
export interface TakenRun {
  readonly runId: string;
  /** Rejects like `resume`; the claim has been released then. */
  readonly handle: Promise<RunHandle>;
}

/** The engine's ports, for code that works on the same runs: workers, hosts and readers of history. */
export interface EnginePorts extends Pick<EngineOptions, 'store' | 'blobs' | 'clock'> {
  readonly tenant: string;
  readonly bounds: Bounds;
  /** How long claims hold, and workers count as alive, in milliseconds. */
  readonly leaseMs: number;
  readonly leaseGuard?: LeaseGuard | undefined;
  readonly isolation?: Isolation | undefined;
  /** Tells the log and the counters; undefined if there are none. */
  readonly monitor?: Monitor | undefined;
}

/** How an answer is recorded. */
export interface AnswerOptions extends Acting {
  /** Whether answers that are texts were typed by a person; they are read as those of a fork are. Default false. */
  readonly readsTexts?: boolean;
  /** Do not resume the run because of this answer; the caller resumes it. Default false. */
  readonly stays?: boolean;
}

/** How a signal is sent. */
export interface SignalOptions extends Pick<Acting, 'by' | 'door' | 'as'> {
  /** Sending again with the same id has no effect. */
  readonly id?: string;
  /** Whether the id stands for this very signal: another one under it is SIGNAL_EXISTS, and is not sent. Default false. */
  readonly isOnlyThis?: boolean;
  /** Do not resume the run because of this signal. Default false. */
  readonly stays?: boolean;
}

/** How a run is signalled, and how it is started if there is none of its id. */
export interface SignalWithStartOptions extends SignalOptions, Omit<StartOptions, 'runId' | 'origin'> {}

/**
 * Starts, resumes, answers, forks and previews runs. Every method may also throw the errors of its store (STORE_UNAVAILABLE and the like).
 */
export interface Engine {
  readonly ports: EnginePorts;
  /**
   * Registers a graph. The engine then finds it for runs of its id for which `findGraph` gives none. Needed when several graphs share one
   * engine.
   */
  know(graph: Graph): void;
  /**
   * Tells the store that this engine's worker is alive, with the code of the graphs that it knows. @param aliveMs - how long it counts as
   *   alive; default: a lease; 0: it has stopped
   */
  tellAlive(about: WorkerAbout, aliveMs?: number): Promise<void>;
  /** Files of this engine's tenant. Put a file here, then pass its reference in an input, an answer or a signal. */
  readonly files: FileAccess;
  /** The histories of this engine's tenant: list, log, compare, name, verify, shorten and move them. */
  readonly history: History;
  /**
   * Records a new run durably, claims it and starts to advance it.
   * @throws INPUT_INVALID, FILE_NOT_FOUND, RUN_EXISTS, ID_INVALID
   */
  start(graph: Graph, input: unknown, options?: StartOptions): Promise<RunHandle>;
  /**
   * Claims a run and goes on with it. A completed run is returned as it is.
   * @throws RUN_NOT_FOUND, CLAIM_TAKEN, RUN_GRAPH_CHANGED, RUN_CANCELLED, CHECKPOINT_CORRUPT
   */
  resume(runId: string, options?: ResumeOptions): Promise<RunHandle>;
  /**
   * Advances a run for a slice of time, for hosts that call a function instead of keeping a process (docs/spec/hosts.md). It waits for no
   * timer and no retry. It may be called at any time, by anybody, and again: calls in one process join, other processes get `held`, and a
   * run that has ended or has nothing to do is not touched. A failed run is not tried again.
   * @throws RUN_NOT_FOUND, RUN_GRAPH_CHANGED, CONFIG_INVALID (its graph is not known here), CHECKPOINT_CORRUPT, USAGE_INVALID
   */
  advance(runId: string, options: AdvanceOptions): Promise<AdvanceResult>;
  /** Ids of the runs that can go on and that nobody advances, most urgent first: what a host wakes again (HO6). Claims nothing. */
  listClaimable(options: TakeUpOptions): Promise<readonly string[]>;
  /**
   * From now on this engine resumes no run by itself because of a message or a time: a host does. After each detached start, answer, signal
   * and cancel through this engine, and for the due times of runs that paused here, the host is woken. @param host - undefined: it finds
   * the runs by itself, as one that sweeps
   */
  dispatchBy(host: RunWaker | undefined): void;
  /** Advances a run under a claim that another process was granted, which lives on as the witness of how it ends (O7). */
  advanceApart(claim: Claim, apart: Apart, options?: ResumeApart): Promise<RunHandle>;
  /** Delivers what owners of runs owe to webhooks and did not come to deliver. @returns how many deliveries it found */
  sweepWebhooks(): Promise<number>;
  /** Claims the runs that have been due longest and advances them, as a worker does. Failed runs are not tried again. */
  takeUp(options: TakeUpOptions): Promise<readonly TakenRun[]>;
  /** How many runs that are advanced here have done nothing for a second but wait for places of limits. */
  readonly countAwaitingPlaces: () => number;
  /** Lets a run that is advanced here pause as soon as it waits for a time, however near, so that others go on with it then. */
  readonly letPause: (runId: string) => void;
  /**
   * Finds a checkpoint by name: `RUN` (its newest), `RUN@12`, `RUN@tag`, `RUN@head~2`, a checkpoint's id, or `{ runId, seq }`. RUN is a
   * run's id or its key. With `byPrefix` it may also be the beginning of one, if it is unique.
   * @throws RUN_NOT_FOUND, CHECKPOINT_NOT_FOUND, CHECKPOINT_PRUNED, CHECKPOINT_AMBIGUOUS
   */
  locate(name: CheckpointName, options?: { readonly byPrefix?: boolean }): Promise<NamedCheckpoint>;
  /**
   * Where a run stands now, or stood at an older checkpoint. The run is not advanced.
   * @throws RUN_NOT_FOUND, CONFIG_INVALID (its graph is not known here), CHECKPOINT_CORRUPT
   */
  inspect(runId: string, seq?: number): Promise<RunResult>;
  /**
   * A run at a checkpoint (default: its newest) as one value, with the result of each node. Reads the whole history up to there. @throws
   * the errors of {@link Engine.inspect}
   */
  checkpoint(runId: string, seq?: number): Promise<WholeCheckpoint>;
  /** The open waits of a run, without reading its state. @throws RUN_NOT_FOUND */
  waits(runId: string): Promise<readonly OpenQuestion[]>;
  /**
   * Answers an open wait. The answer is durable when the promise resolves. The process that owns the run picks it up. A paused run goes on
   * in this engine if it has `wakes`, otherwise at its next resume; with `stays` it never goes on because of the answer.
   * @returns the value recorded, which for a question with choices is the choice that was meant
   * @throws WAIT_NOT_FOUND, WAIT_CLOSED, ANSWER_INVALID, ANSWER_RESERVED (it is somebody else's: W8), FILE_NOT_FOUND
   */
  answer(runId: string, waitId: string, value: unknown, options?: AnswerOptions): Promise<unknown>;
  /**
   * Answers several waits, all or none: each answer is checked before the first is recorded.
   * @returns the values recorded, in order
   * @throws the errors of {@link Engine.answer}
   */
  answerAll(
    runId: string,
    answers: readonly (readonly [waitId: string, value: unknown])[],
    options?: AnswerOptions,
  ): Promise<readonly unknown[]>;
  /**
   * Sends a signal to a run. If no node waits for it yet, it is recorded as pending. Sending again with the same `id` has no effect. A
   * paused run goes on as it does after an answer.
   * @throws RUN_NOT_FOUND, RUN_FINISHED (it has completed or was cancelled), SIGNAL_INVALID (a node waits for it, and it does not fit its
   * schema), ID_INVALID, VALUE_UNSTORABLE, FILE_NOT_FOUND
   */
  signal(runId: string, name: string, value: unknown, options?: SignalOptions): Promise<void>;
  /**
   * Sends a signal to the run of an id, and starts it first if there is none, in one write. The input of a run that is there is not compared.
   * @throws RUN_ENDED (and nothing is recorded), RUN_EXISTS (it is of another graph), and what {@link signal} and {@link start} throw
   */
  signalWithStart(
    graph: Graph,
    runId: string,
    input: unknown,
    name: string,
    value: unknown,
    options?: SignalWithStartOptions,
  ): Promise<RunHandle>;
  /**
   * Cancels a run. If a process owns the run, that process does it; otherwise it happens at once. If its graph has an `onCancel`
   * node, that runs next, here if the graph is known here: until it has ended, the run is `cancelling` (E7.4).
   * @throws RUN_NOT_FOUND, RUN_FINISHED, USAGE_INVALID
   */
  cancel(runId: string, options?: CancelOptions): Promise<void>;
  /**
   * Makes a new run that continues from a checkpoint. The new run is not advanced; `resume` it.
   * @throws CHECKPOINT_NOT_FOUND, CHECKPOINT_PRUNED, WAIT_NOT_FOUND, ANSWER_INVALID, USAGE_INVALID (an answer fits several waits)
   */
  fork(from: CheckpointRef, options?: ForkOptions): Promise<CheckpointRef>;
  /**
   * Says what a resume or a fork would restore, replay and run, without running anything (X5). {@link PreviewOptions} says which of the two
   * is previewed.
   * @throws CHECKPOINT_NOT_FOUND, CHECKPOINT_PRUNED, WAIT_NOT_FOUND, ANSWER_INVALID, RUN_GRAPH_CHANGED
   */
  preview(from: CheckpointRef, options?: PreviewOptions): Promise<readonly PreviewRow[]>;
  /** What a run would do under other code. Nothing is written. @throws RUN_NOT_FOUND, STORE_* */
  check(runId: string, options?: CheckOptions): Promise<RunCheck>;
  /**
   * Durable events after a seq (default: all), with live events in between if this engine advances the run. Ends when the run is no longer
   * advanced.
   * @throws RUN_NOT_FOUND, CONFIG_INVALID
   */
  events(runId: string, options?: { readonly after?: number }): AsyncIterable<StreamEvent>;
  /** Aborts the work in progress, withdraws intents of effects that have not started, and releases all claims. */
  close(): Promise<void>;
}
