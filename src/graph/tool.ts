/** Tools: functions that nodes call, either given directly or by a name that the graph resolves. */
import type { EffectClass, Reconciliation } from './contracts/node-contract.ts';
import type { StandardSchema } from './graph.ts';

/** What a tool is told about the call. */
export interface ToolCall {
  /** The same for every attempt. Pass it on, so that the receiver recognises a repeated call (X1). */
  readonly idempotencyKey: string;
  readonly attempt: number;
  /** Aborted on cancel, timeout and lost claim. */
  readonly signal: AbortSignal;
}

/** What a tool's `reconcile` is told about the call in doubt. */
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
  readonly reconcile?: (asked: ToolDoubt<Args>) => Promise<Reconciliation> | Reconciliation;
}

/** A tool that nodes refer to by name. */
export interface NamedTool extends Omit<Tool<never>, 'name' | 'schema'> {
  readonly schema?: StandardSchema;
}

/** Tools by the names that nodes use for them. Arguments are validated at run time, because the type checker cannot see through a name. */
export type Tools = Readonly<Record<string, NamedTool>>;
