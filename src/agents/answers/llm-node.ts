/** A node that asks a model once, for a text or for a value that fits a schema. It is a conversation without tools. */
import type { NodeContext, StateView } from '../../graph/contracts/node-contract.ts';
import { describeConfig } from '../../nodes/draft/computed.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';
import { draftNode, type NodeDraft, type NodeOptions } from '../../nodes/draft/node-draft.ts';
import type { AnySchema } from '../../schema/standard-schema.ts';
import type { Answer } from '../agent.ts';
import { finalForm } from '../final-answer.ts';
import type { ModelSettings, ModelStepOptions } from '../model/model-step.ts';
import type { Opening } from '../prompt.ts';
import { checkAnswerOptions } from '../check-options.ts';
import { askOnce, checkModel } from './ask-once.ts';

export interface LlmNodeConfig<
  S extends StateView = StateView,
  Schema extends AnySchema | undefined = AnySchema | undefined,
> extends Opening<S> {
  /** Name of the model: `anthropic:claude-…`, or a name from the configuration. */
  readonly model: string;
  /** Schema of the answer, which is then a value that fits it. Default: the answer is a text. */
  readonly output?: Schema;
  readonly settings?: Omit<ModelSettings, 'model' | 'tools' | 'toolChoice' | 'schema'>;
  /** Retries and timeouts of the call. */
  readonly calls?: Omit<ModelStepOptions, 'name'>;
}

const configKeys = [
  'model',
  'instructions',
  'prompt',
  'output',
  'settings',
  'calls',
] as const satisfies readonly (keyof LlmNodeConfig)[];

/**
 * Makes a node that asks a model. The answer is the node's output. An answer that does not fit `output` is asked for again, twice at most;
 * then the node fails with OUTPUT_INVALID. Pieces of the answer are live events. The effect class is `pure`; each call is a recorded step,
 * paid for once.
 * @throws CONFIG_INVALID
 */
export function llmNode<S extends StateView = StateView, Schema extends AnySchema | undefined = undefined>(
  config: LlmNodeConfig<S, Schema>,
  options: NodeOptions = {},
): NodeDraft<S, Answer<Schema>> {
  refuseUnknownKeys('llmNode', config, configKeys);
  const { model, output, instructions, prompt, calls = {} } = config;
  checkModel('llmNode', model);
  checkAnswerOptions('llmNode', config);
  const form = output === undefined ? undefined : finalForm(output, 'llmNode: output');
  const settings: ModelSettings = { model, ...config.settings, ...(form !== undefined && { schema: form.json }) };
  const { data, codeText, config: opening } = describeConfig({ instructions, prompt });
  const run = (ctx: NodeContext): Promise<unknown> =>
    askOnce(ctx, opening as Opening, { settings, form, steps: calls });
  const described = { ...(data as object), settings };
  return draftNode({ type: 'llm', effect: 'pure', config: described, implementation: { run, codeText } }, options);
}
