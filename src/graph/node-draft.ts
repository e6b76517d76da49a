/** A node that has no id yet: returned by every node builder, and given an id by a graph builder. */
import type { NodeDefinition } from './graph.ts';
import type { StateView } from './contracts/node-contract.ts';
import type { NamedTool } from './tool.ts';

/**
 * A node without an id. A draft is never changed, so it may be added under several ids. The type parameters exist for the type checker
 * only: the state that its functions read, its output, and the answers to its question.
 */
export interface NodeDraft<State = StateView, Output = unknown, Answer = unknown> extends Omit<NodeDefinition, 'id'> {
  /** Set if the node refers to its tool by name: that name, and a function that completes the node once the graph has the tool. */
  readonly byTool?: { readonly name: string; readonly bind: (tool: NamedTool) => NodeDraft<State, Output, Answer> };
  /** Exists for the type checker only; never set. */
  readonly '~types'?: {
    readonly reads: (state: State) => void;
    readonly output: Output;
    readonly answer: Answer;
  };
}
