/** Graphs written as nodes and edges. See docs/guide/graphs.md. */
import type {
  Condition,
  EdgeDefinition,
  NodeDefinition,
  END,
  START,
  CheckpointPolicy,
  Graph,
  GraphPolicies,
  OnBudget,
  GraphSchemas,
  TimeLimit,
} from '../../graph/graph.ts';
import type { Amounts } from '../../graph/amounts.ts';
import type { Webhook } from '../../graph/webhooks.ts';
import type { NoNames } from '../../graph/contracts/node-contract.ts';
import type { MemoryConsistency } from '../../graph/contracts/memory-consistency.ts';
import { layApprovals } from '../approval.ts';
import { withDerived } from '../derived-names.ts';
import { CompiledGraph, type GraphResult } from './compiled-graph.ts';
import type { CompileOptions, GraphParts } from './run-options.ts';
import {
  Faults,
  defineNode,
  type AnyWork,
  type Drafting,
  type NodeSettings,
  asChoice,
  asCondition,
  type Choose,
  type Predicate,
} from './graph-parts.ts';
import type { NodeDraft } from '../../graph/node-draft.ts';
import type { Fits, Reducers, NodeFunction, OutputOf, SchemaInput, TypedAnswers, TypedState } from './typed-state.ts';
import type { LimitRef } from '../../graph/limit.ts';
import type { RunTitle } from '../../graph/run-title.ts';

// Finds where in the author's file a builder method was called (`file:line`), so that an error can name the line to fix.

/**
 * Returns the place of the code that called the method that calls this function. Only two stack frames are captured, which takes
 * microseconds. Returns undefined on runtimes without V8's stack capture; messages then name only the node or edge.
 */
export function callPlace(): string | undefined {
  if (typeof Error.captureStackTrace !== 'function') return undefined;
  const limit = Error.stackTraceLimit;
  const holder: { stack?: string } = {};
  // Two frames: the builder method, and its caller, which is the last line.
  Error.stackTraceLimit = 2;
  Error.captureStackTrace(holder, callPlace);
  Error.stackTraceLimit = limit;
  // Tools that load a changed module again give its URL a query (`graph.ts?t=12`).
  const found = /\n\s+at .*\n\s+at (?:.*\()?(?:file:\/\/)?(.+?)(?:\?[^:?]*)?:(\d+):\d+\)?$/u.exec(holder.stack ?? '');
  return found === null ? undefined : `${found[1]}:${found[2]}`;
}

// Completes the edge from a guardrail node to the node that it reroutes to.

const violated: Condition = {
  text: 'outcome.output.passed == false',
  evaluate: ({ outcome }) => (outcome.output as { readonly passed?: unknown } | undefined)?.passed === false,
};

/** Adds the condition to a guardrail's reroute edge that was written without one: the edge fires only if the check found a violation. */
function completeGuardrailEdge(edge: EdgeDefinition, source: NodeDefinition | undefined): EdgeDefinition {
  const { rerouteTarget } = (source?.config ?? {}) as { readonly rerouteTarget?: unknown };
  const isBare = edge.condition === undefined && edge.choice === undefined && edge.always !== true;
  return source?.type === 'guardrail' && rerouteTarget === edge.to && isBare ? { ...edge, condition: violated } : edge;
}

/** Options of {@link AgentGraph}. */
export interface GraphOptions<Reduced extends Reducers = Reducers> {
  /** The graph's stable name. A run finds its graph by this name and the graph's hash. Default `graph`. */
  readonly id?: string;
  /** Reducers by dotted path: `scratch.messages`, `artifacts.stats.count`. */
  readonly reducers?: Reduced;
  /**
   * Which activations get a checkpoint of their own. Default `none`: effects, waits, failures and the end are committed at once, and all
   * else joins the next commit (C10).
   */
  readonly checkpointPolicy?: CheckpointPolicy;
  /** How many activations may run at once. Default 64. */
  readonly concurrency?: number;
  /** How often each node may be visited in a run. Default 1,000. */
  readonly maxVisits?: number;
  /** `all`: every edge whose condition holds fires. `first`: only the first of them (G5). Default `all`. */
  readonly routing?: GraphPolicies['routing'];
  /** When commits become durable (E4). Default `barrier`. */
  readonly durability?: GraphPolicies['durability'];
  /** What a run may spend, by unit: `{ usd: 5 }`. */
  readonly budget?: Amounts;
  /** What happens to an attempt that would start after the budget is spent. Default `ask`. */
  readonly onBudget?: OnBudget;
  /** How nodes remember over sessions, unless their own settings say otherwise (A43). Default: as their memory says. */
  readonly memoryConsistency?: MemoryConsistency;
  /** The limits that each run is under, over all workers: `limit: perUser`, or their names (docs/guide/limits-and-rates.md). */
  readonly limit?: LimitRef | readonly LimitRef[];
  /** What the ends of its runs and their questions are told to. See docs/guide/webhooks.md. */
  readonly webhooks?: readonly Webhook[];
  /**
   * Id of a node without edges that runs once after a cancel, when what was under way has ended: it undoes what the run did outside. It
   * sees the state as it was then, and `ctx.cancel` has the reason. See docs/guide/cancel.md.
   */
  readonly onCancel?: string;
  /**
   * Id of a node without edges that runs once when the run has failed for good, before it stands failed. `ctx.failure` says why. See
   * docs/guide/run-ends.md.
   */
  readonly onRunFailure?: string;
  /** How long a run may take from its admission on, in ms; `{ ms, countsWaits: false }`: without the time in which it is paused. */
  readonly timeLimit?: TimeLimit;
  /**
   * Makes the title of a run from its input, by which people find it in lists: `({ input }) => \`Refund of ${input.order}\``. Called once,
   * when the run is started. See docs/guide/studio.md.
   */
  readonly title?: RunTitle;
}

/** Options of an edge. */
export interface EdgeOptions<State> extends Pick<EdgeDefinition, 'on' | 'label' | 'weight' | 'always'> {
  /** The edge fires only if this holds. It is evaluated when the source node has settled. */
  readonly when?: Predicate<State>;
}

/** Options of a conditional edge. */
export interface ChoiceOptions extends Pick<EdgeDefinition, 'on'> {
  /** Name of the choice in the graph's hash and in messages. Default: the function's name. */
  readonly name?: string;
  /** Change this when the function's meaning changes; the graph's hash depends on it. */
  readonly version?: string;
}

const optionNames = [
  'id',
  'reducers',
  'checkpointPolicy',
  'concurrency',
  'maxVisits',
  'routing',
  'durability',
  'budget',
  'onBudget',
  'memoryConsistency',
  'limit',
  'webhooks',
  'onCancel',
  'onRunFailure',
  'timeLimit',
  'title',
] as const satisfies readonly (keyof GraphOptions)[];
const schemaNames = ['input', 'scratch', 'artifacts'] as const satisfies readonly (keyof GraphSchemas)[];
const edgeOptionNames = [
  'on',
  'label',
  'weight',
  'always',
  'when',
] as const satisfies readonly (keyof EdgeOptions<never>)[];
const choiceOptionNames = ['on', 'name', 'version'] as const satisfies readonly (keyof ChoiceOptions)[];

type Named<Nodes> = keyof Nodes & string;
type Targets<Nodes> = readonly (Named<Nodes> | typeof END)[] | Readonly<Record<string, Named<Nodes> | typeof END>>;
type LabelOf<T> = T extends readonly (infer Label extends string)[] ? Label : keyof T & string;

/**
 * Builds a graph. Methods return the same builder, and its type knows the node ids added so far: chain the calls, and an edge to an unknown
 * node is a type error. To add nodes in a loop, or one per statement, write the type out: `const graph: AgentGraph<GraphSchemas,
 * Record<string, unknown>> = new AgentGraph({})`.
 *
 * Nothing is checked before {@link AgentGraph.compile}, which reports every fault at once (G7).
 */
export class AgentGraph<
  const Schemas extends GraphSchemas = GraphSchemas,
  Nodes = NoNames,
  Answers = NoNames,
  const Reduced extends Reducers = NoNames,
> {
  readonly #schemas: Schemas;
  readonly #options: GraphOptions;
  readonly #nodes: ((drafting: Drafting) => NodeDefinition)[] = [];
  readonly #edges: EdgeDefinition[] = [];
  readonly #faults = new Faults();

  /** @param schemas - Standard Schemas (Zod 4, Valibot, ArkType) of the state's partitions; each may be omitted */
  constructor(schemas: Schemas, options: GraphOptions<Reduced> = {}) {
    this.#schemas = schemas;
    this.#options = options;
    const place = callPlace();
    this.#faults.checkOptions(schemas, schemaNames, 'the state', place);
    this.#faults.checkOptions(options, optionNames, 'the graph', place);
  }

  /**
   * Adds a node: a function of the context, or the result of a node builder, with settings that override the builder's. A plain function is
   * `pure` unless its settings say otherwise. Declare the effect class of a function that acts on the world: recovery depends on it.
   */
  addNode<const Id extends string, Result, Answer = unknown>(
    id: Id,
    work:
      | NodeFunction<TypedState<Schemas, Nodes>, Result & Fits<Result, Schemas, Reduced>>
      | NodeDraft<TypedState<Schemas, Nodes>, Result & Fits<Result, Schemas, Reduced>, Answer>,
    settings?: NodeSettings<TypedState<Schemas, Nodes>>,
  ): AgentGraph<Schemas, Nodes & Record<Id, OutputOf<Result>>, Answers & Record<Id, Answer>, Reduced> {
    const place = callPlace();
    this.#nodes.push((drafting) => defineNode(id, work as AnyWork, settings, place, drafting));
    return this as never;
  }

  /**
   * Declares the outputs of nodes that are added later, so that earlier nodes can read them, as in a loop: `.later<{ review: Review }>()`.
   * Affects types only.
   */
  later<Outputs>(): AgentGraph<Schemas, Nodes & Outputs, Answers, Reduced> {
    return this as never;
  }

  /** Adds an edge. An edge from START makes its target an entry node; an edge to END says that a branch is over. */
  addEdge(
    from: Named<Nodes> | `${Named<Nodes>}?` | typeof START,
    to: Named<Nodes> | typeof END,
    options: EdgeOptions<TypedState<Schemas, Nodes>> = {},
  ): this {
    const place = callPlace();
    const known = this.#faults.checkOptions(options, edgeOptionNames, `edge ${from} -> ${to}`, place);
    const { when, ...rest } = known;
    const condition =
      when === undefined ? {} : { condition: asCondition(when, `${from} -> ${to}`, this.#faults, place) };
    this.#edges.push({ from, to, ...rest, ...condition, ...(place === undefined ? {} : { place }) });
    return this;
  }

  /**
   * Adds one edge to each target. When `from` has settled, `choose` names the target or targets to go to.
   * @param targets - node ids, or an object of node ids by the label that `choose` returns
   */
  addConditionalEdge<const T extends Targets<Nodes>>(
    from: Named<Nodes> | typeof START,
    choose: Choose<TypedState<Schemas, Nodes>, NoInfer<LabelOf<T>>>,
    targets: T,
    options: ChoiceOptions = {},
  ): this {
    const place = callPlace();
    this.#faults.checkOptions(options, choiceOptionNames, `the conditional edge of ${from}`, place);
    const entries = labelTargets(targets);
    if (entries.length === 0) {
      this.#faults.add({
        rule: 'G3',
        place,
        message: `the conditional edge of ${from} names no targets`,
        fix: 'list every node it may lead to',
      });
    }
    if (typeof choose !== 'function')
      this.#faults.add({
        rule: 'G6',
        place,
        message: `the choice of ${from} is no function`,
        fix: 'write it as ({ state }) => label',
      });
    const { on, version, name = (choose as { name?: string } | undefined)?.name || `choice of ${from}` } = options;
    const choice = asChoice(choose as Choose<TypedState<Schemas, Nodes>, string>, name, version);
    for (const [label, to] of entries) {
      this.#edges.push({
        from,
        to,
        choice,
        label,
        ...(on === undefined ? {} : { on }),
        ...(place === undefined ? {} : { place }),
      });
    }
    return this;
  }

  /**
   * Builds the graph model.
   * @throws GRAPH_INVALID with every fault, each with its place and its fix
   */
  toGraph({ tools = {}, renamed, migrations, version }: GraphParts = {}): Graph {
    const { id = 'graph', reducers, checkpointPolicy = 'none', webhooks, ...policies } = this.#options;
    const faults = new Faults(this.#faults.list);
    const approvals: Drafting['approvals'] = new Map();
    const definitions = this.#nodes.map((define) => define({ faults, tools, approvals }));
    const nodes = new Map(definitions.map((node) => [node.id, node]));
    const laid = layApprovals(
      definitions,
      this.#edges.map((edge) => completeGuardrailEdge(edge, nodes.get(edge.from))),
      approvals,
      renamed,
    );
    return faults.compile({
      id,
      ...laid,
      ...(renamed !== undefined && { renamed: withDerived(renamed, laid.nodes) }),
      ...(migrations !== undefined && { migrations }),
      ...(version !== undefined && { version }),
      ...(webhooks !== undefined && { webhooks }),
      schemas: this.#schemas,
      policies: { ...policies, checkpoint: checkpointPolicy },
      ...(reducers === undefined ? {} : { reducers }),
    });
  }

  /**
   * Builds the graph and makes it ready to run. Without a store, runs live in memory.
   * @throws GRAPH_INVALID, CONFIG_INVALID
   */
  compile(
    options: CompileOptions = {},
  ): CompiledGraph<SchemaInput<Schemas['input']>, GraphResult<TypedState<Schemas, Nodes>>, TypedAnswers<Answers>> {
    return new CompiledGraph(
      (parts) => this.toGraph(parts),
      options,
      (result) => result as unknown as GraphResult<TypedState<Schemas, Nodes>>,
    );
  }
}

function labelTargets(
  targets: readonly string[] | Readonly<Record<string, string>> | undefined,
): readonly (readonly [string, string])[] {
  if (targets === undefined) return [];
  return Array.isArray(targets) ? targets.map((id: string) => [id, id] as const) : Object.entries(targets);
}
