/** Turns what an author adds as a node (a draft or a plain function, plus settings) into a node definition. */
import type { NodeDefinition } from '../../graph/graph.ts';
import type { NodeDraft } from '../../graph/node-draft.ts';
import type { Tools } from '../../graph/tool.ts';
import type { EffectClass, NodeContext, NodeImplementation } from '../../graph/contracts/node-contract.ts';
import type { Faults } from './faults.ts';
import { asCondition, type Predicate } from './predicate.ts';

/** Settings of a node, given where it is added. They override those of the draft. */
export interface NodeSettings<State> extends Pick<
  NodeDraft,
  | 'version'
  | 'reads'
  | 'join'
  | 'retry'
  | 'timeoutMs'
  | 'onFailure'
  | 'checkpoint'
  | 'idempotent'
  | 'budget'
  | 'onBudget'
  | 'atMost'
  | 'memoryConsistency'
  | 'maxVisits'
  | 'outputAs'
> {
  /** The node's effect class: what recovery may do with it. */
  readonly effectClass?: EffectClass;
  /** Finds out whether the effect with this key happened, and its result: an output, or an `outcome(…)`. Overrides the draft's own (X3). */
  readonly reconcile?: NodeImplementation['reconcile'];
  /** A condition that is evaluated when the node's join is satisfied. If it is false, the node is skipped (G2). */
  readonly when?: Predicate<State> | undefined;
}

const settingNames = [
  'version',
  'effectClass',
  'reconcile',
  'reads',
  'when',
  'join',
  'retry',
  'timeoutMs',
  'onFailure',
  'checkpoint',
  'idempotent',
  'budget',
  'onBudget',
  'atMost',
  'memoryConsistency',
  'maxVisits',
  'outputAs',
] as const satisfies readonly (keyof NodeSettings<never>)[];

/** A draft or a function, whatever the type of its state. */
export type AnyWork = NodeDraft<never> | ((ctx: never) => unknown);

/** What is needed to define nodes: where to report faults, and the tools that nodes may refer to by name. */
export interface Drafting {
  readonly faults: Faults;
  readonly tools: Tools;
}

/**
 * Makes a node definition from a draft or a function and the settings it was added with. If they cannot be used, a fault is reported and a
 * node that does nothing is returned, so that the rest of the graph is still checked.
 */
export function defineNode<State>(
  id: string,
  work: AnyWork,
  settings: Partial<NodeSettings<State>> | undefined,
  place: string | undefined,
  { faults, tools }: Drafting,
): NodeDefinition {
  const known = faults.checkOptions(settings, settingNames, `node ${id}`, place);
  const { when, effectClass, reconcile, ...rest } = known;
  const draft = bindTool(id, draftOf(id, work, place, faults), tools, place, faults);
  return {
    ...draft,
    ...(reconcile === undefined ? {} : { implementation: { ...draft.implementation, reconcile } }),
    ...rest,
    ...(effectClass === undefined ? {} : { effect: effectClass }),
    ...(when === undefined ? {} : { when: asCondition(when, `${id} when`, faults, place) }),
    ...(place === undefined ? {} : { place }),
    id,
  };
}

function draftOf(id: string, work: AnyWork, place: string | undefined, faults: Faults): NodeDraft<never> {
  if (typeof work === 'function') return functionDraft(work as (ctx: NodeContext) => unknown);
  if (typeof work === 'object' && work !== null && typeof work.implementation?.run === 'function') return work;
  faults.add({
    rule: 'G2',
    place,
    message: `node ${id} is neither a function nor what a node builder returns`,
    fix: 'pass a function, or functionNode(...), shellNode(...) and their like',
  });
  return functionDraft(() => undefined);
}

function bindTool(
  id: string,
  draft: NodeDraft<never>,
  tools: Tools,
  place: string | undefined,
  faults: Faults,
): NodeDraft<never> {
  if (draft.byTool === undefined) return draft;
  const { name, bind } = draft.byTool;
  if (Object.hasOwn(tools, name)) return bind(tools[name]!);
  const known = Object.keys(tools);
  faults.add({
    rule: 'G7',
    place,
    message: `node ${id} calls the tool ${name}, which the graph is not given`,
    fix: `compile({ tools: { ${name}: { execute } } })${known.length === 0 ? '' : `; given are ${known.join(', ')}`}`,
  });
  return functionDraft(() => undefined);
}

function functionDraft(run: (ctx: NodeContext) => unknown): NodeDraft<never> {
  return { type: 'function', effect: 'pure', implementation: { run } };
}
