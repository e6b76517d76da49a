/** A tool: a function that nodes call by what it is, or by a name under which the graph is given it. */
import type { EffectClass, Reconciliation } from './contracts/node-contract.ts';
import type { StandardSchema } from './graph.ts';

/** What a tool is told of the call. */
export interface ToolCall {
  /** The same for every attempt: hand it to the receiver so that a repeated call is recognised (X1). */
  readonly idempotencyKey: string;
  readonly attempt: number;
  /** Aborted on cancel, timeout and lost claim. */
  readonly signal: AbortSignal;
}

/** What a tool's `reconcile` is told. */
export interface ToolDoubt<Args> extends Omit<ToolCall, 'attempt'> {
  /** Those of the call in doubt. */
  readonly args: Args;
}

export interface Tool<Args = unknown, Result = unknown> {
  readonly name: string;
  readonly execute: (args: Args, call: ToolCall) => Result;
  /** Default `external`. */
  readonly effectClass?: EffectClass;
  /** Checks and completes the arguments before the tool is called. */
  readonly schema?: StandardSchema<Args>;
  /** Says whether the call under this key took effect, when that is in doubt. */
  readonly reconcile?: (asked: ToolDoubt<Args>) => Promise<Reconciliation> | Reconciliation;
}

/** A tool under a name of the graph's. */
export interface NamedTool extends Omit<Tool<never>, 'name' | 'schema'> {
  readonly schema?: StandardSchema;
}

/** Tools by the names that nodes call them by. Arguments are held against their schemas when they run: no type checker sees a name's. */
export type Tools = Readonly<Record<string, NamedTool>>;
