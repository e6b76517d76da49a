/** How strong a node, or all of a graph, is: the strongest effect class of what it may do, at whatever depth. */
import type { EffectClass, InnerWork, NodeImplementation } from './contracts/node-contract.ts';
import type { Graph } from './graph.ts';

/** Effect classes, from the weakest to the strongest. */
const strengths: readonly EffectClass[] = ['pure', 'read', 'human', 'write', 'external'];

/** Whether one effect class is stronger than another: may do more to the world. */
export const isStronger = (one: EffectClass, other: EffectClass): boolean =>
  strengths.indexOf(one) > strengths.indexOf(other);

/** Whether the world is changed. */
export const isAct = (effect: EffectClass): boolean => effect === 'write' || effect === 'external';

const strongest = (classes: readonly EffectClass[]): EffectClass =>
  classes.reduce((most, one) => (isStronger(one, most) ? one : most), 'pure');

/** How strong something is that may be run. */
export interface Strength {
  /** The strongest effect class of all that it may do. */
  readonly effect: EffectClass;
  /** The same of what it does to the world, where questions to people do not count. */
  readonly act: EffectClass;
  /** The strongest of what it does without asking a person first. */
  readonly unasked: EffectClass;
}

/** The strength of several things together. */
export function strengthOfAll(parts: readonly Strength[]): Strength {
  return {
    effect: strongest(parts.map(({ effect }) => effect)),
    act: strongest(parts.map(({ act }) => act)),
    unasked: strongest(parts.map(({ unasked }) => unasked)),
  };
}

export function strengthOfWork({ effect, asks = false }: InnerWork): Strength {
  const act = effect === 'human' ? 'pure' : effect;
  return { effect, act, unasked: asks ? 'pure' : act };
}

/** A strength as work inside of something else. */
export const asInnerWork = ({ effect, unasked }: Strength): InnerWork => ({
  effect,
  asks: isAct(effect) && !isAct(unasked),
});

/** What tells how strong a node is. */
export interface ActingNode {
  readonly effect: EffectClass;
  readonly implementation: NodeImplementation;
  readonly subgraph?: Graph | undefined;
}

/** Of a node: its own class, what its function does, and the graph that it runs. */
export function strengthOfNode({ effect, implementation: { inside = [] }, subgraph }: ActingNode): Strength {
  return strengthOfAll([
    ...[{ effect }, ...inside].map(strengthOfWork),
    ...(subgraph === undefined ? [] : [strengthOfGraph(subgraph)]),
  ]);
}

/** A graph never changes, and many nodes may run the same one. */
const known = new WeakMap<Graph, Strength>();

/** Of all nodes of a graph. */
export function strengthOfGraph(graph: Graph): Strength {
  const found = known.get(graph) ?? strengthOfAll(graph.nodes.map(strengthOfNode));
  known.set(graph, found);
  return found;
}
