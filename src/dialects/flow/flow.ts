/**
 * Flows: a record of nodes, each naming what it needs. They are compiled to the same graphs as everything else. See docs/guide/flows.md.
 */
import type { NodeContext, StateView } from '../../graph/contracts/node-contract.ts';
import {
  END,
  START,
  type Condition,
  type EdgeDefinition,
  type Graph,
  type GraphSchemas,
  type NodeDefinition,
  isFollowUp,
} from '../../graph/graph.ts';
import { nearest } from '../../graph/nearest.ts';
import type { NodeDraft } from '../../graph/node-draft.ts';
import { functionCondition } from '../../graph/condition.ts';
import { callPlace, type GraphOptions } from '../code/agent-graph.ts';
import { withDerived } from '../derived-names.ts';
import { answeredAs, approvalId, layApprovals, type Approved } from '../approval.ts';
import { CompiledGraph, type GraphResult } from '../code/compiled-graph.ts';
import { defineNode, Faults, settingNames, type Drafting, type NodeSettings } from '../code/graph-parts.ts';
import type { CompileOptions, GraphParts } from '../code/run-options.ts';
import { createStoredError } from '../../state/values/stored-error.ts';
import type { OutputOf, SchemaInput, TypedState } from '../code/typed-state.ts';

/** What a node of a flow may be: a function, or what a node builder returns. */
export type FlowWork = NodeDraft<never> | ((ctx: NodeContext) => unknown);

/** The output that a node's work gives. */
type WorkOutput<Work> = Work extends (ctx: never) => infer Result
  ? OutputOf<Result>
  : Work extends NodeDraft<never, infer Result>
    ? OutputOf<Result>
    : unknown;

/**
 * How a needed node ended, for the condition of a need. The type of `output` is known where each `run` of the flow that takes a `ctx` says
 * its type, `(ctx: NodeContext) => …`, or is written elsewhere; else it is `unknown`.
 */
export type FlowOutcome<Output = unknown> =
  | { readonly status: 'completed'; readonly output: Output; readonly error?: undefined }
  | { readonly status: 'failed'; readonly error: Error; readonly output?: undefined };

/** A node that another needs, with the outcomes that let the other start. */
interface NeedOf<Name extends string, Output> {
  readonly node: Name;
  /**
   * How it must end; `rejected`: a person refused it, and it was skipped. Default: `completed`, or `any` for a node with `onFailure:
   * 'return'`. A failure that somebody needs does not fail the run.
   */
  readonly on?: 'completed' | 'failed' | 'any' | 'rejected';
  /** The dependent starts only if this holds, else it is skipped. Evaluated once, when the needed node has ended. */
  readonly when?: (scope: { readonly outcome: FlowOutcome<Output>; readonly state: StateView }) => boolean;
}

type Need<Works> = {
  [Name in keyof Works & string]: Name | NeedOf<Name, WorkOutput<Works[Name]>>;
}[keyof Works & string];

/** One node of a flow. */
export interface FlowNode<Work, Works> extends Omit<NodeSettings<StateView>, 'join' | 'onFailure' | 'maxVisits'> {
  readonly run: Work;
  /**
   * The nodes that must end before this one starts. It is skipped if one of them did not end as needed. Default: it starts with the flow.
   */
  readonly needs?: readonly Need<Works>[];
  /**
   * What a failure for good does. `fail` (default): all that does not need the node goes on, and then the run fails; a resume tries the
   * node again, and what needs it. `return`: the failure is a result like any other, and what needs the node starts.
   */
  readonly onFailure?: 'fail' | 'return';
}

/** Options of {@link flow}: its state's schemas, and the policies of its graph. */
export interface FlowOptions extends GraphSchemas, Omit<GraphOptions, 'id' | 'maxVisits' | 'routing'> {}

/** How one node of a flow stands. `input` is what it got; there is none before it begins. */
export type FlowNodeResult<Output = unknown> =
  | { readonly status: 'completed'; readonly input: unknown; readonly output: Output; readonly error?: undefined }
  | { readonly status: 'failed'; readonly input: unknown; readonly error: Error; readonly output?: undefined }
  | {
      readonly status: 'skipped' | 'pending' | 'waiting';
      /** Why it was skipped, if a person refused it: `rejected by ann`, and what they said. */
      readonly reason?: string;
      readonly input?: undefined;
      readonly output?: undefined;
      readonly error?: undefined;
    };

/** Where a run of a flow stands: as of any graph, and node by node. */
export interface FlowResult<Works, State = TypedState<GraphSchemas, unknown>> extends GraphResult<State> {
  readonly nodes: { readonly [Name in keyof Works & string]: FlowNodeResult<WorkOutput<Works[Name]>> };
}

type Outputs<Works> = { readonly [Name in keyof Works & string]: WorkOutput<Works[Name]> };

const nodeKeys: readonly string[] = [
  'run',
  'needs',
  ...settingNames.filter((name) => name !== 'join' && name !== 'maxVisits'),
];
const optionKeys = [
  'input',
  'scratch',
  'artifacts',
  'reducers',
  'checkpointPolicy',
  'concurrency',
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
] as const satisfies readonly (keyof FlowOptions)[];
const needKeys = ['node', 'on', 'when'] as const satisfies readonly (keyof NeedOf<string, unknown>)[];

const needConditions: readonly NonNullable<AnyNeed['on']>[] = ['completed', 'failed', 'any', 'rejected'];

type AnyNode = FlowNode<FlowWork, Readonly<Record<string, FlowWork>>>;
type AnyNeed = NeedOf<string, unknown>;

/** A flow that can be compiled. Nothing is checked before that. */
export class Flow<Works, Schemas extends GraphSchemas = GraphSchemas> {
  readonly #id: string;
  readonly #nodes: Readonly<Record<string, AnyNode>>;
  readonly #options: FlowOptions;
  readonly #place: string | undefined;

  constructor(id: string, nodes: Readonly<Record<string, AnyNode>>, options: FlowOptions, place: string | undefined) {
    this.#id = id;
    this.#nodes = nodes;
    this.#options = options;
    this.#place = place;
  }

  /**
   * Builds the graph model.
   * @throws GRAPH_INVALID with every fault, each with its place and its fix: a cycle, an unknown name, an empty flow, and whatever else
   */
  toGraph({ tools = {}, renamed, migrations, version }: GraphParts = {}): Graph {
    const faults = new Faults();
    const place = this.#place;
    const options = faults.checkOptions(this.#options, optionKeys, `flow ${this.#id}`, place);
    const { input, scratch, artifacts, reducers, checkpointPolicy = 'every_node', webhooks, ...policies } = options;
    const names = Object.keys(this.#nodes);
    if (names.length === 0)
      faults.add({
        rule: 'G13',
        place,
        message: `flow ${this.#id} has no nodes`,
        fix: 'add one: { name: { run: work } }',
      });
    const needs = new Map(names.map((name) => [name, this.#needsOf(name, faults)]));
    leaveOutCycles(needs, (path) =>
      faults.add({
        rule: 'G13',
        place,
        message: `flow ${this.#id} has a cycle: ${path.join(' needs ')}`,
        fix: `take one of these needs away; to go round, write the loop as an AgentGraph, and make it a node with subgraphNode`,
      }),
    );
    const drafting: Drafting = { faults, tools, approvals: new Map() };
    const nodes = names.map((name) => this.#define(name, needs.get(name) ?? [], drafting));
    const edges = edgesOf(needs, this.#nodes, [options.onCancel, options.onRunFailure], place);
    const laid = layApprovals(nodes, edges, drafting.approvals, renamed);
    return faults.compile({
      id: this.#id,
      ...laid,
      ...(renamed !== undefined && { renamed: withDerived(renamed, laid.nodes) }),
      ...(migrations !== undefined && { migrations }),
      ...(version !== undefined && { version }),
      ...(webhooks !== undefined && { webhooks }),
      schemas: { ...(input && { input }), ...(scratch && { scratch }), ...(artifacts && { artifacts }) },
      policies: { ...policies, checkpoint: checkpointPolicy },
      result: names,
      ...(reducers === undefined ? {} : { reducers }),
    });
  }

  /**
   * Builds the flow and makes it ready to run. Without a store, runs live in memory.
   * @throws GRAPH_INVALID, CONFIG_INVALID
   */
  compile(
    options: CompileOptions = {},
  ): CompiledGraph<SchemaInput<Schemas['input']>, FlowResult<Works, TypedState<Schemas, Outputs<Works>>>> {
    const needs = new Map(
      Object.keys(this.#nodes).map((name) => [name, this.#needsOf(name, new Faults()).map(({ node }) => node)]),
    );
    const inputs = (name: string, state: StateView): unknown =>
      approvalId(name) in state.outputs
        ? (state.outputs[approvalId(name)] as Approved).input
        : this.#nodes[name]?.input === undefined
          ? defaultInput(needs.get(name) ?? [], state)
          : this.#nodes[name].input({ state });
    return new CompiledGraph(
      (parts) => this.toGraph(parts),
      options,
      (result, completed) => ({ ...result, nodes: nodeResults([...needs.keys()], result, completed, inputs) }) as never,
    );
  }

  /** The needs of a node that name nodes of this flow, in their long form. */
  #needsOf(name: string, faults: Faults): readonly AnyNeed[] {
    const listed: unknown = this.#nodes[name]?.needs ?? [];
    const fault = (message: string, fix: string): void => faults.add({ rule: 'G13', place: this.#place, message, fix });
    if (!Array.isArray(listed)) {
      fault(`the needs of node ${name} are no list`, "write them as ['a', { node: 'b', when }]");
      return [];
    }
    const found = new Map<string, AnyNeed>();
    for (const each of listed as readonly (string | AnyNeed)[]) {
      const need = typeof each === 'string' ? { node: each } : each;
      faults.checkOptions(need, needKeys, `a need of node ${name}`, this.#place);
      const { node } = need;
      if (!Object.hasOwn(this.#nodes, node)) {
        const known = Object.keys(this.#nodes);
        const guess = nearest(node, known);
        fault(
          `node ${name} needs ${node}, which the flow does not have`,
          `${guess === undefined ? '' : `did you mean ${guess}? `}it has ${known.join(', ')}`,
        );
      } else if (found.has(node))
        fault(`node ${name} needs ${node} twice`, 'name it once, with one condition for both');
      else if (need.on !== undefined && !needConditions.includes(need.on))
        fault(
          `node ${name} needs ${node} on ${JSON.stringify(need.on)}, which is not known`,
          `use one of: ${needConditions.join(', ')}`,
        );
      else if (need.on === 'rejected' && this.#nodes[node]?.approval === undefined)
        fault(
          `node ${name} needs that ${node} is rejected, and nobody is asked`,
          `give ${node} an approval: { prompt: '…' }`,
        );
      else found.set(node, need);
    }
    return [...found.values()];
  }

  #define(name: string, needs: readonly AnyNeed[], drafting: Drafting): NodeDefinition {
    const place = this.#place;
    const known = drafting.faults.checkOptions(this.#nodes[name], nodeKeys, `node ${name}`, place) as AnyNode;
    const { run, needs: _, onFailure = 'fail', ...settings } = known;
    if (onFailure !== 'fail' && onFailure !== 'return')
      drafting.faults.add({
        rule: 'G13',
        place,
        message: `node ${name}: onFailure ${JSON.stringify(onFailure)} is not known`,
        fix: "use 'fail' or 'return'",
      });
    const sources = needs.map(({ node }) => node);
    return defineNode<StateView>(
      name,
      run,
      {
        input: ({ state }) => defaultInput(sources, state),
        ...settings,
        ...(!isFollowUp(this.#options, name) && { join: needs.length > 0 ? 'all' : 'some' }),
        onFailure: onFailure === 'return' ? 'skip-dependents' : 'fail-last',
      },
      place,
      drafting,
    );
  }
}

/**
 * Writes a flow: nodes by their names, each with the names of the nodes that it needs. Whatever needs nothing that is missing runs side by
 * side. A node's `ctx.input` is the flow's input with the output of each node that it needs, under that node's name, unless its `input`
 * says otherwise.
 *
 * @param id - the name of the flow's graph
 * @throws nothing; `compile` reports every fault at once
 */
export function flow<
  Works extends Readonly<Record<string, FlowWork>>,
  const Schemas extends GraphSchemas = GraphSchemas,
>(
  id: string,
  nodes: { readonly [Name in keyof Works]: FlowNode<Works[Name], Works> },
  options: Schemas & FlowOptions = {} as Schemas,
): Flow<Works, Schemas> {
  return new Flow(id, nodes as unknown as Readonly<Record<string, AnyNode>>, options, callPlace());
}

/** The flow's input, and the outputs of these nodes by their names. An input that is no object is under `input`. */
function defaultInput(sources: readonly string[], { input, outputs }: StateView): unknown {
  if (sources.length === 0) return input;
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input);
  const own = isObject ? input : input === undefined ? {} : { input };
  return {
    ...own,
    ...Object.fromEntries(sources.filter((name) => name in outputs).map((name) => [name, outputs[name]])),
  };
}

/** Removes from the needs those that close a cycle, each after it was reported. */
function leaveOutCycles(needs: Map<string, readonly AnyNeed[]>, report: (path: readonly string[]) => void): void {
  const done = new Set<string>();
  for (const start of needs.keys()) {
    // A walk with a stack of its own, since flows may be longer than the call stack is deep.
    const path: { readonly name: string; next: number }[] = done.has(start) ? [] : [{ name: start, next: 0 }];
    while (path.length > 0) {
      const at = path.at(-1) as (typeof path)[number];
      const list = needs.get(at.name) ?? [];
      const need = list[at.next];
      if (need === undefined) {
        done.add(at.name);
        path.pop();
        continue;
      }
      const closes = path.findIndex(({ name }) => name === need.node);
      if (closes >= 0) {
        report([...path.slice(closes).map(({ name }) => name), need.node]);
        needs.set(at.name, list.toSpliced(at.next, 1));
        continue;
      }
      at.next += 1;
      if (!done.has(need.node)) path.push({ name: need.node, next: 0 });
    }
  }
}

function edgesOf(
  needs: ReadonlyMap<string, readonly AnyNeed[]>,
  nodes: Readonly<Record<string, AnyNode>>,
  followUps: readonly (string | undefined)[],
  place: string | undefined,
): readonly EdgeDefinition[] {
  const at = place === undefined ? {} : { place };
  const edges: EdgeDefinition[] = [];
  const needed = new Set<string>();
  for (const [to, list] of needs) {
    if (list.length === 0 && !followUps.includes(to)) edges.push({ from: START, to, ...at });
    for (const { node: from, when, on = nodes[from]?.onFailure === 'return' ? 'any' : 'completed' } of list) {
      if (on === 'rejected') {
        edges.push({ from: approvalId(from), to, condition: answeredAs(false), ...at });
        continue;
      }
      needed.add(from);
      edges.push({ from, to, on, ...at, ...(when === undefined ? {} : { condition: conditionOf(from, to, when) }) });
    }
  }
  for (const name of needs.keys())
    if (!needed.has(name) && !followUps.includes(name)) edges.push({ from: name, to: END, ...at });
  return edges;
}

function conditionOf(from: string, to: string, when: NonNullable<AnyNeed['when']>): Condition {
  const text = when.name === '' || when.name === 'when' ? `${from} -> ${to}` : when.name;
  return functionCondition(({ outcome, state }) => when({ outcome: outcome as FlowOutcome, state }), { text });
}

function reasonOf(answer: unknown): { readonly reason?: string } {
  const { approved, by, feedback } = (answer ?? {}) as Partial<Approved>;
  if (approved !== false) return {};
  return { reason: `rejected${by === undefined ? '' : ` by ${by}`}${feedback === undefined ? '' : `: ${feedback}`}` };
}

/** The error of a failed node, with the code that the history tells of an error that has none. */
function withCode(error: Error): Error {
  if ('code' in error) return error;
  const { name, message, cause, data } = error as Error & { readonly data?: unknown };
  const inner = { ...(data !== undefined && { data }), ...(cause !== undefined && { cause }) };
  return Object.freeze(createStoredError({ name, message, code: 'NODE_FAILED', ...inner }));
}

function nodeResults(
  names: readonly string[],
  { state, skipped, waits, failed }: GraphResult<StateView>,
  completed: readonly string[],
  inputOf: (name: string, state: StateView) => unknown,
): Readonly<Record<string, FlowNodeResult>> {
  const done = new Set(completed);
  const waiting = new Set(waits.map(({ node }) => node[0]));
  const resultOf = (name: string): FlowNodeResult => {
    const failure = (error: Error): FlowNodeResult => ({
      status: 'failed',
      input: inputOf(name, state),
      error: withCode(error),
    });
    const error = state.failures[name];
    if (error !== undefined && failed.includes(name)) return failure(error);
    if (name in state.outputs || done.has(name))
      return { status: 'completed', input: inputOf(name, state), output: state.outputs[name] };
    const refused = state.failures[approvalId(name)];
    if (refused !== undefined && failed.includes(approvalId(name))) return failure(refused);
    if (skipped.includes(name)) return { status: 'skipped', ...reasonOf(state.outputs[approvalId(name)]) };
    return { status: waiting.has(name) || waiting.has(approvalId(name)) ? 'waiting' : 'pending' };
  };
  return Object.fromEntries(names.map((name) => [name, resultOf(name)]));
}
