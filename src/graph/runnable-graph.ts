/** A graph with an engine, as other graphs see it. Wherever a graph is accepted, the result of `compile()` is too. */
import type { Graph } from './graph.ts';
import type { StateView } from './contracts/node-contract.ts';

/** What `compile()` returns. The type parameters exist for the type checker only: the input that the graph takes, and its final state. */
export interface RunnableGraph<Input = never, State = unknown> {
  readonly graph: Graph;
  /** Exists for the type checker only; never set. */
  readonly '~types'?: { readonly takes: (input: Input) => void; readonly state: State };
}

/** A graph, or what `compile()` made of one. */
export type GraphOrRunnable<Input = never, State = StateView> = Graph | RunnableGraph<Input, State>;

/** The graph inside; undefined if the value is neither of the two. */
export function graphOf(given: unknown): Graph | undefined {
  const inner = (given as Partial<RunnableGraph> | undefined)?.graph ?? given;
  return (inner as Partial<Graph> | undefined)?.nodeIndex === undefined ? undefined : (inner as Graph);
}
