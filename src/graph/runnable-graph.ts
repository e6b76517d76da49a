/** What is accepted wherever a graph is: a graph, what `compile()` made of one, and what builds one and is not compiled yet. */
import type { Graph } from './graph.ts';
import type { StateView } from './contracts/node-contract.ts';

type ArtifactsOf<State> = State extends { readonly artifacts: infer Artifacts } ? Artifacts : unknown;

/**
 * What `compile()` returns. The type parameters exist for the type checker only: the input that the graph takes, its final state, and what
 * its runs give as a whole.
 */
export interface RunnableGraph<Input = never, State = unknown, Result = ArtifactsOf<State>> {
  readonly graph: Graph;
  /** Exists for the type checker only; never set. */
  readonly '~types'?: { readonly takes: (input: Input) => void; readonly state: State; readonly result: Result };
}

/** A workflow, a graph or a flow that is written but not compiled. */
export interface GraphBuilder {
  /** @throws GRAPH_INVALID with every fault, each with its place and its fix */
  toGraph(): Graph;
}

/** A graph, what `compile()` made of one, or what builds one. */
export type GraphOrRunnable<Input = never, State = StateView, Result = ArtifactsOf<State>> =
  | Graph
  | RunnableGraph<Input, State, Result>
  | GraphBuilder;

const isGraph = (value: unknown): value is Graph => (value as Partial<Graph> | undefined)?.nodeIndex !== undefined;

/** The graph inside; undefined if the value is none of the three. @throws GRAPH_INVALID what builds it has faults */
export function graphOf(value: unknown): Graph | undefined {
  if (isGraph(value)) return value;
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return undefined;
  const { graph, toGraph } = value as { readonly graph?: unknown; readonly toGraph?: unknown };
  if (isGraph(graph)) return graph;
  return typeof toGraph === 'function' ? (toGraph.call(value) as Graph) : undefined;
}

/**
 * What a completed run of a graph gives as a whole: what `returns` of a workflow made, the outputs of a flow's nodes by their names, the
 * outputs of a workflow read from a text; of any other graph its artifacts.
 */
export function resultOf({ result }: Graph, state: StateView): unknown {
  return resultAt(result ?? null, state);
}

/** The output of a node, the outputs of some by their names as far as they completed, or the artifacts if none is named. */
export function resultAt(
  place: string | readonly string[] | null,
  { outputs, artifacts }: { readonly outputs: Readonly<Record<string, unknown>>; readonly artifacts: unknown },
): unknown {
  if (place === null) return artifacts;
  if (typeof place === 'string') return outputs[place];
  return Object.fromEntries(place.filter((name) => Object.hasOwn(outputs, name)).map((name) => [name, outputs[name]]));
}
