/** Gives a tool's function information about its call, found through the SDK's second argument. */
import type { ToolCallContext } from '../agents/tools/agent-tool.ts';
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
 * The call that a tool's function runs for: its idempotency key, signal, live events, secrets and files. Undefined if the tool is not
 * durable, or is composed.
 * @param options - the second argument of the tool's function
 */
export function callOf(options: object): ToolCallContext | undefined {
  return noted.get(options)?.call;
}

/**
 * The node's context for a composed tool, to make its own steps, questions and child runs. Undefined in other tools.
 * @param options - the second argument of the tool's function
 */
export function contextOf(options: object): NodeContext | undefined {
  return noted.get(options)?.context;
}
