/** The agent node: a model, its instructions and its tools, as one node of any graph. */
import { CairnError } from '../errors.ts';
import type { NodeContext, StateView } from '../graph/contracts/node-contract.ts';
import { describeConfig } from '../nodes/draft/computed.ts';
import { refuseUnknownKeys } from '../nodes/draft/known-keys.ts';
import { draftNode, type NodeDraft, type NodeOptions } from '../nodes/draft/node-draft.ts';
import type { AnySchema, SchemaValue } from '../schema/standard-schema.ts';
import { converse } from './agent-loop.ts';
import { agentTraits } from './agent-traits.ts';
import type { HistoryLimit } from './conversation.ts';
import { finalForm } from './final-answer.ts';
import type { ModelSettings, ModelStepOptions } from './model-step.ts';
import { openingOf, type Opening } from './prompt.ts';
import { createToolBox, type ToolEntry } from './tool-box.ts';

export interface AgentConfig<
  S extends StateView = StateView,
  Schema extends AnySchema | undefined = AnySchema | undefined,
> extends Opening<S> {
  /** As models are named: `anthropic:claude-…`, or a name of the configuration. */
  readonly model: string;
  readonly tools?: Readonly<Record<string, ToolEntry>>;
  /** Schema of the final answer, which is then a value. Default: a text. */
  readonly output?: Schema;
  /** Model calls, at most. Default 15. */
  readonly maxLoops?: number;
  /** Tools that act on the world and may be called without asking a person; true: all of them. */
  readonly allow?: readonly string[] | true;
  /** What the model is sent of a long conversation. */
  readonly history?: HistoryLimit;
  readonly settings?: Omit<ModelSettings, 'model' | 'tools' | 'schema'>;
  /** How model calls are made: retries, timeouts. */
  readonly calls?: Omit<ModelStepOptions, 'name'>;
  /** What other agents are told that use this one as a tool. */
  readonly description?: string;
}

/** What an agent gives: what its schema says, else a text. */
export type Answer<Schema> = [Schema] extends [AnySchema] ? SchemaValue<Schema> : string;

const configKeys = [
  'model',
  'instructions',
  'prompt',
  'tools',
  'output',
  'maxLoops',
  'allow',
  'history',
  'settings',
  'calls',
  'description',
] as const satisfies readonly (keyof AgentConfig)[];

const defaultLoops = 15;
const promptInput = {
  type: 'object',
  required: ['prompt'],
  properties: { prompt: { type: 'string', description: 'All that it must know to do its work.' } },
  additionalProperties: false,
} as const;

/**
 * A node that lets a model work with tools until it answers; the answer is the node's output. Each model call is bought once, and each
 * tool call is made once, whatever is killed: both are steps. Effect class `pure`: its steps say what may be repeated.
 * @throws CONFIG_INVALID
 */
export function agent<S extends StateView = StateView, Schema extends AnySchema | undefined = undefined>(
  config: AgentConfig<S, Schema>,
  options: NodeOptions = {},
): NodeDraft<S, Answer<Schema>> {
  refuseUnknownKeys('agent', config, configKeys);
  const { model, tools = {}, output, maxLoops = defaultLoops, allow = [], history = {}, calls = {} } = config;
  if (typeof model !== 'string' || model === '') refuse('model must be the name of a model');
  if (!Number.isSafeInteger(maxLoops) || maxLoops < 1) refuse('maxLoops must be a whole number over 0');
  const box = createToolBox(tools);
  checkAllow(allow, box.names);
  const form = output === undefined ? undefined : finalForm(output, 'agent: output');
  const settings: ModelSettings = {
    model,
    ...config.settings,
    ...(box.offered.length > 0 && { tools: box.offered }),
    ...(form !== undefined && { schema: form.json }),
  };
  const {
    data,
    codeText,
    config: asked,
  } = describeConfig({ instructions: config.instructions, prompt: config.prompt });
  const run = (ctx: NodeContext): Promise<unknown> =>
    converse(ctx, openingOf(asked as Opening, ctx), {
      settings,
      box,
      allow,
      form,
      loopsMax: maxLoops,
      history,
      steps: calls,
    });
  const implementation = { run, codeText: `${codeText}\n${box.codeText}` };
  const description =
    config.description ?? (typeof config.instructions === 'string' ? config.instructions : 'An agent.');
  agentTraits.set(implementation, { description, input: promptInput });
  const described = { ...(data as object), settings, maxLoops, allow, history };
  return draftNode({ type: 'agent', effect: 'pure', config: described, implementation }, options);
}

function refuse(reason: string): never {
  throw new CairnError('CONFIG_INVALID', { reason: `agent: ${reason}` });
}

function checkAllow(allow: readonly string[] | true, names: readonly string[]): void {
  const unknown = allow === true ? undefined : allow.find((name) => !names.includes(name));
  if (unknown !== undefined) refuse(`allow names ${unknown}, which is none of its tools: ${names.join(', ')}`);
}
