/**
 * A graph in execution: a frame (a run's own graph, or a child's inside its parent's history), and the activations that live in it.
 * An activation is one visit of the run to a node, while it is prepared, running, left at a wait, or waiting to be tried again (W6).
 */
import type { Graph, GraphNode } from '../../graph/graph.ts';
import { compileChannels, type ChannelTable } from '../../state/channels/channel-table.ts';
import { DeltaBuilder } from '../../state/delta.ts';
import { Frame, type OpenView } from '../../state/frame.ts';
import { hashParts } from '../../state/values/hash.ts';
import { nodeRecord, type Account, type FrameTree, type NodeRecord, type StepOrder } from '../../state/tree.ts';
import { createPlan } from '../plan/plan.ts';
import type { Plan } from '../plan/plan-step.ts';
import type { CallOrder } from './call-order.ts';

interface GraphTables {
  readonly channels: ChannelTable;
  readonly outputNames: ReadonlyMap<string, string>;
  /** Whether some reducer applies inside of a channel, so that one written path may be part of another. */
  readonly hasNestedReducers: boolean;
}

const tablesOf = new WeakMap<Graph, GraphTables>();

function graphTables(graph: Graph): GraphTables {
  let tables = tablesOf.get(graph);
  if (tables === undefined) {
    const named = graph.nodes.filter((node) => node.outputAs !== undefined);
    tables = {
      channels: compileChannels(graph.reducers),
      outputNames: new Map(named.map((node) => [node.outputAs as string, node.id])),
      hasNestedReducers: Object.keys(graph.reducers).some((path) => path.split('.').length > 2),
    };
    tablesOf.set(graph, tables);
  }
  return tables;
}

/** What a frame is made of. */
export interface FrameRunOptions {
  readonly graph: Graph;
  readonly tree: FrameTree;
  /** Keys from the run's root tree to this frame's tree. */
  readonly treePath: readonly string[];
  readonly delta: DeltaBuilder;
  /** Node ids and names of child runs from the run's root to this frame. */
  readonly nodePath: readonly string[];
  /** Like nodePath, with visits. Idempotency keys and wait ids are made from it (X1). */
  readonly keyParts: readonly string[];
  readonly depth: number;
  /** The activation that started this frame; undefined for the run's own. */
  readonly starter?: Activation;
}

/** A frame with its tree, its plan, and its live activations. */
export class FrameRun {
  readonly graph: Graph;
  readonly frame: Frame;
  readonly plan: Plan;
  readonly nodePath: readonly string[];
  readonly keyParts: readonly string[];
  readonly treePath: readonly string[];
  readonly depth: number;
  readonly hasNestedReducers: boolean;
  readonly starter: Activation | undefined;
  /** Live activations by node index: prepared, running, left, or waiting to be retried. */
  readonly activations: Map<number, Activation> = new Map();
  /** The first unhandled failure. */
  failure: unknown;
  hasFailed = false;
  /** Called when this frame has ended; used by the parent's `ctx.run`. */
  onEnd: (() => void) | undefined;
  /** Called when this frame only waits; used by the part of the parent that started it. */
  onWaiting: (() => void) | undefined;
  readonly #partPrefixes: (string | undefined)[] = [];

  constructor(options: FrameRunOptions) {
    const { channels, outputNames, hasNestedReducers } = graphTables(options.graph);
    this.hasNestedReducers = hasNestedReducers;
    this.graph = options.graph;
    this.nodePath = options.nodePath;
    this.keyParts = options.keyParts;
    this.treePath = options.treePath;
    this.depth = options.depth;
    this.starter = options.starter;
    this.frame = new Frame(options.tree, options.treePath, options.delta, channels, outputNames);
    this.plan = createPlan(options.graph, options.tree);
  }

  /** The frame of the node that started this frame. */
  get parent(): FrameRun | undefined {
    return this.starter?.frameRun;
  }

  /** Whether the parent cancelled this frame. Whatever may start in it is then cancelled at once. */
  get isCancelled(): boolean {
    return this.frame.tree.cancelled !== undefined;
  }

  recordOf(node: GraphNode): NodeRecord | undefined {
    return nodeRecord(this.frame.tree, node);
  }

  /** The record of the node's visit that has not settled, if there is one. */
  openRecordOf(node: GraphNode): NodeRecord | undefined {
    const record = this.recordOf(node);
    return record === undefined || record.fired !== undefined ? undefined : record;
  }

  pathOf(node: GraphNode): readonly string[] {
    return [...this.nodePath, node.id];
  }

  /** Visits of the nodes whose child runs this frame is in, outermost first. */
  get outerVisits(): readonly number[] {
    return this.keyParts.filter((_, index) => index % 3 === 1).map(Number);
  }

  get #outerPart(): string {
    if (this.parent === undefined) return '';
    const outer = this.outerVisits;
    return outer.some((visit) => visit > 1) ? `,"outer":${JSON.stringify(outer)}` : '';
  }

  /** The constant beginning of a node's `settle` part, cached because it is written at every visit. */
  settlePrefix(node: GraphNode): string {
    return (this.#partPrefixes[node.index] ??=
      `{"kind":"settle","node":${JSON.stringify(this.pathOf(node))}${node.effect === 'pure' ? '' : `,"effect":"${node.effect}"`}${this.#outerPart}`);
  }
}

/** The frame of a run's own graph. Without a delta, changes are not recorded. */
export function rootFrameRun(graph: Graph, tree: FrameTree, delta: DeltaBuilder = new DeltaBuilder()): FrameRun {
  return new FrameRun({ graph, tree, treePath: ['frame'], delta, nodePath: [], keyParts: [], depth: 0 });
}

/** The phase of an activation: about to start, running, stopped at a wait, waiting for its next attempt, over. */
export type ActivationPhase = 'prepared' | 'running' | 'left' | 'retrying' | 'settled';

/** An event that is to be recorded. */
export interface ToldEvent {
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

const noSteps: ReadonlySet<string> = new Set();

/** Keys begin with a letter, because a command would read a leading `-` as an option. */
const keyOf = (parts: readonly string[]): string => `k${hashParts(parts)}`;

/** An effect that another process started and may still be running. */
export interface OwnerHold {
  /** The worker that may still be running it. */
  readonly owner: string | undefined;
  /** When it certainly is not any more, in epoch ms. */
  readonly until: number;
}

/** A child run that the parent's current attempt started or took up from the record. */
export interface LiveChild {
  readonly key: string;
  readonly frameRun: FrameRun;
  /** Resolves when the child run has ended. */
  readonly ended: Promise<void>;
  hasEnded: boolean;
  /** Number of calls waiting for its end. */
  awaited: number;
  /** Whether the function was told its end, so that the next save retires it. */
  isTaken: boolean;
}

/** One visit of a run to a node, from leaving the queue until it settles. */
export class Activation {
  readonly frameRun: FrameRun;
  readonly node: GraphNode;
  readonly visit: number;
  readonly took: readonly (readonly [string, string])[] | undefined;
  attempt: number;
  /** Number of attempts before the current retry budget (G8). */
  budgetFrom: number;
  phase: ActivationPhase = 'prepared';
  view: OpenView;
  /** Seq of the checkpoint whose state it sees (E9). */
  viewSeq: number;
  isResumed: boolean;
  /** The recorded cost of the visit. */
  account: Account | undefined;
  startedAt = 0;
  /** Grows with each start of the node's function. Calls of an older one are refused. */
  generation = 0;
  /** Number of calls in progress, or ended and about to return. */
  stepsInFlight = 0;
  /** Number of calls that have returned but from which the function may not have continued yet. */
  givenBack = 0;
  /** Whether calls have overlapped since the last one that was made alone. Their order of ending is recorded then (X4.13). */
  isOverlapping = false;
  /** Whether its function has ended. It makes no more calls, and settles when the effects it called have ended. */
  isEnding = false;
  /** Whether nothing more is wanted of it. Effects that were called but have not started do not start. */
  isStopped = false;
  /** Set by `ctx.fail`: the error that its attempt fails with, however the function ends. */
  failure: { readonly error: unknown } | undefined;
  /** Withdraws its announcement, as long as its effect has not started. */
  withdraw: (() => void) | undefined;
  /** Latest end of its attempt in monotonic ms, once its effect was announced. */
  deadlineMs: number | undefined;
  /** Number of child runs of this attempt that have not ended. */
  childrenInFlight = 0;
  /** How many of them the function is waiting for. */
  childrenAwaited = 0;
  /** Child runs of this attempt, by key. */
  children: Map<string, LiveChild> | undefined;
  /** Keys of child runs that the last save kept and the function has called since. */
  attached: Set<string> | undefined;
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
  /** Events that are not in a checkpoint yet. They are lost if the attempt dies. */
  events: ToldEvent[] | undefined;
  /** Whether its result is no longer needed. */
  isCancelled = false;
  /** Whether it counts as work in progress. */
  isBusy = false;
  /** Set while it waits for an effect that another process may still be running; shown to listeners. */
  heldBy: OwnerHold | undefined;
  cancelTimer: (() => void) | undefined;
  /** The last key made, with its seed. A fork also makes keys with the seeds of its ancestors. */
  #key: readonly [keySeed: string, key: string] | undefined;
  #path: readonly string[] | undefined;
  #effectSteps: Set<string> | undefined;
  #parts: Map<string, () => void> | undefined;
  #controller: AbortController | undefined;
  #abortReason: unknown;

  constructor(options: {
    readonly frameRun: FrameRun;
    readonly node: GraphNode;
    readonly visit: number;
    readonly took: readonly (readonly [string, string])[] | undefined;
    readonly attempt: number;
    readonly budgetFrom: number;
    readonly view: OpenView;
    readonly viewSeq: number;
    readonly isResumed: boolean;
  }) {
    this.frameRun = options.frameRun;
    this.node = options.node;
    this.visit = options.visit;
    this.took = options.took;
    this.attempt = options.attempt;
    this.budgetFrom = options.budgetFrom;
    this.view = options.view;
    this.viewSeq = options.viewSeq;
    this.isResumed = options.isResumed;
  }

  /** Node ids and names of child runs from the run's root to this node. */
  get path(): readonly string[] {
    return (this.#path ??= this.frameRun.pathOf(this.node));
  }

  /** Whether it has settled or was dropped. Whatever still comes from it is too late. */
  get isOver(): boolean {
    return this.phase === 'settled';
  }

  /**
   * The steps on record as its function called them: they are recorded as they begin, end or are tried again, which is another order in
   * each fork, and objects put keys that look like numbers first.
   */
  get stepOrder(): StepOrder {
    const steps = this.frameRun.openRecordOf(this.node)?.steps ?? {};
    const called = (this.calls ?? []).filter((key) => Object.hasOwn(steps, key));
    const recorded = Object.keys(steps);
    const isSame = called.length === recorded.length && called.every((key, index) => key === recorded[index]);
    return isSame ? true : called;
  }

  /** Keys of effect steps that were called and have not ended. */
  get effectSteps(): ReadonlySet<string> {
    return this.#effectSteps ?? noSteps;
  }

  /** Notes whom to tell when the call with this key stops at a wait. */
  notePart(key: string, onWaiting: (() => void) | undefined): void {
    if (onWaiting !== undefined) (this.#parts ??= new Map()).set(key, onWaiting);
  }

  /** Whether the call with this key belongs to one of several independent parts of the work. */
  isPart(key: string): boolean {
    return this.#parts?.has(key) === true;
  }

  /** The call of this key is left at a wait. Its part is told after the call, since it may begin another that is left at once. */
  leavePart(key: string): void {
    const onWaiting = this.#parts?.get(key);
    if (onWaiting !== undefined) queueMicrotask(onWaiting);
  }

  beginEffect(key: string): void {
    (this.#effectSteps ??= new Set()).add(key);
  }

  endEffect(key: string): void {
    this.#effectSteps?.delete(key);
  }

  /** The parts that identify this activation in idempotency keys and wait ids. */
  get keyParts(): readonly string[] {
    return [...this.frameRun.keyParts, this.node.id, String(this.visit)];
  }

  /** The idempotency key of it, or of a step; the same for every attempt (X1). `keySeed`: see history/stored/key-seed.ts. */
  keyFor(keySeed: string, stepKey?: string): string {
    if (stepKey !== undefined) return keyOf([keySeed, ...this.keyParts, stepKey]);
    if (this.#key?.[0] !== keySeed) this.#key = [keySeed, keyOf([keySeed, ...this.keyParts])];
    return this.#key[1];
  }

  /** Created on first use, because most nodes never use it. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  abort(reason: unknown): void {
    this.#abortReason = reason;
    this.#controller?.abort(reason);
  }

  /** Notes that a call of its function is in progress. */
  beginCall(): void {
    this.isOverlapping = this.stepsInFlight + this.openWaits + this.childrenInFlight > 0;
    this.stepsInFlight += 1;
  }

  /** A save retires what is recorded of its calls, but for the child runs of these keys: names begin anew. */
  forgetCalls(kept: readonly string[]): void {
    this.ordinals = undefined;
    this.calls = undefined;
    this.order = undefined;
    for (const key of this.children?.keys() ?? []) if (!kept.includes(key)) this.children?.delete(key);
    this.attached = undefined;
  }

  /** Prepares a new start of the node's function, with its own signal and calls. */
  renew(): void {
    this.generation += 1;
    this.#controller = undefined;
    this.#abortReason = undefined;
    this.stepsInFlight = 0;
    this.isEnding = false;
    this.isStopped = false;
    this.failure = undefined;
    this.#effectSteps = undefined;
    this.#parts = undefined;
    this.givenBack = 0;
    this.isOverlapping = false;
    this.childrenInFlight = 0;
    this.childrenAwaited = 0;
    this.children = undefined;
    this.attached = undefined;
    this.openWaits = 0;
    this.parked = undefined;
    this.order = undefined;
    this.ordinals = undefined;
    this.calls = undefined;
    this.knowsRetired = false;
    this.listCursors = undefined;
    this.eventCounts = undefined;
    this.events = undefined;
  }
}
