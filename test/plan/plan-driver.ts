/** Drives a plan as an engine does: keeps the tree, settles open activations in some order, and may begin again from the tree. */
import { createPlan } from '../../src/engine/plan/plan.ts';
import type { Plan, PlanStep, SettledFields } from '../../src/engine/plan/plan-step.ts';
import type { Graph, GraphEdge } from '../../src/graph/graph.ts';
import type { FrameTree, NodeRecord } from '../../src/state/tree.ts';

/** Which edges a visit fires; undefined: its `when` was false. */
export type Routing = (node: number, visit: number) => readonly GraphEdge[] | undefined;

interface Open {
  readonly visit: number;
  readonly took: NodeRecord['took'];
}

export interface Driver {
  readonly graph: Graph;
  readonly tree: FrameTree;
  readonly plan: Plan;
  /** Started and not settled, by node. */
  readonly open: ReadonlyMap<number, Open>;
  /** Nodes to settle as cancelled. */
  readonly cancelled: ReadonlySet<number>;
  /** Settles an open activation. */
  settle(node: number): PlanStep;
  /** Leaves a trace of an open activation in the tree, as an intent or a wait does. */
  trace(node: number): void;
  /** Begins again from the tree; open activations that left no trace are found again by the plan. */
  reload(): PlanStep;
  readonly isTraced: (node: number) => boolean;
}

export function emptyFrame(): FrameTree {
  return { input: undefined, channels: {}, nodes: Object.create(null) as Record<string, NodeRecord> };
}

/** What an engine writes when a visit settles. */
function settledRecord(
  old: NodeRecord | undefined,
  open: Open,
  fields: SettledFields,
  status: NodeRecord['status'],
): NodeRecord {
  const took = open.took ?? (old?.fired === undefined ? old?.took : undefined);
  return {
    status,
    visits: open.visit,
    epoch: fields.epoch,
    fired: fields.fired,
    ...(fields.held === undefined ? {} : { held: fields.held }),
    ...(took === undefined ? {} : { took }),
  };
}

/** @param entry - the node it begins at in place of START */
export function createDriver(graph: Graph, routing: Routing, entry?: string): Driver {
  const tree: FrameTree = { ...emptyFrame(), ...(entry === undefined ? {} : { entry }) };
  const open = new Map<number, Open>();
  const cancelled = new Set<number>();
  let plan = createPlan(graph, tree);
  const idOf = (node: number): string => graph.nodes[node]?.id ?? '';
  const apply = (step: PlanStep): PlanStep => {
    for (const { node, visit, took } of step.start) open.set(node, { visit, took });
    for (const node of step.cancel) cancelled.add(node);
    for (const { id, record } of step.loops) {
      tree.loops ??= {};
      if (record === undefined) delete tree.loops[id];
      else tree.loops[id] = record;
    }
    if (step.epoch !== undefined) tree.epoch = step.epoch;
    return step;
  };
  apply(plan.initial());
  return {
    graph,
    tree,
    open,
    cancelled,
    get plan() {
      return plan;
    },
    isTraced: (node) => tree.nodes[idOf(node)] !== undefined && tree.nodes[idOf(node)]?.fired === undefined,
    settle(node) {
      const activation = open.get(node);
      if (activation === undefined) throw new Error(`${idOf(node)} is not open`);
      open.delete(node);
      const isCancelled = cancelled.delete(node);
      const fired = isCancelled ? [] : routing(node, activation.visit);
      const skipped = fired === undefined;
      const fields = plan.settledFields(node, fired ?? []);
      const status = isCancelled ? 'cancelled' : skipped ? 'skipped' : 'completed';
      tree.nodes[idOf(node)] = settledRecord(tree.nodes[idOf(node)], activation, fields, status);
      return apply(plan.settle(node, fired ?? [], { skipped }));
    },
    trace(node) {
      const activation = open.get(node);
      if (activation === undefined) throw new Error(`${idOf(node)} is not open`);
      const held = plan.unusedFirings(node);
      tree.nodes[idOf(node)] = {
        status: 'waiting',
        visits: activation.visit,
        ...(held === undefined ? {} : { held }),
        ...(activation.took === undefined ? {} : { took: activation.took }),
      };
    },
    reload() {
      plan = createPlan(graph, structuredClone(tree));
      open.clear();
      cancelled.clear();
      return apply(plan.initial());
    },
  };
}
