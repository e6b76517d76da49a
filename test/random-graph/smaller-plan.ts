/** Plans of random graphs with a little less in them, for a failure that can be read. */
import type { CrashProcess } from '../../src/testing/crash-kit/process-life.ts';
import { withEach, withoutEach, type Property } from '../support/smallest.ts';
import { describePlan } from './describe-plan.ts';
import type { EdgePlan, EffectPlan, NodePlan, PartPlan, RandomGraphPlan } from './plan-random-graph.ts';
import { buildRandomGraph } from './random-graph.ts';

/** How a plan that fails is made smaller and told. */
export const planProperty: Pick<Property<RandomGraphPlan>, 'smaller' | 'isValid' | 'describe'> = {
  smaller: smallerPlans,
  isValid: isBuildable,
  describe: describePlan,
};

/** Without a node or an edge, or with a plainer one. */
function* smallerPlans(plan: RandomGraphPlan): Generator<RandomGraphPlan> {
  const { nodes, edges } = plan;
  if (nodes.length > 1) for (const { id } of nodes.toReversed()) yield withoutNode(plan, id);
  for (const fewer of withoutEach(edges)) yield { ...plan, edges: fewer };
  for (const smaller of withEach(nodes, smallerNodes)) yield { ...plan, nodes: smaller };
  for (const plainer of withEach(edges, plainerEdges)) yield { ...plan, edges: plainer };
  const plain = {
    routing: 'all',
    checkpoint: 'every_node',
    concurrency: 64,
    durability: 'barrier',
    budget: undefined,
  } as const;
  for (const policies of plainer(plan.policies, { ...plan.policies, ...plain })) yield { ...plan, policies };
}

/** Whether a graph can be built from a plan that was made smaller. */
function isBuildable(plan: RandomGraphPlan): boolean {
  const process = { oracle: undefined, sleep: undefined } as unknown as CrashProcess;
  try {
    buildRandomGraph(plan, process);
    return true;
  } catch {
    return false;
  }
}

/** What nothing leads to any more begins the graph. */
function withoutNode(plan: RandomGraphPlan, id: string): RandomGraphPlan {
  const nodes = plan.nodes.filter((node) => node.id !== id);
  const edges = plan.edges.filter(({ from, to }) => from !== id && to !== id);
  const orphans = nodes.filter((node) => edges.every(({ to }) => to !== node.id));
  const begin: Omit<EdgePlan, 'to'> = {
    from: '',
    on: 'completed',
    always: false,
    condition: undefined,
    roundsMost: undefined,
  };
  return { ...plan, nodes, edges: [...edges, ...orphans.map((node) => ({ ...begin, to: node.id }))] };
}

/** One field at a time as in the plain one. */
function* plainer<Value extends object>(from: Value, plain: Value): Generator<Value> {
  for (const key of Object.keys(plain) as (keyof Value)[])
    if (JSON.stringify(from[key]) !== JSON.stringify(plain[key])) yield { ...from, [key]: plain[key] };
}

function* smallerNodes(node: NodePlan): Generator<NodePlan> {
  for (const parts of withoutEach(node.parts)) if (parts.length > 0) yield { ...node, parts };
  if (node.kind !== 'plain') yield { ...node, kind: 'plain', parts: [], items: [] };
  for (const items of withoutEach(node.items)) if (items.length > 0) yield { ...node, items };
  for (const parts of withEach(node.parts, smallerParts)) yield { ...node, parts };
  for (const effect of plainerEffects(node.effect)) yield { ...node, effect };
  const plain = { join: 'some', checkpoint: undefined, hasWhen: false, declaresReads: false, hasGoto: false } as const;
  yield* plainer(node, { ...node, ...plain, channel: undefined });
}

function* smallerParts(part: PartPlan): Generator<PartPlan> {
  if ('graph' in part) for (const graph of smallerPlans(part.graph)) yield { ...part, graph };
  if (part.kind === 'mixed') yield { kind: 'child', graph: part.graph };
  if ('effect' in part) for (const effect of plainerEffects(part.effect)) yield { ...part, effect };
  if (part.kind === 'together')
    for (const steps of withoutEach(part.steps)) if (steps.length > 0) yield { ...part, steps };
}

function plainerEffects(effect: EffectPlan): Generator<EffectPlan> {
  const plain = {
    failures: 0,
    attempts: 1,
    failsAfter: false,
    hangs: false,
    latencyMs: undefined,
    recovery: 'none',
  } as const;
  return plainer(effect, { ...effect, ...plain });
}

function plainerEdges(edge: EdgePlan): Generator<EdgePlan> {
  return plainer(edge, { ...edge, on: 'completed', always: false, condition: undefined });
}
