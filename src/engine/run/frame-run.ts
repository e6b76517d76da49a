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
  /** Whether some reducer lies inside a channel, so that two paths of writes may be parts of each other. */
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
  /** Node ids (and child names) from the run's root to this frame. */
  readonly nodePath: readonly string[];
  /** Like nodePath, with visits: what idempotency keys and wait ids are made from (X1). */
  readonly keyParts: readonly string[];
  readonly depth: number;
  /** The activation that started it; the run's own has none. */
  readonly starter?: Activation;
}

/** Its tree, its plan, and the activations that live in it. */
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
  /** Prepared, running, left or waiting to be retried, by node index. */
  readonly activations: Map<number, Activation> = new Map();
  /** The first failure that nothing handled. */
  failure: unknown;
  hasFailed = false;
  /** Tells the parent's `ctx.run` that this frame has ended. */
  onEnd: (() => void) | undefined;
  /** Tells the part of the parent that started it that it does nothing but wait. */
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

  /** The frame whose node started it. */
  get parent(): FrameRun | undefined {
    return this.starter?.frameRun;
  }

  /** Its parent cancelled it: whatever may start in it is cancelled at once. */
  get isCancelled(): boolean {
    return this.frame.tree.cancelled !== undefined;
  }

  recordOf(node: GraphNode): NodeRecord | undefined {
    return nodeRecord(this.frame.tree, node);
  }

  /** The record of a visit that has not settled, if the node has one. */
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

  /** The constant head of a node's `settle` part: made once, since it is written at every visit. */
  settlePrefix(node: GraphNode): string {
    return (this.#partPrefixes[node.index] ??=
      `{"kind":"settle","node":${JSON.stringify(this.pathOf(node))}${node.effect === 'pure' ? '' : `,"effect":"${node.effect}"`}${this.#outerPart}`);
  }
}

/** The frame of a run's own graph. Without a delta, what is done to it is recorded nowhere. */
export function rootFrameRun(graph: Graph, tree: FrameTree, delta: DeltaBuilder = new DeltaBuilder()): FrameRun {
  return new FrameRun({ graph, tree, treePath: ['frame'], delta, nodePath: [], keyParts: [], depth: 0 });
}

/** Where an activation stands: about to start, at work, left at a wait, waiting for its next attempt, over. */
export type ActivationPhase = 'prepared' | 'running' | 'left' | 'retrying' | 'settled';

/** An event to be recorded. */
export interface ToldEvent {
  readonly name: string;
  /** Frozen plain JSON data. */
  readonly detail: unknown;
}

/** Where a function stands in one of its lists. */
export interface ListCursor {
  /** Calls made, those before the last save included. */
  called: number;
  /** Those of them that are recorded. */
  recorded: number;
  /** The end of the last call: calls are recorded in their order, however long the items of one take to be stored. */
  last: Promise<void>;
}

const noSteps: ReadonlySet<string> = new Set();

/** A key begins with a letter, since a command would read a leading `-` as an option. */
const keyOf = (parts: readonly string[]): string => `k${hashParts(parts)}`;

/** An effect that another process began and may still be in. */
export interface OwnerHold {
  /** The worker that may still be in the effect. */
  readonly owner: string | undefined;
  /** Epoch ms after which it certainly is not. */
  readonly until: number;
}

/** A child run that the present attempt of its parent started, or took up from the record. */
export interface LiveChild {
  readonly key: string;
  readonly frameRun: FrameRun;
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
  hasEnded: boolean;
  /** How many wait for its end. */
  awaited: number;
  /** The function was told of its end: the next save retires it. */
  isTaken: boolean;
}

/** One visit of a run to a node, from the moment it leaves the queue until it settles. */
export class Activation {
  readonly frameRun: FrameRun;
  readonly node: GraphNode;
  readonly visit: number;
  readonly took: readonly (readonly [string, string])[] | undefined;
  attempt: number;
  /** Attempts made before the present retry budget (G8). */
  budgetFrom: number;
  phase: ActivationPhase = 'prepared';
  view: OpenView;
  /** The seq whose state it sees (E9). */
  viewSeq: number;
  isResumed: boolean;
  /** What the visit has cost, as it is recorded. */
  account: Account | undefined;
  startedAt = 0;
  /** Grows with each start of the node's function; calls of an older one are refused. */
  generation = 0;
  /** Calls that are at work, or have ended and are about to be given back. */
  stepsInFlight = 0;
  /** Calls that were given back, and from which the function may not have gone on yet. */
  givenBack = 0;
  /** More than one call has been open since one was made beside no other: in which order they end is kept (X4.13). */
  isOverlapping = false;
  /** Its function is over: it calls nothing more, and settles when the effects that it called for have ended. */
  isEnding = false;
  /** Nothing more of it is wanted: effects that were called for and have not begun do not begin. */
  isStopped = false;
  /** What its attempt fails with, however its function ends: the function said so. */
  failure: { readonly error: unknown } | undefined;
  /** Takes its announcement back, while its effect has not begun. */
  withdraw: (() => void) | undefined;
  /** Monotonic ms at which its attempt ends at the latest, once its effect was announced. */
  deadlineMs: number | undefined;
  /** Child runs of this attempt that have not ended. */
  childrenInFlight = 0;
  /** How many of them the function waits for. */
  childrenAwaited = 0;
  /** Child runs of this attempt, by key. */
  children: Map<string, LiveChild> | undefined;
  /** Keys of the child runs, kept by the last save, that its function has called for since. */
  attached: Set<string> | undefined;
  /** Waits opened by the present generation and not yet closed. */
  openWaits = 0;
  /** How calls left at a wait go on when it is closed while the function still runs, by key. */
  parked: Map<string, () => void> | undefined;
  /** Gives overlapping calls back in the order in which they ended. */
  order: CallOrder | undefined;
  /** Calls of each step name so far, in this generation. */
  ordinals: Map<string, number> | undefined;
  /** Keys of its calls so far, in this generation and since its last save, in order. */
  calls: string[] | undefined;
  /** Its function retired calls in this generation, or has read where it goes on from. */
  knowsRetired = false;
  /** Where each list stands, in this generation. */
  listCursors: Map<string, ListCursor> | undefined;
  /** How many recorded events of each name it has told, in this generation, those before its last save included. */
  eventCounts: Map<string, number> | undefined;
  /** Those that no checkpoint will hold yet. They are lost with the attempt. */
  events: ToldEvent[] | undefined;
  /** Its result is no longer needed. */
  isCancelled = false;
  /** Whether it counts as work being done. */
  isBusy = false;
  /** Its effect, begun by another process that may still be in it, is waited for: told to those who watch. */
  heldBy: OwnerHold | undefined;
  cancelTimer: (() => void) | undefined;
  /** The key last made, and the seed it was made from: a fork asks for its ancestors' too. */
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

  /** Node ids and child names from the run's root. */
  get path(): readonly string[] {
    return (this.#path ??= this.frameRun.pathOf(this.node));
  }

  /** Settled, or dropped: whatever still comes of it comes too late. */
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

  /** Keys of the steps of effects that are called and have not ended. */
  get effectSteps(): ReadonlySet<string> {
    return this.#effectSteps ?? noSteps;
  }

  /** Whom to tell when the call of this key is left at a wait. */
  notePart(key: string, onWaiting: (() => void) | undefined): void {
    if (onWaiting !== undefined) (this.#parts ??= new Map()).set(key, onWaiting);
  }

  /** Whether the call of this key was made for one of several parts of the work, which go on each by itself. */
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

  /** Parts that name this activation in idempotency keys and wait ids. */
  get keyParts(): readonly string[] {
    return [...this.frameRun.keyParts, this.node.id, String(this.visit)];
  }

  /** Its idempotency key, or a step's: the same for every attempt (X1). `keySeed`: see history/stored/key-seed.ts. */
  keyFor(keySeed: string, stepKey?: string): string {
    if (stepKey !== undefined) return keyOf([keySeed, ...this.keyParts, stepKey]);
    if (this.#key?.[0] !== keySeed) this.#key = [keySeed, keyOf([keySeed, ...this.keyParts])];
    return this.#key[1];
  }

  /** Made when first asked for: most nodes never look at it. */
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

  /** A call of its function is at work. */
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

  /** A fresh start of the node's function: its own signal, its own calls. */
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
