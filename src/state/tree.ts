/** The tree that holds a run's whole state (C1). It is plain data, mutable inside the engine, and changed only together with a delta. */
import type { Amounts } from '../graph/amounts.ts';

/** Cost and budget of a run, a visit or a step. Absent fields mean no cost, or what the graph declares. */
export interface Account {
  /** What attempts that have ended cost, by unit. It is also included in the accounts of the visit and runs around it. */
  spent?: Amounts;
  /**
   * For a fork: what the outcomes that it took over had cost in the original. Interfaces call this `saved`; the field `saved` of a record
   * is something else.
   */
  spared?: Amounts;
  /** The budget, if it differs from the graph's: it was set at the start, or raised later. */
  budget?: Amounts;
  /** Set if a person decided that what exceeds the budget fails. Absent: as the graph declares. */
  onBudget?: 'fail';
}

/** A frame: the state of a run, or of a child run inside of its parent's (W6). */
export interface FrameTree extends Account {
  /** The input, frozen. */
  input: unknown;
  /** The partitions scratch, artifacts and diagnostics. Their top-level keys are the channels. */
  channels: Record<string, Record<string, unknown>>;
  /** Data that reducers keep beside a channel (such as the count of a running mean), by channel path. */
  aux?: Record<string, unknown>;
  /** Last writer of each channel without a reducer, as [node id, epoch], by channel path (E5). */
  writers?: Record<string, readonly [string, number]>;
  nodes: Record<string, NodeRecord>;
  /** Rounds of loops by loop id. Absent: the loop is in its first round. */
  loops?: Record<string, LoopRecord>;
  /** Number of loop rounds opened in this frame. Records carry it, so that those of earlier rounds can be distinguished. */
  epoch?: number;
  /** For a child run: id of the node it began at, if that was not its graph's start. */
  entry?: string;
  /** For a child run: hash of the input it was called with. Absent in histories written before it was recorded. */
  given?: string;
  /** For a child run: id of its graph. Absent in histories written before it was recorded. */
  graph?: string;
  /** For a child run whose graph has migrations: the version that its state has. Absent: 1. */
  stateVersion?: number;
  /** For a child run: signals that its parent sent before they were waited for, in order. */
  signals?: Record<string, PendingSignal>;
  /** For a child run: set if its parent cancelled it, with the reason. */
  cancelled?: string;
  /** For a child run that outlived a save of its parent: number of saves before it began. */
  born?: number;
  /** For a child run: set if the run is a fork that went on without it, so that it is the original's (see {@link StepRecord.left}). */
  left?: true;
  /** For a child run that has ended: see {@link StepRecord.order}. */
  order?: number;
  /** For a child run: id of the node whose failure was not handled, until its parent is retried. */
  failure?: string;
  /**
   * Ids of nodes with `onFailure: 'fail-last'` that failed. Their visits stay open; nothing starts them before a resume of the failed run.
   */
  failedNodes?: Record<string, true>;
}

/** A signal that came before it was waited for. */
export interface PendingSignal {
  readonly signal?: string;
  readonly value: unknown;
  readonly by?: string;
}

export interface LoopRecord {
  /** The frame's epoch when this round was opened. */
  readonly since: number;
  /** Number of the round, counted from 1. */
  readonly round: number;
  /** Ids of the heads that this round started. */
  readonly heads: readonly string[];
}

export type NodeStatus = 'started' | 'waiting' | 'completed' | 'failed' | 'skipped' | 'cancelled';

/** The record of a node's last visit. `fired` is present if and only if that visit has settled. */
export interface NodeRecord extends Account {
  status: NodeStatus;
  /** Number of visits so far, this one included. Absent: 1. */
  visits?: number;
  /** Number of the running or last attempt. Absent: 1. */
  attempt?: number;
  /** The frame's epoch when the visit began. Absent: 0. */
  epoch?: number;
  output?: unknown;
  /** Set if the output is the list of the steps' outputs (map nodes). Then it is stored only with the steps. */
  outputOfSteps?: StepOrder;
  /** Name under which artifacts show the output, for readers of the tree that do not have its graph. */
  as?: string;
  error?: unknown;
  /** Ids of the nodes to which the outcome routed. */
  goto?: readonly string[];
  /** What a node that completed says of its own work, if it did not quite succeed: a word such as `fail`. */
  verdict?: string;
  /** `no`: the failed attempt certainly had no effect. `ended`: it ended by itself and reported failure (X3). */
  applied?: 'no' | 'ended';
  /** Outcome of an attempt whose reducer or condition failed. A retry continues from it and does not run the node again (G6). */
  kept?: SavedOutcome;
  /** A person's decision about an effect in doubt. The next start uses it up. */
  decision?: unknown;
  /** Keys of the edges that this visit fired. */
  fired?: readonly string[];
  /** Edges that leave loops or lead back, fired by this or earlier visits and not used yet: [edge key, epoch]. */
  held?: readonly (readonly [string, number])[];
  /** The edges that a `first` join used when it started: [source id, edge key]. */
  took?: readonly (readonly [string, string])[];
  /** Seq of the checkpoint whose state the activation sees. Set once it has recorded an intent, a step or a wait (E9). */
  view?: number;
  /** What the visit has read of that state so far, if its node does not declare what it reads: a part of its input (X2). */
  reads?: readonly string[];
  /** An effect that was started and has no recorded result. */
  intent?: Intent;
  /** Recorded steps, questions, timers and signals of this visit, in order. */
  steps?: Record<string, StepRecord>;
  children?: Record<string, FrameTree>;
  /** How often `ctx.save` was called. It makes the keys of later steps differ from those of retired ones. */
  saves?: number;
  /** The inner state saved by `ctx.save`. */
  saved?: unknown;
  /** Written by `ctx.retire`: where the function goes on, and how many calls of each name were retired. */
  retired?: RetiredCalls;
  /** Items added by `ctx.append`, for each list of this visit: one array for each call, in call order. */
  lists?: Record<string, (readonly unknown[])[]>;
  /** In a fork that went on otherwise: by list, how many of its calls are the original's, and may be others. */
  listsLeft?: Record<string, number>;
  /** For each list, how many calls came before the last `ctx.save` or `ctx.retire` and are not repeated. */
  listsFrom?: Record<string, number>;
  /** For each name, how many recorded events this visit has emitted; they are not emitted again. */
  events?: Record<string, number>;
  /** How many of those came before the last `ctx.save` or `ctx.retire`. */
  eventsFrom?: Record<string, number>;
  /** What the function got of `ctx.now()`, `ctx.random()` and `ctx.uuid()` since its last save or retirement, in order. */
  drawn?: Partial<Record<DrawnKind, readonly DrawnValue[]>>;
  /** When the next attempt may start, in epoch ms. */
  retryAt?: number;
  /** Deadline of the attempt, in epoch ms. */
  deadlineAt?: number;
  /** Its retry policy allows more attempts, and none was made, since the effect of the last may have happened (X3.3). */
  withheld?: true;
  /** How its effect ended, if a process told that had lost the run. The next judge uses it up (O2.8). */
  told?: ToldEnd;
  /** Number of attempts before the current retry budget. A resume of a failed run starts a new one (G8). */
  budgetFrom?: number;
  /**
   * How an open visit with calls on record goes on, until its function has come to a new call: in a fork that was made within it, for the
   * code that the fork was given (`forked`) or for that of its first resume (`forked-for-any`); or under other code than that which made
   * those calls (`recoded`).
   */
  continued?: 'forked' | 'forked-for-any' | 'recoded';
}

/** The record of a node of a frame. Ids are any text, `__proto__` too. */
export function nodeRecord({ nodes }: FrameTree, { id }: { readonly id: string }): NodeRecord | undefined {
  return Object.hasOwn(nodes, id) ? nodes[id] : undefined;
}

export type DrawnKind = 'now' | 'random' | 'uuid';
export type DrawnValue = number | string;

/** Keys of steps in call order; true if the record has them in that order already. */
export type StepOrder = true | readonly string[];

export interface RetiredCalls {
  readonly from: unknown;
  readonly calls: Readonly<Record<string, number>>;
}

export interface SavedOutcome {
  readonly output?: unknown;
  readonly outputOfSteps?: StepOrder;
  /** Updates that were not applied, by partition. */
  readonly updates?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly goto?: readonly string[];
  readonly verdict?: string;
}

/** How an attempt ended, as the process told that had made it and lost the run. */
export type ToldEnd = { readonly spent?: Amounts } & (
  | { readonly end: 'completed'; readonly outcome: SavedOutcome }
  | { readonly end: 'failed'; readonly error: unknown; readonly applied?: 'no' | 'ended' }
);

export interface Intent {
  readonly key: string;
  readonly attempt: number;
  /** Until when the worker that started the effect may still be running it, in epoch ms (O2). */
  readonly deadlineAt: number;
  /** The worker that started it. */
  readonly by?: string;
  /** What the call does, in words. */
  readonly about?: string;
  /** Nobody is asked about it if the function does not make the call again. */
  readonly forgettable?: true;
  /** To repeat it under its key does nothing again. */
  readonly idempotent?: true;
}

/** Kinds of recorded calls. `call` is something done to a child run, such as a signal. */
export type StepKind = 'step' | 'ask' | 'sleep' | 'signal' | 'run' | 'doubt' | 'call';

export interface StepRecord extends Pick<Account, 'spent' | 'spared'> {
  kind: StepKind;
  /** `open`: a wait. `started`: an intent. `failed`: its error is final for this attempt of the activation. */
  status: 'open' | 'started' | 'done' | 'failed';
  output?: unknown;
  error?: unknown;
  effect?: string;
  /** A person's decision about this step in doubt. The next start of the step uses it up. */
  decision?: unknown;
  applied?: 'no' | 'ended';
  /** Hash of the step's input. */
  hash?: string;
  attempt?: number;
  intent?: Intent;
  /** Wait id. */
  wait?: string;
  /** Of a question with a deadline: which of the visit's `drawn.now`, [from, to), were drawn for it. */
  drew?: readonly [number, number];
  /** Of a question: hash of the question. An answer is used for that question only. Absent in older histories. */
  asked?: string;
  /** Of a wait: hash of the code that opened it. Absent in older histories. */
  code?: string;
  /** Of a question that was opened anew under the same code, because it differed: its words. If it differs again, it fails. */
  again?: string;
  /** Who answered, and (`at`) when (W3). */
  by?: string;
  at?: number;
  /**
   * If several calls were open at once: the position in which this one ended among its visit's calls. Results are returned in this order.
   */
  order?: number;
  /** When a timer or a deadline is due, in epoch ms. */
  dueAt?: number;
  retryAt?: number;
  /** A fork has made another call without making this one, which it had from its original. */
  left?: true;
  /** See {@link NodeRecord.withheld}. */
  withheld?: true;
  /** See {@link NodeRecord.told}. */
  told?: ToldEnd;
}

export type RunStatus = 'running' | 'paused' | 'cancelling' | 'completed' | 'failed' | 'cancelled';

/** Whether a run is under way: it goes on without a message, and waits for nothing but its owner. */
export function isUnderWay(status: RunStatus): boolean {
  return status === 'running' || status === 'cancelling';
}

/** Whether a run has ended. One that failed goes on only if somebody resumes it. */
export function isRunOver(status: RunStatus): boolean {
  return !isUnderWay(status) && status !== 'paused';
}

/** The root of a run's tree. */
export interface RunTree {
  status: RunStatus;
  /** Hash of the graph that the run was last advanced under. */
  graphHash: string;
  codeHash?: string;
  /** Version of the channels' form, as the graph's migrations count it. Absent: 1. */
  stateVersion?: number;
  /** Structure (as JSON) and source text of that graph, if it is not the one the run was started with (H3). */
  definition?: GraphDefinitionRecord;
  /** Errors of the activations that made the run fail, by node path joined with `/`. */
  failures?: Record<string, unknown>;
  /** Set from the moment at which a cancelled run has stopped what it did, if its graph has an `onCancel` node (E7.4). */
  cancel?: CancelRecord;
  /** Set from the moment at which a run that fails has stopped what it did, if its graph has an `onRunFailure` node (E7.5). */
  failing?: FailingRecord;
  /** How the run's time is counted, where that is not from its admission on (E6.10). */
  time?: RunTime;
  /** Open waits by id. */
  waits: Record<string, WaitRecord>;
  /** Signals that came before they were waited for, in order of arrival. */
  signals?: Record<string, PendingSignal>;
  /** For a fork: its patched channels, until the routing decisions that read them were taken again (H2). */
  patched?: readonly string[];
  /** For a fork: visits that were open at its fork point and had read what it changed, by node id. They are due again (H2.4). */
  reopened?: Record<string, ReopenedVisit>;
  /** Outcomes that a fork sets in place of recorded ones, by node path key. */
  supplied?: Record<string, unknown>;
  /**
   * For each node path key, the last recorded outcome that a fork took over: [run id, seq]. Each record is used once, in recorded order
   * (X2).
   */
  replayed?: Record<string, readonly [runId: string, seq: number, nth?: number]>;
  /**
   * The nodes whose pure work a fork runs again although a recorded outcome could be reused: all, because that was requested or it is not
   * known whose code changed; or those whose code did, by id.
   */
  rerunPure?: boolean | readonly string[];
  /** Set on a fork that cannot act, and on all that are forked from it (X7). */
  noEffects?: NoEffects;
  /**
   * Whether the run was restored from a backup and released: effects with a `reconcile` are looked up before they begin, since the run may
   * have done them after the backup was made (B3).
   */
  released?: true;
  /** Set by a process that gave the run back while functions of nodes ran, until the run goes on: they may have done something. */
  left?: true;
  /** Names of the secrets that nodes have used, sorted. A resume resolves them before it starts anything. */
  secrets?: readonly string[];
  frame: FrameTree;
}

/** How a fork goes on that cannot act: effects are taken from the record, and what the record does not have is refused. */
export interface NoEffects {
  /** `live`: reads without a record are made. Absent: they are refused. */
  readonly reads?: 'live';
  /** `run`: functions without a declared effect class run. Absent: they are refused. */
  readonly undeclared?: 'run';
  /** Whether models are asked anew where an answer is on record. */
  readonly resample?: true;
  /** The model that nodes ask in place of their own, by the id of the node or its path joined with `/`. What they asked is asked anew. */
  readonly nodeModels?: Readonly<Record<string, string>>;
  /** The nodes, by path joined with `/`, whose pure work runs again whatever is on record. */
  readonly rerun?: readonly string[];
  /** Up to which place of the record, a seq and a part of its change, nothing runs again. */
  readonly upTo?: readonly [seq: number, index: number];
  /** Answers that are given in place of the recorded ones, by the name or the node of their question. */
  readonly answers?: Readonly<Record<string, unknown>>;
  /** How far its own time has come, in epoch ms: to the last timer that ended past the record. */
  readonly now?: number;
}

/** A visit that a fork begins anew. */
export interface ReopenedVisit {
  readonly visit: number;
  /** The first and the last seq of the ancestors' checkpoints that may tell what it did there. */
  readonly from: number;
  readonly to: number;
  /** The channels that it had read and the fork changed. */
  readonly changed: readonly string[];
}

/** Why a run was cancelled, and what a fork of it needs that its `onCancel` node does not see. */
export interface CancelRecord {
  /** Id of the `onCancel` node. */
  readonly node: string;
  readonly at: number;
  readonly reason?: string;
  readonly by?: string;
  /** The waits that were open. */
  readonly waits: Readonly<Record<string, WaitRecord>>;
}

/** Why a run fails, while its `onRunFailure` node runs, and what is put back when that has ended. */
export interface FailingRecord {
  /** Id of the `onRunFailure` node. */
  readonly node: string;
  /** How often the node has been begun for this run: each failure after a resume is another visit. */
  readonly visit: number;
  readonly at: number;
  readonly failures: Readonly<Record<string, unknown>>;
  /** The waits that were open. */
  readonly waits: Readonly<Record<string, WaitRecord>>;
  /** Whether the run was resumed since, so that only the count of visits matters. */
  readonly isOver?: true;
}

/** What of a run's time limit is used. */
export interface RunTime {
  /** From when on time counts, in epoch ms. Absent: it does not count now, as the run is paused. */
  readonly since?: number;
  /** What was used before, in ms. */
  readonly usedMs?: number;
}

/** The node that a run is occupied with instead of its graph: what follows a cancel or its failure. Undefined: the run goes its way. */
export function followUpOf({
  cancel,
  failing,
}: Pick<RunTree, 'cancel' | 'failing'>): { readonly node: string; readonly visit: number } | undefined {
  if (cancel !== undefined) return { node: cancel.node, visit: 1 };
  return failing === undefined || failing.isOver === true ? undefined : failing;
}

export interface GraphDefinitionRecord {
  readonly structure: string;
  readonly text?: string;
  /** The file that a resume named, if it is another one than the run was started with, and the name of the export in it. */
  readonly source?: string;
  readonly exportName?: string;
}

export interface WaitRecord {
  kind: 'question' | 'timer' | 'signal' | 'doubt' | 'retry' | 'refused';
  /** Path of the frame and node id: see NodePath. */
  node: readonly string[];
  /** Key of the step that holds the wait; absent for waits of the activation itself. */
  step?: string;
  name: string;
  prompt?: string;
  choices?: readonly unknown[];
  /** How an answer is matched with the choices. Absent: it must equal one. */
  matching?: 'exact' | 'lenient' | 'open';
  /** JSON Schema that the answer to a question must fit, or that a signal must fit to be accepted. */
  schema?: unknown;
  metadata?: unknown;
  /** Whether the answer permits what a model wants to do. */
  isApproval?: true;
  /** Whose question it is. Absent: it is for those who run the workflow. */
  audience?: 'user';
  /** Whose answers are taken: people by name, and roles (`role:finance`). Absent: everybody's. */
  for?: readonly string[];
  /** Name of a question that another person must have answered. Who started the run is no such person either. */
  fourEyes?: string;
  dueAt?: number;
  /** What is to come of a question that nobody answers, soonest first. What has come is on record and no more here. */
  late?: readonly LateEvent[];
  /** When it was first reminded of, or given to others. */
  overdueAt?: number;
  defaultAnswer?: unknown;
  openedAt?: number;
  /** Of a question that took the place of another one in the same call: whether that was open or answered. Its answer is not used. */
  replaces?: 'open' | 'answered';
  /**
   * For a question about a budget: whose budget it is (the path of a node or child run; empty for the run), and its limit and use. One
   * answer serves everything that waits for this budget. The visit is that which met it first, and those around it, as in a change: it may
   * have no record yet, or be over when the answer comes.
   */
  budget?: {
    readonly of: readonly string[];
    readonly unit: string;
    readonly limit: number;
    readonly spent: number;
    readonly visit?: number;
    readonly outer?: readonly number[];
  };
}

/** A reminder of a question, or that it is for others too from then on. */
export interface LateEvent {
  /** Epoch ms. */
  readonly at: number;
  /** To whom it is given. Absent: it is a reminder. */
  readonly to?: readonly string[];
}

/**
 * When something is to be done about a wait next, in epoch ms; undefined if time changes nothing of it. Whole: a function may name a time in
 * fractions of a millisecond, and stores take whole ones.
 */
export function nextDueOf({ dueAt, late: [first] = [] }: Pick<WaitRecord, 'dueAt' | 'late'>): number | undefined {
  const next = first === undefined || (dueAt !== undefined && dueAt <= first.at) ? dueAt : first.at;
  return next === undefined ? undefined : Math.ceil(next);
}
