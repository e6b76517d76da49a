/** A node that has no id yet: every node builder returns one, and a graph builder sets its id. */
import type { EffectClass, Reconciliation, StateView } from './contracts/node-contract.ts';
import type { StandardSchema, NodeDefinition } from './graph.ts';

// Tools: functions that nodes call, either directly or by a name that the graph resolves.

/** What a tool gets about the call. */
export interface ToolCall {
  /** The same for every attempt. Pass it on, so that the receiver recognises a repeated call (X1). */
  readonly idempotencyKey: string;
  readonly attempt: number;
  /** Aborted on cancel, timeout and lost claim. */
  readonly signal: AbortSignal;
}

/** What a tool's `reconcile` gets about the call in doubt. */
export interface ToolDoubt<Args> extends Omit<ToolCall, 'attempt'> {
  /** The arguments of that call. */
  readonly args: Args;
}

export interface Tool<Args = unknown, Result = unknown> {
  readonly name: string;
  readonly execute: (args: Args, call: ToolCall) => Result;
  /** The tool's effect class. Default `external`. */
  readonly effectClass?: EffectClass;
  /** Validates the arguments before the tool is called; may fill in defaults. */
  readonly schema?: StandardSchema<Args>;
  /** Finds out whether the call with this key took effect, when that is in doubt. */
  readonly reconcile?: (context: ToolDoubt<Args>) => Promise<Reconciliation> | Reconciliation;
}

/** A tool that nodes refer to by name. */
export interface NamedTool extends Omit<Tool<never>, 'name' | 'schema'> {
  readonly schema?: StandardSchema;
}

/** Tools by the names that nodes use for them. Arguments are validated at run time, because the type checker cannot see through a name. */
export type Tools = Readonly<Record<string, NamedTool>>;

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
