/**
 * Implements the SDK's `toolApproval` with questions. Where the SDK would return to its caller for the user's approval, a person is asked
 * through the run.
 */
import type { Tool, ToolApprovalConfiguration, ToolSet } from 'ai';
import { askApproval, refusedText } from '../agents/tools/approval.ts';
import { CairnError } from '../errors.ts';
import { askedTool } from './asked-tool.ts';
import type { AskedCalls } from './asked-calls.ts';
import type { Attempt } from './attempt.ts';
import { wasBegun } from './durable-tools.ts';
import { plainCopy } from './plain-copy.ts';

type Configuration<Tools extends ToolSet> = ToolApprovalConfiguration<Tools, Record<string, unknown>>;
type Decide<Tools extends ToolSet> = Extract<Configuration<Tools>, (...given: never) => unknown>;
type Given = Parameters<Decide<ToolSet>>[0];
type Status = Awaited<ReturnType<Decide<ToolSet>>>;

/** @param keyOf - key of the call, so that after a restart the question is recognised as the same */
export function askingApproval(
  config: Configuration<ToolSet>,
  attempt: Attempt,
  asked: AskedCalls,
  keyOf: (name: string, input: unknown, ordinal: number) => string,
): Decide<ToolSet> {
  return async (given) => {
    const { toolCall, tools = {} } = given;
    const { toolName: name, toolCallId } = toolCall;
    const input: unknown = toolCall.input;
    const refusal = asked.refusalOf(toolCallId);
    if (
      refusal !== undefined &&
      !wasBegun(attempt.ctx, keyOf(name, plainCopy(input), asked.ordinalOf(toolCallId) ?? 1))
    )
      return { type: 'denied', reason: refusal };
    const status = await statusOf(config, given);
    // The configuration has no entry for this tool, so the tool itself decides when it is called.
    if (status === undefined) return 'not-applicable';
    asked.decide(toolCallId);
    if ((typeof status === 'string' ? status : status.type) !== 'user-approval') return status;
    const ordinal =
      asked.ordinalOf(toolCallId) ??
      attempt.refuse(`tool ${name}`, 'no model of this conversation asked for this call');
    const args = plainCopy(input);
    try {
      const decision = await attempt.during(async () => {
        const about = await askedTool(name, tools[name] as Tool);
        return askApproval(attempt.ctx, about, { key: keyOf(name, args, ordinal), given: args, args });
      });
      if (decision.kind === 'refused') return { type: 'denied', reason: refusedText(name, decision.reason) };
      if (decision.args === args) return 'approved';
      return { type: 'denied', reason: `a person wants it called with ${JSON.stringify(decision.args)}` };
    } catch (error) {
      throw CairnError.is(error) ? attempt.end(error) : error;
    }
  };
}

async function statusOf(config: Configuration<ToolSet>, given: Given): Promise<Status> {
  if (typeof config === 'function') return config(given);
  const { toolCall, toolsContext, runtimeContext, messages } = given;
  const own = Object.hasOwn(config, toolCall.toolName) ? config[toolCall.toolName] : undefined;
  if (typeof own !== 'function') return own;
  const { toolCallId, toolName } = toolCall;
  const toolContext = (toolsContext as Readonly<Record<string, never>>)[toolName] as never;
  return own(toolCall.input, { toolCallId, messages, toolContext, runtimeContext });
}
