/** A frame in execution: a run's own graph, or a child's inside its parent's history (W6). */
import type { Graph, GraphNode } from '../graph/graph.ts';
import { compileChannels, type ChannelTable } from '../state/channel-table.ts';
import { DeltaBuilder } from '../state/delta.ts';
import { Frame } from '../state/frame.ts';
import type { FrameTree, NodeRecord } from '../state/tree.ts';
import type { Activation } from './activation.ts';
import { Plan } from './plan.ts';
import { outerVisits } from './visit-part.ts';

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
  /** The frame whose node started it; the run's own has none. */
  readonly parent?: FrameRun;
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
  readonly parent: FrameRun | undefined;
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
    this.parent = options.parent;
    this.frame = new Frame(options.tree, options.treePath, options.delta, channels, outputNames);
    this.plan = new Plan(options.graph, options.tree);
  }

  recordOf(node: GraphNode): NodeRecord | undefined {
    const { nodes } = this.frame.tree;
    return Object.hasOwn(nodes, node.id) ? nodes[node.id] : undefined;
  }

  /** The record of a visit that has not settled, if the node has one. */
  openRecordOf(node: GraphNode): NodeRecord | undefined {
    const record = this.recordOf(node);
    return record === undefined || record.fired !== undefined ? undefined : record;
  }

  pathOf(node: GraphNode): readonly string[] {
    return [...this.nodePath, node.id];
  }

  get #outerPart(): string {
    if (this.parent === undefined) return '';
    const outer = outerVisits(this);
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
