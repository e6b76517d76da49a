/** A graph with an engine, as other graphs see it: what `compile()` gives may stand wherever a graph does. */
import type { Graph } from './graph.ts';
import type { StateView } from './contracts/node-contract.ts';

/** What `compile()` gives. The type parameters are for the type checker: what it takes, and its state at the end. */
export interface RunnableGraph<Input = never, State = unknown> {
  readonly graph: Graph;
  /** Never there. */
  readonly '~types'?: { readonly takes: (input: Input) => void; readonly state: State };
}

/** A graph, or what `compile()` made of one. */
export type GraphOrRunnable<Input = never, State = StateView> = Graph | RunnableGraph<Input, State>;

/** The graph itself; undefined for anything else. */
export function graphOf(given: unknown): Graph | undefined {
  const inner = (given as Partial<RunnableGraph> | undefined)?.graph ?? given;
  return (inner as Partial<Graph> | undefined)?.nodeIndex === undefined ? undefined : (inner as Graph);
}
