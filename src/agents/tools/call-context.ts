/** Makes the second argument of a tool's function. */
import type { NodeContext, StepContext } from '../../graph/contracts/node-contract.ts';
import type { ToolCallContext } from './agent-tool.ts';

/** @param step - the step in which the call is made */
export function callContext(
  ctx: NodeContext,
  { idempotencyKey, attempt, signal }: Pick<StepContext, 'idempotencyKey' | 'attempt' | 'signal'>,
): ToolCallContext {
  const { secrets, files } = ctx;
  return { idempotencyKey, attempt, signal, secrets, files, emit: (event) => ctx.emit(event), node: ctx };
}
