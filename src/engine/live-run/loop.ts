/** What the parts of a run that is being advanced ask of its loop. */
import type { Permit } from '../places/step-places.ts';
import { channelNames } from '../../state/channels/view.ts';
import type { OnWaiting } from '../../graph/contracts/parts.ts';
import type { SpanParts, TraceSpan } from '../../graph/contracts/trace-span.ts';
import type { Graph, GraphNode } from '../../graph/graph.ts';
import { DeltaBuilder } from '../../state/delta.ts';
import { Frame, type OpenView } from '../../state/frame.ts';
import { hashParts } from '../../state/values/canonical-text.ts';
import {
  followUpOf,
  nodeRecord,
  type Account,
  type FrameTree,
  type NodeRecord,
  type RunTree,
  type StepOrder,
} from '../../state/tree.ts';
import { FollowUpPlan, createPlan } from '../plan/plan.ts';
import type { Plan } from '../plan/plan-step.ts';
import { graphTables } from './graph-tables.ts';
import { OpenCalls } from './open-calls.ts';
import type { LiveEvent } from '../api.ts';

// A graph in execution: a frame (a run's own graph, or a child's inside its parent's history), and the activations that live in it.
// An activation is one visit of the run to a node, while it is prepared, running, stopped at a wait, or waiting to be tried again (W6).

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
  /** For the frame of a run that was cancelled, or fails: the node that runs then. */
  readonly followUp?: ReturnType<typeof followUpOf>;
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
  /** Visits of the nodes whose child runs this frame is in, outermost first. */
  readonly outerVisits: readonly number[];
  /** Live activations by node index: prepared, running, stopped at a wait, or to be retried. */
  readonly activations: Map<number, Activation> = new Map();
  /** The first unhandled failure. */
  failure: unknown;
  hasFailed = false;
  /** Called when this frame has ended; used by the parent's `ctx.run`. */
  onEnd: (() => void) | undefined;
  /** Called when this frame only waits; used by the part of the parent that started it. */
  onWaiting: OnWaiting | undefined;
  readonly #partPrefixes: (string | undefined)[] = [];
  /** The outer visits as a field of a change's part. Empty while none of them is a repeated one. */
  readonly #outerPart: string;

  constructor(options: FrameRunOptions) {
    const { channels, outputNames, codeNames, hasNestedReducers } = graphTables(options.graph);
    this.hasNestedReducers = hasNestedReducers;
    this.graph = options.graph;
    this.nodePath = options.nodePath;
    this.keyParts = options.keyParts;
    this.treePath = options.treePath;
    this.depth = options.depth;
    this.starter = options.starter;
    this.outerVisits = options.keyParts.filter((_, index) => index % 3 === 1).map(Number);
    this.#outerPart = this.outerVisits.some((visit) => visit > 1) ? `,"outer":${JSON.stringify(this.outerVisits)}` : '';
    this.frame = new Frame(options.tree, options.treePath, options.delta, channels, outputNames, codeNames);
    const { graph, tree, followUp } = options;
    this.plan = followUp === undefined ? createPlan(graph, tree) : new FollowUpPlan(graph, tree, followUp);
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
    const record = nodeRecord(this.frame.tree, node);
    return record?.fired === undefined ? record : undefined;
  }

  pathOf(node: GraphNode): readonly string[] {
    return [...this.nodePath, node.id];
  }

  /** The constant beginning of the `settle` part of an activation's node, cached because it is written at every visit. */
  settlePrefix({ node, path }: Activation): string {
    return (this.#partPrefixes[node.index] ??=
      `{"kind":"settle","node":${JSON.stringify(path)}${node.effect === 'pure' ? '' : `,"effect":"${node.effect}"`}${this.#outerPart}`);
  }
}

/** The frame of a run's own graph. Without a delta, changes are not recorded. */
export function rootFrameRun(
  graph: Graph,
  root: Pick<RunTree, 'frame' | 'cancel' | 'failing'>,
  delta: DeltaBuilder = new DeltaBuilder(),
): FrameRun {
  const place = { treePath: ['frame'], nodePath: [], keyParts: [], depth: 0 };
  return new FrameRun({ graph, tree: root.frame, delta, ...place, followUp: followUpOf(root) });
}

/** The phase of an activation: about to start, running, stopped at a wait, waiting for its next attempt, over. */
export type ActivationPhase = 'prepared' | 'running' | 'waiting' | 'retrying' | 'settled';

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
}

/** One visit of a run to a node, from leaving the queue until it settles. */
export class Activation extends OpenCalls {
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
  /**
   * Names of channels that were read inside calls which are on record and are not made again here: in a process that is gone, or in the
   * original of a fork.
   */
  #earlierReads: Set<string> | undefined;
  /** The `readCount` up to which the visit's record contains what was read. */
  recordedReadCount = 0;
  /** Names that are in the visit's record but in no part of the history yet. The next recorded step reports them. */
  unreportedReads: readonly string[] = [];
  /** The recorded cost of the visit. */
  account: Account | undefined;
  startedAt = 0;
  /** The scope of its present attempt. */
  scope: Scope | undefined;
  /** Withdraws its announcement, as long as its effect has not begun. */
  withdraw: (() => void) | undefined;
  /** Whether it was announced so long ago that its effect must not begin any more. */
  isLate: (() => boolean) | undefined;
  /** The idempotency key of that announcement. */
  announcedKey: string | undefined;
  /**
   * Child runs of this attempt whose result the function does not have, by key. The next save keeps them. One whose result it has is only
   * in the record: what it is made of in memory is many times as large.
   */
  children: Map<string, LiveChild> | undefined;
  /** Child runs that outlived a save, and how many there had been when each began. Looked up once after each save: there may be many others. */
  savedChildren: readonly { readonly key: string; readonly born: number }[] | undefined;
  /** Keys of child runs that outlived the last save and that the function has called since. */
  attached: Set<string> | undefined;
  /** Whether its result is no longer needed. */
  isCancelled = false;
  /** Whether its policy allows more attempts that are not made, since the effect of the last one may have happened. */
  isRetryWithheld = false;
  /** Whether a process that is gone may have been in its function when it ended. */
  wasOpen = false;
  /** Whether that holds for what its function calls next. */
  mayHaveBegun = false;
  /** Seq of the checkpoint with the first step that ended in this process. */
  firstEnd: number | undefined;
  /** Whether it counts as work in progress. */
  isBusy = false;
  /** Set while it waits for an effect that another process may still be running; shown to listeners. */
  ownerHold: OwnerHold | undefined;
  cancelTimer: (() => void) | undefined;
  /** The places of limits that its present attempt has. */
  permit: Permit | undefined;
  /** The last key made, with its seed. A fork also makes keys with the seeds of its ancestors. */
  #key: readonly [keySeed: string, key: string] | undefined;
  #path: readonly string[] | undefined;

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
    super();
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

  /** Names of the channels that the visit has read so far, sorted. The name of a partition stands for all of it. */
  get reads(): readonly string[] {
    if (this.#earlierReads === undefined) return this.view.reads();
    return channelNames(new Set([...this.view.reads(), ...this.#earlierReads]));
  }

  /** Grows whenever something is read that was not read before. */
  get readCount(): number {
    return this.view.readCount + (this.#earlierReads?.size ?? 0);
  }

  noteEarlierReads(names: readonly string[]): void {
    if (names.length === 0) return;
    this.#earlierReads ??= new Set();
    for (const name of names) this.#earlierReads.add(name);
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

  /** A save retires what is recorded of its calls, but for the child runs of these keys: names begin anew. */
  forgetCalls(retainedKeys: readonly string[]): void {
    this.ordinals = undefined;
    this.calls = undefined;
    this.order = undefined;
    for (const key of this.children?.keys() ?? []) if (!retainedKeys.includes(key)) this.children?.delete(key);
    this.attached = undefined;
    this.savedChildren = undefined;
  }

  override renew(): void {
    super.renew();
    this.mayHaveBegun = this.wasOpen;
    this.wasOpen = false;
    this.children = undefined;
    this.attached = undefined;
    this.savedChildren = undefined;
  }
}

/** Which attempt: its run, its node, and the key of the step if it is a step's. */
export interface AttemptLabel {
  readonly runId: string;
  readonly node: readonly string[];
  readonly visit: number;
  readonly step: string | undefined;
  readonly attempt: number;
}

/** The scope of an attempt (attempt-scope.ts). */
export interface Scope {
  /** Undefined when the attempt has ended. */
  readonly activation: Activation | undefined;
  /** The attempt has ended. */
  end(): void;
}

/** What a scope needs of its run. */
export interface ScopedRun {
  /** Takes a warning of an attempt that has ended. */
  warn(label: AttemptLabel, error: unknown): void;
  /** An error with its stack, for whoever watches the process. Secrets are masked. */
  describe(error: unknown): string;
}

/** The loop of one run. */
export interface Loop extends ScopedRun {
  /** Requests a turn, because something changed that the loop must check. */
  requestTurn(): void;
  /** Starts an activation that may run now. */
  begin(activation: Activation): void;
  /** Starts an activation when its next attempt is due, in epoch ms. */
  beginLater(activation: Activation, at: number): void;
  /** Takes note of an activation that a fork that cannot act refuses, in place of leaving it waiting. */
  refuse?(activation: Activation): void;
  /** Handles the failure of an attempt that another process made. */
  attemptFailed(activation: Activation, error: unknown): void;
  /** Finds out whether an activation that was started has happened. */
  judge(activation: Activation): void;
  /** Requests a checkpoint at the end of this turn of the event loop. */
  requestFlush(): void;
  /** Makes a checkpoint of everything pending, now. */
  seal(): void;
  /** Resolves when everything noted so far is durable, also against a power cut if the store supports that. */
  durable(): Promise<void>;
  /** Resolves when work may run ahead of the commits again (E4). */
  drained(): Promise<void>;
  /** Takes the waiting messages. */
  readMessages(): Promise<void>;
  /** Stops advancing the run here because of an error. */
  fail(error: unknown): void;
  /** Whether anybody listens to live events. */
  readonly isWatched: boolean;
  publishLive(type: LiveEvent['type'], activation: Activation, detail: unknown): void;
  /** A step with this idempotency key has ended, and is in the draft. */
  stepEnded(key: string): void;
  /** Tells telemetry why an attempt failed, before its span ends. `isOfFrame`: nothing handles the failure, so that its frame fails. */
  traceFailure(activation: Activation, error: unknown, isOfFrame: boolean): void;
  /** Starts a span below an activation's attempt; undefined without telemetry. */
  trace(activation: Activation, name: string, parts: SpanParts): TraceSpan | undefined;
}
