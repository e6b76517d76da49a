/** What a tool's function finds out about its call, by the options that the SDK's signature gives it. */
import type { ToolCallContext } from '../agents/agent-tool.ts';
import type { NodeContext } from '../graph/contracts/node-contract.ts';

interface NotedCall {
  readonly call?: ToolCallContext;
  readonly context?: NodeContext;
}

const noted = new WeakMap<object, NotedCall>();

export function noteToolCall(options: object, call: NotedCall): void {
  noted.set(options, call);
}

/**
 * The call that a tool's function was made for: its idempotency key, for the receiver, its signal, live events, secrets and files.
 * Undefined where the tool is not durable, or composed.
 * @param options - the second argument of the tool's function
 */
export function callOf(options: object): ToolCallContext | undefined {
  return noted.get(options)?.call;
}

/**
 * The node's context for a composed tool's own steps, questions and child runs. Undefined in other tools.
 * @param options - the second argument of the tool's function
 */
export function contextOf(options: object): NodeContext | undefined {
  return noted.get(options)?.context;
}
