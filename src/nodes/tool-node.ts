/** The tool node: calls a tool with arguments from the state. */
import { CairnError } from '../errors.ts';
import { NodeFailure, type NodeContext, type StateView } from '../graph/contracts/node-contract.ts';
import type { RetryPolicy } from '../graph/contracts/retry-policy.ts';
import type { Tool } from '../graph/node-draft.ts';
import { checkValue, beforeEffect } from './draft/before-effect.ts';
import { describeConfig, resolveComputed, type FromState, type PlainValue } from './draft/computed.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import { draftNode, type NodeDraft, type NodeOptions } from './draft/node-draft.ts';

export type { Tool, ToolCall } from '../graph/node-draft.ts';

export interface ToolNodeConfig<S extends StateView = StateView> {
  /** The tool's arguments. Default: `{}`. */
  readonly args?: PlainValue | FromState<unknown, S>;
  readonly retry?: RetryPolicy;
  readonly timeoutMs?: number;
}

const configKeys = ['args', 'retry', 'timeoutMs'] as const satisfies readonly (keyof ToolNodeConfig)[];

/**
 * Makes a node that calls a tool. The tool's result is the output. The effect class is that of the options, else the tool's, else
 * `external`. Arguments that do not fit the tool's schema make it fail with code `INPUT_INVALID`, before the tool is called.
 *
 * @param tool - the tool, or the name of a tool that is passed when the graph is compiled: `compile({ tools: { web_search: … } })`
 * @throws CONFIG_INVALID the tool is missing, or has no name or `execute`
 */
export function toolNode<S extends StateView = StateView, Args = unknown, Result = unknown>(
  tool: Tool<Args, Result> | string,
  config: ToolNodeConfig<S> = {},
  options: NodeOptions = {},
): NodeDraft<S, Result> {
  refuseUnknownKeys('toolNode', config, configKeys);
  if (typeof tool !== 'string') return draftToolNode(tool, config, options);
  if (tool === '') throw new CairnError('CONFIG_INVALID', { reason: 'toolNode(tool): the name is empty' });
  const unbound = (): never => {
    throw new CairnError('CONFIG_INVALID', { reason: `tool '${tool}' was not given` });
  };
  return {
    ...draftNode<S, Result>({ type: 'tool', effect: 'external', implementation: { run: unbound } }, options),
    byTool: {
      name: tool,
      bind: (found) => draftToolNode({ ...found, name: tool } as unknown as Tool<Args, Result>, config, options),
    },
  };
}

function draftToolNode<S extends StateView, Args, Result>(
  tool: Tool<Args, Result>,
  config: ToolNodeConfig<S>,
  options: NodeOptions,
): NodeDraft<S, Result> {
  checkTool(tool);
  const { config: args, data, codeText } = describeConfig(config.args ?? {});
  const { reconcile } = tool;
  const readArgs = (state: StateView): Promise<Args> => parseArgs(tool, resolveComputed(args, state));
  return draftNode(
    {
      type: 'tool',
      effect: tool.effectClass ?? 'external',
      config: { tool: tool.name, args: data },
      retry: config.retry,
      timeoutMs: config.timeoutMs,
      implementation: {
        run: async ({ state, idempotencyKey, attempt, signal }: NodeContext) =>
          tool.execute(await beforeEffect(() => readArgs(state)), { idempotencyKey, attempt, signal }),
        codeText: `${String(tool.execute)}\n${codeText}`,
        ...(reconcile && {
          reconcile: async ({ idempotencyKey, state, signal }) =>
            reconcile.call(tool, { idempotencyKey, args: await readArgs(state), signal }),
        }),
      },
    },
    options,
  );
}

function checkTool(tool: unknown): void {
  if (typeof tool !== 'object' || tool === null) {
    throw new CairnError('CONFIG_INVALID', {
      reason: `toolNode(tool) needs a tool { name, execute }, or a tool's name; got ${String(tool)}`,
    });
  }
  const { name, execute } = tool as Partial<Tool>;
  if (typeof name !== 'string' || name === '')
    throw new CairnError('CONFIG_INVALID', { reason: 'a tool needs a name' });
  if (typeof execute !== 'function')
    throw new CairnError('CONFIG_INVALID', { reason: `tool '${name}' has no execute function` });
}

async function parseArgs<Args>(tool: Tool<Args>, args: unknown): Promise<Args> {
  if (tool.schema === undefined) return args as Args;
  const { value, reasons } = await checkValue(tool.schema, args);
  if (reasons === undefined) return value;
  throw new NodeFailure(`arguments of tool '${tool.name}' do not fit: ${reasons.join('; ')}`, {
    code: 'INPUT_INVALID',
    applied: 'no',
    data: { tool: tool.name, reasons },
  });
}
