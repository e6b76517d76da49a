/** Commands that are run before and after each call of a tool: one may refuse the call, the other gets its result. */
import { reasonOf } from '../../errors.ts';
import { NodeFailure, type NodeContext } from '../../graph/contracts/node-contract.ts';
import type { ToolHooks } from '../../graph/contracts/stage-agent.ts';
import { resolveSecrets } from '../../nodes/secrets/secret.ts';
import { createShellRequest, describeEnd, runCommand, type CommandEnd } from '../../nodes/shell/run-command.ts';
import {
  type AgentTool,
  type ComposedTool,
  type FunctionTool,
  type ToolCallContext,
  callContext,
} from '../tools/tool-box.ts';
import { encodeValue } from '../../state/values/encode.ts';

/** Of one hook; its process group is killed then. */
const hookMs = 60_000;
const outputBytesMax = 64 * 1024;

/** The same tool with commands around its calls. A tool that runs a graph has none: what it does are stages of its own. */
export function hookTool(name: string, definition: AgentTool, hooks: ToolHooks): AgentTool {
  if ('node' in definition) return definition;
  if (definition.composed === true) return hookComposed(name, definition, hooks);
  const { run }: FunctionTool = definition;
  return {
    ...definition,
    run: (args: unknown, call: ToolCallContext) =>
      around(
        { name, args, hooks, emit: call.node.emit },
        (hook) => hook(call),
        () => run.call(definition, args, call),
      ),
  };
}

/** Its calls are steps of their own, and so are its hooks. */
function hookComposed(name: string, definition: ComposedTool, hooks: ToolHooks): ComposedTool {
  return {
    ...definition,
    run: (args, ctx) => {
      const inStep = (hook: Hook, when: string): Promise<HookEnd> =>
        ctx.step(`hook ${when}`, { effect: 'external', idempotent: true, input: args }, (step) =>
          hook(callContext(ctx, step)),
        );
      const call = { name, args, hooks, emit: ctx.emit.bind(ctx) };
      return around(call, inStep, () => definition.run(args, ctx));
    },
  };
}

type HookEnd = Pick<CommandEnd, 'exitCode' | 'signal' | 'stderr'>;
type Hook = (call: Pick<ToolCallContext, 'idempotencyKey' | 'signal' | 'secrets'>) => Promise<HookEnd>;

/** What a hook gets about a call. */
interface HookInput {
  readonly hook: 'pre' | 'post';
  readonly tool: string;
  readonly arguments: unknown;
  readonly result?: unknown;
  readonly error?: string;
}

interface HookedCall {
  readonly name: string;
  readonly args: unknown;
  readonly hooks: ToolHooks;
  readonly emit: NodeContext['emit'];
}

/** @param perform - runs a hook where the tool's own work is done */
async function around(
  { name, args, hooks, emit }: HookedCall,
  perform: (hook: Hook, when: 'before' | 'after') => Promise<HookEnd>,
  work: () => unknown,
): Promise<unknown> {
  const input = { tool: name, arguments: args };
  const { pre, post, env } = hooks;
  if (pre !== undefined) {
    const end = await perform(hookOf(pre, env, { ...input, hook: 'pre' }), 'before');
    if (end.exitCode !== 0)
      throw new NodeFailure(`a hook refused the call: it ${describeEnd(end as CommandEnd)}`, {
        code: 'HOOK_REFUSED',
        applied: 'no',
      });
  }
  const after = async (came: Pick<HookInput, 'result' | 'error'>): Promise<void> => {
    if (post === undefined) return;
    const end = await perform(hookOf(post, env, { ...input, ...came, hook: 'post' }), 'after').catch(
      (error: unknown) => error as Error,
    );
    const fault = end instanceof Error ? end.message : end.exitCode === 0 ? undefined : describeEnd(end as CommandEnd);
    if (fault !== undefined)
      emit({ type: 'tool-hook-failed', tool: name, fault }, { recorded: true, name: 'tool-hook' });
  };
  let result: unknown;
  try {
    result = await work();
  } catch (error) {
    await after({ error: reasonOf(error) });
    throw error;
  }
  await after({ result });
  return result;
}

function hookOf(script: string, env: ToolHooks['env'], input: HookInput): Hook {
  return async ({ idempotencyKey, signal, secrets }) => {
    const { mask } = await resolveSecrets({}, secrets);
    const process = { command: script, env: { ...env, CAIRN_TOOL: input.tool }, input: encodeValue(input) };
    const request = createShellRequest(process, idempotencyKey);
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(hookMs)]);
    const {
      exitCode,
      signal: by,
      stderr,
    } = await runCommand({ emit: () => {}, signal: bounded }, request, {
      mask,
      maxOutputBytes: outputBytesMax,
    });
    return { exitCode, signal: by, stderr };
  };
}
