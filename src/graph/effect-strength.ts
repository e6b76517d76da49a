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
  /** The strongest of what agents in it do without asking because they are allowed to. */
  readonly allowed: EffectClass;
}

/** The strength of several things together. */
function strengthOfAll(parts: readonly Strength[]): Strength {
  return {
    effect: strongest(parts.map(({ effect }) => effect)),
    act: strongest(parts.map(({ act }) => act)),
    unasked: strongest(parts.map(({ unasked }) => unasked)),
    allowed: strongest(parts.map(({ allowed }) => allowed)),
  };
}

export function strengthOfWork({ effect, asks = false, isAllowed = false }: InnerWork): Strength {
  const act = effect === 'human' ? 'pure' : effect;
  const unasked = asks ? 'pure' : act;
  return { effect, act, unasked, allowed: isAllowed ? unasked : 'pure' };
}

/** A strength as work inside of something else. */
export const asInnerWork = ({ effect, unasked, allowed }: Strength): InnerWork => ({
  effect,
  asks: isAct(effect) && !isAct(unasked),
  isAllowed: isAct(allowed),
});

/** What an approval says of it beside: the effect class of what agents inside are allowed to do, about which nobody is asked again. */
export const allowedInside = ({ allowed }: Strength): { readonly allowedInside?: EffectClass } =>
  isAct(allowed) ? { allowedInside: allowed } : {};

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

/**
 * What a node does to the world, where its own class does not say it: it is stronger than that, or an agent in it is allowed to do it.
 * Undefined if that is nothing.
 */
export function actInside(node: ActingNode): InnerWork | undefined {
  const strength = strengthOfNode(node);
  const { act, allowed } = strength;
  if (!isAct(act) || !(isStronger(act, node.effect) || isAct(allowed))) return undefined;
  return asInnerWork({ ...strength, effect: act });
}

/** A graph never changes, and many nodes may run the same one. */
const known = new WeakMap<Graph, Strength>();

/** Of all nodes of a graph. */
export function strengthOfGraph(graph: Graph): Strength {
  const found = known.get(graph) ?? strengthOfAll(graph.nodes.map(strengthOfNode));
  known.set(graph, found);
  return found;
}
