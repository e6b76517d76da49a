/** The tool node: calls a tool with arguments taken from the state. */
import { CairnError } from '../errors.ts';
import {
  NodeFailure,
  type EffectClass,
  type NodeContext,
  type Reconciliation,
  type RetryPolicy,
  type StateView,
} from '../graph/contracts/node-contract.ts';
import type { StandardSchema } from '../graph/graph.ts';
import { checkValue } from './draft/check-value.ts';
import { beforeEffect } from './draft/before-effect.ts';
import { describeConfig, resolveComputed } from './draft/computed.ts';
import { refuseUnknownKeys } from './draft/known-keys.ts';
import { draftNode, type NodeDraft, type NodeOptions } from './draft/node-draft.ts';
import type { FromState, PlainValue } from './draft/typed-context.ts';

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

export interface ToolNodeConfig<S extends StateView = StateView> {
  /** Default: `{}`. */
  readonly args?: PlainValue | FromState<unknown, S>;
  readonly retry?: RetryPolicy;
  readonly timeoutMs?: number;
}

const configKeys = ['args', 'retry', 'timeoutMs'] as const satisfies readonly (keyof ToolNodeConfig)[];

/**
 * A node that calls a tool; what the tool returns is the output. Effect class: the option, else the tool's, else `external`.
 * Arguments that miss the tool's schema fail with code `INPUT_INVALID`, before the tool is called.
 * @throws CONFIG_INVALID the tool is missing, or has no name or `execute`
 */
export function toolNode<S extends StateView = StateView, Args = unknown, Result = unknown>(
  tool: Tool<Args, Result>,
  config: ToolNodeConfig<S> = {},
  options: NodeOptions = {},
): NodeDraft<S, Result> {
  checkTool(tool);
  refuseUnknownKeys('toolNode', config, configKeys);
  const { config: given, data, codeText } = describeConfig(config.args ?? {});
  const { reconcile } = tool;
  const readArgs = (state: StateView): Promise<Args> => parseArgs(tool, resolveComputed(given, state));
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
      reason: `toolNode(tool) needs a tool object { name, execute }, got ${typeof tool === 'string' ? `the name '${tool}'` : String(tool)}`,
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
