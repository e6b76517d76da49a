/** The tree of values that is a run's whole state (C1). Plain, mutable inside the engine, written only through deltas. */
import type { Amounts } from '../graph/amounts.ts';

/** What a run, a visit or a step has cost, and what a run or a visit may cost. Absent: nothing; as the graph declares. */
export interface Account {
  /** By attempts that ended, however they ended. What is in it is in the accounts of the visit and the runs around it too. */
  spent?: Amounts;
  /** Of a fork: what was spent where the outcomes that it took over were recorded. Doors call it saved; a record's `saved` is another thing. */
  spared?: Amounts;
  /** The budget, where it is another than the graph declares: given at the start, or raised since. */
  budget?: Amounts;
  /** A person let fail what meets the budget. Absent: as the graph declares. */
  onBudget?: 'fail';
}

/** One frame: a run, or a child run inside its parent's history (W6). */
export interface FrameTree extends Account {
  /** Frozen. */
  input: unknown;
  /** scratch, artifacts, diagnostics: top-level keys are channels. */
  channels: Record<string, Record<string, unknown>>;
  /** What reducers keep beside a channel (the count of a running mean), by channel path. */
  aux?: Record<string, unknown>;
  /** Last writer of each channel path that has no reducer: [node id, epoch] (E5). */
  writers?: Record<string, readonly [string, number]>;
  nodes: Record<string, NodeRecord>;
  /** Open rounds by loop id; absent: the loop is in its first round. */
  loops?: Record<string, LoopRecord>;
  /** Counts the rounds opened in this frame; stamps records so that those of earlier rounds are told apart. */
  epoch?: number;
  /** Of a child run: the node it began at, if that was not its graph's start. */
  entry?: string;
  /** Of a child run: the hash of the input that it was called for with. Absent in histories that were written before it was kept. */
  given?: string;
  /** Of a child run: signals that its parent sent before they were asked for, in order. */
  signals?: Record<string, KeptSignal>;
  /** Of a child run: its parent cancelled it, and why. */
  cancelled?: string;
  /** Of a child run that a save of its parent kept: the number of saves before it began. */
  born?: number;
  /** Of a child run that has ended: see {@link StepRecord.order}. */
  order?: number;
  /** Of a child run: the node whose failure nothing handled, until its parent is tried again. */
  failure?: string;
}

/** A signal that came before it was asked for. */
export interface KeptSignal {
  readonly signal?: string;
  readonly value: unknown;
  readonly by?: string;
}

export interface LoopRecord {
  /** The frame's epoch when this round opened. */
  readonly since: number;
  /** Round number, from 1. */
  readonly round: number;
  /** Ids of the heads this round started. */
  readonly heads: readonly string[];
}

export type NodeStatus = 'started' | 'waiting' | 'completed' | 'failed' | 'skipped' | 'cancelled';

/** The last visit of a node. `fired` is present exactly when that visit has settled. */
export interface NodeRecord extends Account {
  status: NodeStatus;
  /** Visits so far, this one included. Absent: 1. */
  visits?: number;
  /** The running or last attempt. Absent: 1. */
  attempt?: number;
  /** Absent: 0. */
  epoch?: number;
  output?: unknown;
  /** The output is the list of the steps' outputs (map nodes): it is stored in one place only. */
  outputOfSteps?: StepOrder;
  /** The name under which the output is seen among the artifacts, for those who read the tree without its graph. */
  as?: string;
  error?: unknown;
  /** Routing hints the outcome gave. */
  goto?: readonly string[];
  /** `no`: the failed attempt certainly had no effect (X3). */
  applied?: 'no' | 'ended';
  /** The outcome of an attempt whose reducer or condition failed: a retry goes on from it and does not run the node again (G6). */
  kept?: KeptOutcome;
  /** What a person decided about an effect in doubt; consumed by the next start. */
  decision?: unknown;
  /** Keys of the edges fired by this visit. */
  fired?: readonly string[];
  /** Edges that leave loops or lead back, fired by this or earlier visits and not yet consumed: [edge key, epoch]. */
  held?: readonly (readonly [string, number])[];
  /** Edges a `first` join took when it started: [source id, edge key]. */
  took?: readonly (readonly [string, string])[];
  /** The seq whose state the activation sees, once it left an intent, a step or a wait (E9). */
  view?: number;
  /** A started effect without a recorded result. */
  intent?: Intent;
  /** Recorded steps, questions, timers, signals of this visit; in order. */
  steps?: Record<string, StepRecord>;
  children?: Record<string, FrameTree>;
  /** How often ctx.save was called: names the steps that follow apart from those it retired. */
  saves?: number;
  /** Inner state kept by ctx.save. */
  saved?: unknown;
  /** What ctx.retire left: where the function goes on from, and how many calls of each name are not made again. */
  retired?: RetiredCalls;
  /** What ctx.append added to each list of this visit: the items of each call, in the order of the calls. */
  lists?: Record<string, (readonly unknown[])[]>;
  /** How many calls of each list came before the last ctx.save or ctx.retire: they are not made again. */
  listsFrom?: Record<string, number>;
  /** How many recorded events of each name this visit's calls have entered into the history: they are not told again. */
  events?: Record<string, number>;
  /** How many of them came before the last ctx.save or ctx.retire. */
  eventsFrom?: Record<string, number>;
  /** Epoch ms before which the next attempt does not start. */
  retryAt?: number;
  /** Absolute deadline of the attempt, epoch ms. */
  deadlineAt?: number;
  /** The attempts before this budget: a resume of a failed run gives a new one (G8). */
  budgetFrom?: number;
}

/** The record of a node of a frame. Ids are any text, `__proto__` too. */
export function nodeRecord({ nodes }: FrameTree, { id }: { readonly id: string }): NodeRecord | undefined {
  return Object.hasOwn(nodes, id) ? nodes[id] : undefined;
}

/** Keys of steps in the order in which the function called them; true: the record has them in that order. */
export type StepOrder = true | readonly string[];

export interface RetiredCalls {
  readonly from: unknown;
  readonly calls: Readonly<Record<string, number>>;
}

export interface KeptOutcome {
  readonly output?: unknown;
  readonly outputOfSteps?: StepOrder;
  /** Updates not yet applied, by partition. */
  readonly updates?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly goto?: readonly string[];
}

export interface Intent {
  readonly key: string;
  readonly attempt: number;
  /** Epoch ms: until then its first owner may still be inside the effect (O2). */
  readonly deadlineAt: number;
  /** The worker that started it. */
  readonly by?: string;
  /** What the call does, in words. */
  readonly about?: string;
}

/** `call`: something done to a child run, once. */
export type StepKind = 'step' | 'ask' | 'sleep' | 'signal' | 'run' | 'doubt' | 'call';

export interface StepRecord extends Pick<Account, 'spent' | 'spared'> {
  kind: StepKind;
  /** `open`: a wait; `started`: an intent; `failed`: its error is final for this attempt of the activation. */
  status: 'open' | 'started' | 'done' | 'failed';
  output?: unknown;
  error?: unknown;
  effect?: string;
  /** What a person decided about this step in doubt; consumed when it is started again. */
  decision?: unknown;
  applied?: 'no' | 'ended';
  /** Hash of the step's input. */
  hash?: string;
  attempt?: number;
  intent?: Intent;
  /** Wait id. */
  wait?: string;
  /** Who answered, and when (W3). */
  by?: string;
  at?: number;
  /** As the how-manieth of its visit's calls it ended, where several were open at once: they are given back in this order. */
  order?: number;
  /** Epoch ms a timer or a deadline is due. */
  dueAt?: number;
  retryAt?: number;
}

export type RunStatus = 'running' | 'paused' | 'completed' | 'failed' | 'cancelled';

/** The root of a run's tree. */
export interface RunTree {
  status: RunStatus;
  /** Hash of the graph the run was last advanced under. */
  graphHash: string;
  codeHash?: string;
  /** Of that graph, if the run was not admitted under it: its structure as JSON, and the text it was compiled from (H3). */
  definition?: GraphDefinitionRecord;
  /** Why a run failed: errors of the activations that failed it, by node path joined with `/`. */
  failures?: Record<string, unknown>;
  /** Open waits by id. */
  waits: Record<string, WaitRecord>;
  /** Signals that came before they were asked for, in order of arrival. */
  signals?: Record<string, KeptSignal>;
  /** A fork's patched channels, until routing decisions that read them have been taken again (H2). */
  patched?: readonly string[];
  /** Outcomes given to a fork in place of recorded ones, by node path key. */
  supplied?: Record<string, unknown>;
  /** The last recorded outcome a fork took over, by node path key: [run id, seq] (X2: each record once, in recorded order). */
  replayed?: Record<string, readonly [runId: string, seq: number, nth?: number]>;
  /** A fork that runs pure nodes again even where a recorded outcome could be reused: it was asked to, or its code has changed. */
  rerunPure?: boolean;
  /** Names of the secrets that nodes have asked for, sorted: a resume looks them up before it begins anything. */
  secrets?: readonly string[];
  frame: FrameTree;
}

export interface GraphDefinitionRecord {
  readonly structure: string;
  readonly text?: string;
}

export interface WaitRecord {
  kind: 'question' | 'timer' | 'signal' | 'doubt' | 'retry';
  /** Frame path and node id: see NodePath. */
  node: readonly string[];
  /** Key of the step record that holds the wait; absent for waits of the activation itself. */
  step?: string;
  name: string;
  prompt?: string;
  choices?: readonly unknown[];
  /** How an answer is held against the choices. Absent: it must equal one. */
  matching?: 'exact' | 'lenient' | 'open';
  schema?: unknown;
  metadata?: unknown;
  dueAt?: number;
  defaultAnswer?: unknown;
  openedAt?: number;
  /** Of a question about a budget: whose it is (a node's path, a child run's; empty: the run's), and how it stood. Everything that meets it waits for the one answer. */
  budget?: { readonly of: readonly string[]; readonly unit: string; readonly limit: number; readonly spent: number };
}
