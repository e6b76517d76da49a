/** A node that has no id yet: what every node builder returns, and a graph builder names. */
import type { NodeDefinition } from './graph.ts';
import type { StateView } from './contracts/node-contract.ts';
import type { NamedTool } from './tool.ts';

/**
 * A node without an id. A draft is never changed, so one may be added under several ids. The type parameters are for the type checker
 * alone: which state its functions read, what its output is, and what answers a question of it.
 */
export interface NodeDraft<State = StateView, Output = unknown, Answer = unknown> extends Omit<NodeDefinition, 'id'> {
  /** Of a node that names its tool: that name, and what the node is once the graph is given the tool. */
  readonly byTool?: { readonly name: string; readonly bind: (tool: NamedTool) => NodeDraft<State, Output, Answer> };
  /** Never there. */
  readonly '~types'?: {
    readonly reads: (state: State) => void;
    readonly output: Output;
    readonly answer: Answer;
  };
}
