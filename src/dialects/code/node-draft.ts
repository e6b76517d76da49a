/** A node as its author adds it: a draft or a plain function, and settings. */
import type { NodeDefinition } from '../../graph/graph.ts';
import type { NodeDraft } from '../../graph/node-draft.ts';
import type { Tools } from '../../graph/tool.ts';
import type { EffectClass, NodeContext, NodeImplementation } from '../../graph/contracts/node-contract.ts';
import type { Faults } from './faults.ts';
import { asCondition, type Predicate } from './predicate.ts';

/** What may be said of a node where it is added; it overrides what the draft says. */
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
  | 'maxVisits'
  | 'outputAs'
> {
  /** What recovery may do with the node. */
  readonly effectClass?: EffectClass;
  /** Did the effect under this key happen, and what came of it: an output, or an `outcome(…)`? In place of the draft's own (X3). */
  readonly reconcile?: NodeImplementation['reconcile'];
  /** Read once the join is satisfied; if it is false the node is skipped (G2). */
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
  'maxVisits',
  'outputAs',
] as const satisfies readonly (keyof NodeSettings<never>)[];

/** A draft or a function, of whatever state. */
export type AnyWork = NodeDraft<never> | ((ctx: never) => unknown);

/** What a graph's nodes are defined with: where their faults go, and the tools that they may name. */
export interface Drafting {
  readonly faults: Faults;
  readonly tools: Tools;
}

/**
 * The definition of a node from a draft or a function and the settings it was added with. What cannot be used is
 * reported, and a node that does nothing stands in its place, so that the rest is still checked.
 */
export function defineNode<State>(
  id: string,
  work: AnyWork,
  settings: Partial<NodeSettings<State>> | undefined,
  place: string | undefined,
  { faults, tools }: Drafting,
): NodeDefinition {
  faults.addUnknownOptions(settings, settingNames, `node ${id}`, place);
  const { when, effectClass, reconcile, ...rest } = settings ?? {};
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
