/** The map node: does the same work for every item of a list, and records each item separately. */
import type { LimitRef } from '../graph/limit.ts';
import { CairnError, reasonOf } from '../errors.ts';
import type { Graph } from '../graph/graph.ts';
import { graphOf, resultOf, type GraphOrRunnable } from '../graph/runnable-graph.ts';
import {
  NodeFailure,
  outcome,
  type NodeContext,
  type OutcomeParts,
  type StateView,
  stepsOutput,
  type EffectClass,
  type Reconciliation,
  type StepContext,
} from '../graph/contracts/node-contract.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import { draftNode, type NodeDraft, type NodeOptions } from './draft/node-draft.ts';
import { describeConfig } from './draft/computed.ts';
import type { RetryPolicy } from '../graph/contracts/retry-policy.ts';
import { runParts } from '../graph/run-parts.ts';

// The subgraph node: runs another graph as a child run, inside of its parent's history.

/** A function of the state, and of the node's own input: that of the graph, unless the node's settings say otherwise. */
type FromInput<T, S extends StateView> = (scope: { readonly state: S; readonly input: unknown }) => T;

const inputScope = (ctx: NodeContext): { readonly state: StateView; readonly input: unknown } => ({
  state: ctx.state,
  get input() {
    return ctx.input;
  },
});

/** Configuration of a subgraph node. @typeParam Parts - what `output` returns */
export interface SubgraphNodeConfig<
  S extends StateView = StateView,
  Input = unknown,
  Child = StateView,
  Parts extends OutcomeParts = OutcomeParts,
> {
  /** Computes the child's input. Default: the node's input, which is the parent's unless the node's settings say otherwise. */
  readonly input?: FromInput<Input, S>;
  /** Turns the child's final state into an outcome of this node: an output and updates. Default: what the child gives is the output. */
  readonly output?: (child: { readonly state: Child }) => Parts;
}

/** What the child gives, or the output that `output` makes of its state. */
type SubgraphOutput<Result, Parts> = [Parts] extends [never]
  ? Result
  : Parts extends { readonly output: infer Output }
    ? Output
    : undefined;

const subgraphKeys = ['input', 'output'] as const satisfies readonly (keyof SubgraphNodeConfig)[];

/**
 * Makes a node that runs a graph: a compiled one, or a workflow, graph or flow that is not compiled yet (W6). The node waits while the child waits. If the child fails,
 * it fails with code `CHILD_FAILED` and the child's error as its cause. The effect class is `read`: the child's nodes have classes of their
 * own.
 */
export function subgraphNode<
  S extends StateView = StateView,
  Input = unknown,
  Child = StateView,
  Parts extends OutcomeParts = never,
  Result = unknown,
>(
  child: GraphOrRunnable<Input, Child, Result>,
  config: SubgraphNodeConfig<S, NoInfer<Input>, NoInfer<Child>, Parts> = {},
  options: NodeOptions = {},
): NodeDraft<S, SubgraphOutput<Result, Parts>> {
  refuseUnknownKeys('subgraphNode', config, subgraphKeys);
  const graph = graphOf(child);
  if (graph === undefined)
    throw new CairnError('CONFIG_INVALID', { reason: 'subgraphNode(graph) needs a graph, or what compile() gives' });
  const { input = (scope) => scope.input, output = ({ state }) => ({ output: resultOf(graph, state) }) } =
    config as unknown as SubgraphNodeConfig;
  return draftNode(
    {
      type: 'subgraph',
      effect: 'read',
      subgraph: graph,
      implementation: {
        run: async (ctx) => outcome(output({ state: await runChild(ctx, graph, input(inputScope(ctx))) })),
        codeText: `${String(config.input)}\n${String(config.output)}`,
      },
    },
    options,
  );
}

/** Runs a child run and returns its final state. @throws NodeFailure CHILD_FAILED */
export async function runChild(ctx: NodeContext, graph: Graph, input: unknown, name?: string): Promise<StateView> {
  const { status, state, error } = await ctx.run(graph, input, name === undefined ? {} : { name });
  if (status === 'completed') return state;
  const reason = error === undefined ? '' : `: ${error.message}`;
  throw new NodeFailure(`child run of ${graph.id} failed${reason}`, {
    code: 'CHILD_FAILED',
    data: { graphId: graph.id, ...(name !== undefined && { name }) },
    cause: error,
  });
}

/** An item and its index in the list. */
export interface MapItem<Item> {
  readonly item: Item;
  readonly index: number;
}

/**
 * The work of one item: a function, or a graph (compiled or not). A graph's input is the item, and what it gives
 * is the output.
 */
export type MapWork<Item, Result> =
  | ((call: MapItem<Item> & StepContext) => Result)
  | GraphOrRunnable<Item, StateView, Result>;

/** Configuration of a map node. The type parameters after the first are inferred; together they determine the type of the node's output. */
export interface MapNodeConfig<
  S extends StateView = StateView,
  Item = unknown,
  Result = unknown,
  Settles extends boolean = boolean,
> {
  /** Returns the list of items. */
  readonly over: FromInput<readonly Item[], S>;
  /** Returns a unique name for an item, the same each time. Default: its index. */
  readonly key?: (item: MapItem<Item>) => string;
  /** Does the work of one item: see {@link MapWork}. */
  readonly each: MapWork<Item, Result>;
  /**
   * How many items may run at once. An item that waits (for an answer, a signal, a time) does not count; one that is tried again within
   * seconds does, until it ends. Default 8.
   */
  readonly concurrency?: number;
  /** Effect class of each item's step. Default `pure`. The node itself is `pure` if its items are, else `read`. */
  readonly effectClass?: EffectClass;
  /** Retry policy of each item. */
  readonly retry?: RetryPolicy;
  /** Timeout of one attempt of one item, in milliseconds. */
  readonly timeoutMs?: number;
  /** Limits over all workers. Each item waits for its places before it is announced; `timeoutMs` counts from then. */
  readonly limit?: LimitRef | readonly LimitRef[];
  /** Whether a repeated call for an item with the same key has no second effect. */
  readonly idempotent?: boolean;
  readonly reconcile?: (context: {
    readonly idempotencyKey: string;
    readonly item: Item;
  }) => Promise<Reconciliation> | Reconciliation;
  /** Whether failed items leave the node completed. The output is then a list of {@link MapResult}. */
  readonly continueOnError?: Settles;
}

/** The result of one item, with `continueOnError`. */
export type MapResult<Value = unknown> =
  | { readonly status: 'completed'; readonly value: Value }
  | { readonly status: 'failed'; readonly error: unknown };

/** The output of a map node. */
export type MapOutput<Result, Settles> = readonly (true extends Settles
  ? MapResult<Awaited<Result>>
  : Awaited<Result>)[];

type Work = (ctx: NodeContext, key: string, item: unknown, index: number) => Promise<unknown>;

const mapKeys = [
  'over',
  'key',
  'each',
  'concurrency',
  'effectClass',
  'retry',
  'timeoutMs',
  'limit',
  'idempotent',
  'reconcile',
  'continueOnError',
] as const satisfies readonly (keyof MapNodeConfig)[];

/**
 * Makes a node whose output is the list of its items' outputs, in the order of the items. A resume runs only items that are missing or
 * failed. If an item fails, running items are finished, no others are started, and the node fails with code `ITEM_FAILED`.
 * @throws CONFIG_INVALID the configuration cannot work
 */
export function mapNode<
  S extends StateView = StateView,
  Item = unknown,
  Result = unknown,
  const Settles extends boolean = false,
>(
  config: MapNodeConfig<S, Item, Result, Settles>,
  options: Omit<NodeOptions, 'effectClass' | 'idempotent'> = {},
): NodeDraft<S, MapOutput<Result, Settles>> {
  refuseUnknownKeys('mapNode', config, mapKeys);
  const { over, each, key, reconcile, limit, ...rest } = config as unknown as MapNodeConfig;
  const { config: settings, data, codeText } = describeConfig(rest);
  const { effectClass = 'pure', concurrency = 8 } = settings;
  const subgraph = graphOf(each);
  const own: MapNodeConfig = { over, each: subgraph ?? each, ...settings, ...definedOnly({ key, reconcile, limit }) };
  checkConfig(own, concurrency);
  return draftNode(
    {
      type: 'map',
      effect: subgraph !== undefined || effectClass !== 'pure' ? 'read' : 'pure',
      config: { ...(data as object), effectClass, concurrency },
      ...(subgraph !== undefined && { subgraph }),
      implementation: {
        isComposed: true,
        run: (ctx) => mapItems(ctx, over(inputScope(ctx)), own, concurrency),
        codeText: [over, key, subgraph === undefined ? each : undefined, ...(codeText === '' ? [] : [codeText])]
          .map(String)
          .join('\n'),
      },
    },
    options,
  );
}

function checkConfig(
  { over, each, effectClass, retry, timeoutMs, limit, idempotent, reconcile }: MapNodeConfig,
  concurrency: number,
): void {
  if (typeof over !== 'function')
    throw new CairnError('CONFIG_INVALID', { reason: 'mapNode: over must be a function of the state' });
  if (!(Number.isInteger(concurrency) && concurrency > 0))
    throw new CairnError('CONFIG_INVALID', { reason: 'mapNode: concurrency must be a whole number above 0' });
  if (typeof each === 'function') return;
  if (graphOf(each) === undefined)
    throw new CairnError('CONFIG_INVALID', { reason: 'mapNode: each must be a function or a graph' });
  if ([effectClass, retry, timeoutMs, limit, idempotent, reconcile].some((option) => option !== undefined)) {
    throw new CairnError('CONFIG_INVALID', {
      reason:
        "mapNode: effectClass, retry, timeoutMs, limit, idempotent and reconcile belong to the graph's own nodes when each is a graph",
    });
  }
}

async function mapItems(
  ctx: NodeContext,
  items: unknown,
  config: MapNodeConfig,
  concurrency: number,
): Promise<unknown> {
  if (!Array.isArray(items)) throw new NodeFailure('mapNode: over must return a list', { code: 'NODE_OUTPUT_INVALID' });
  const keys = nameItems(items, config.key);
  const work = createWork(config);
  const results: MapResult[] = [];
  let hasFailed = false;
  const order = {
    atOnce: concurrency,
    keepsPlace: config.continueOnError === true ? 'never' : 'in doubt',
    begunBefore: () => {
      const names = ctx.past.names();
      return new Set(keys.flatMap((key, index) => (names.has(key) ? [index] : [])));
    },
  } as const;
  await runParts(ctx, items as readonly unknown[], order, async (part, item, index) => {
    try {
      results[index] = { status: 'completed', value: await work(part, keys[index] ?? '', item, index) };
    } catch (error) {
      results[index] = { status: 'failed', error };
      hasFailed ||= config.continueOnError !== true;
    }
    return !hasFailed;
  });
  if (hasFailed) throw describeFailure(keys, results);
  if (config.continueOnError === true) return results;
  // The steps hold the outputs already, in the order of the items. Referring to them avoids a second copy.
  if (typeof config.each === 'function') return outcome({ output: stepsOutput });
  return results.map((result) => (result.status === 'completed' ? result.value : undefined));
}

function createWork({ each, effectClass, retry, timeoutMs, limit, idempotent, reconcile }: MapNodeConfig): Work {
  const graph = graphOf(each);
  if (graph !== undefined) return async (ctx, key, item) => resultOf(graph, await runChild(ctx, graph, item, key));
  const work = each as (call: MapItem<unknown> & StepContext) => unknown;
  const fixed = definedOnly({ effect: effectClass, retry, timeoutMs, limit, idempotent });
  return (ctx, key, item, index) =>
    ctx.step(
      key,
      { ...fixed, input: item, ...(reconcile && { reconcile: (context) => reconcile({ ...context, item }) }) },
      // Not a copy: it would read the signal, which is made for functions that read it.
      (step) => work(Object.assign(step, { item, index })),
    );
}

function nameItems(items: readonly unknown[], key: MapNodeConfig['key']): readonly string[] {
  if (key === undefined) return items.map((_, index) => String(index));
  const seen = new Set<string>();
  return items.map((item, index) => {
    const name = key({ item, index });
    if (typeof name !== 'string' || seen.has(name)) {
      throw new NodeFailure(
        `mapNode: item ${index} has ${typeof name === 'string' ? `the key '${name}' of another item` : 'a key that is no text'}`,
        { code: 'NODE_OUTPUT_INVALID', data: { index } },
      );
    }
    seen.add(name);
    return name;
  });
}

function describeFailure(keys: readonly string[], results: readonly MapResult[]): NodeFailure {
  const failed = results.flatMap((result, index) =>
    result?.status === 'failed' ? [{ key: keys[index] ?? '', error: result.error }] : [],
  );
  const first = failed[0];
  return new NodeFailure(`item '${first?.key ?? ''}' failed: ${reasonOf(first?.error)}`, {
    code: 'ITEM_FAILED',
    data: { failed: failed.map(({ key }) => key).slice(0, 100), count: failed.length },
    cause: first?.error,
  });
}

function definedOnly<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== undefined)) as never;
}
