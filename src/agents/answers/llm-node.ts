/** A node that asks a model once, for a text or for a value that fits a schema. It is a conversation without tools. */
import { CairnError } from '../../errors.ts';
import type { NodeContext, StateView } from '../../graph/contracts/node-contract.ts';
import { converse, type LoopOptions } from '../agent-loop.ts';
import { agent, type Answer, modelsOf, type Opening, openingOf } from '../agent.ts';
import { createToolBox, type ToolEntry } from '../tools/tool-box.ts';
import { type Computed, describeConfig, type OfState } from '../../nodes/draft/computed.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';
import { draftNode, type NodeDraft, type NodeOptions } from '../../nodes/draft/node-draft.ts';
import type { AnySchema } from '../../schema/standard-schema.ts';
import { checkAnswerOptions, checkModel } from '../check-options.ts';
import { finalForm } from './final-answer.ts';
import type { ModelSettings, ModelStepOptions } from '../model/model-step.ts';
import type { MemoryConsistency } from '../../graph/contracts/memory-consistency.ts';

// Asks a model one question: a conversation without tools.

const noTools = createToolBox({});
/** The most model calls: the answer, and two repairs of it. */
const callsMax = 3;

/**
 * @returns the answer: a text, or a value that fits the form
 * @throws the errors of `converse`
 */
export function askOnce(
  ctx: NodeContext,
  opening: Opening,
  options: Pick<LoopOptions, 'settings' | 'form' | 'steps'>,
): Promise<unknown> {
  return converse(ctx, openingOf(opening, ctx), {
    ...options,
    box: noTools,
    servers: [],
    allow: [],
    loopsMax: callsMax,
    history: {},
  });
}

export interface LlmNodeConfig<
  S extends StateView = StateView,
  Schema extends AnySchema | undefined = AnySchema | undefined,
> extends Opening<S> {
  /** Name of the model: `anthropic:claude-…`, or a name from the configuration. A function of the state lets a fork set another one. */
  readonly model: Computed<string, S>;
  /** Schema of the answer, which is then a value that fits it. Default: the answer is a text. */
  readonly output?: Schema;
  readonly settings?: Omit<ModelSettings, 'model' | 'tools' | 'toolChoice' | 'schema'>;
  /** Retries and timeouts of the call. */
  readonly calls?: Omit<ModelStepOptions, 'name'>;
}

const llmKeys = [
  'model',
  'instructions',
  'prompt',
  'output',
  'settings',
  'calls',
] as const satisfies readonly (keyof LlmNodeConfig)[];

/**
 * Makes a node that asks a model. The answer is the node's output. An answer that does not fit `output` is requested again, twice at most;
 * then the node fails with OUTPUT_INVALID. Pieces of the answer are live events. The effect class is `pure`; each call is a recorded step,
 * paid for once.
 * @throws CONFIG_INVALID
 */
export function llmNode<S extends StateView = StateView, Schema extends AnySchema | undefined = undefined>(
  config: LlmNodeConfig<S, Schema>,
  options: NodeOptions = {},
): NodeDraft<S, Answer<Schema>> {
  refuseUnknownKeys('llmNode', config, llmKeys);
  const { model, output, instructions, prompt, calls = {} } = config;
  if (typeof model !== 'function') checkModel('llmNode', model);
  checkAnswerOptions('llmNode', config);
  const form = output === undefined ? undefined : finalForm(output, 'llmNode: output');
  const others = { ...config.settings, ...(form !== undefined && { schema: form.json }) };
  const isFixed = typeof model !== 'function';
  const { data, codeText, config: opening } = describeConfig({ instructions, prompt, ...(!isFixed && { model }) });
  const run = async (ctx: NodeContext): Promise<unknown> => {
    const [name = ''] = modelsOf('llmNode', model as LlmNodeConfig['model'], ctx);
    return askOnce(ctx, opening as Opening, { settings: { model: name, ...others }, form, steps: calls });
  };
  const described = { ...(data as object), settings: isFixed ? { model, ...others } : others };
  return draftNode({ type: 'llm', effect: 'pure', config: described, implementation: { run, codeText } }, options);
}

// A node that thinks: an agent or a single answer, written with the option names of unified orchestration graphs.

export interface GmiNodeConfig<S extends StateView = StateView> extends Opening<S> {
  /** Name of the model. Default `default`, a name of the configuration. */
  readonly model?: string;
  /** `react_bounded` (default) works with tools until it answers, as `agent` does; `single_turn` answers once, as `llmNode` does. */
  readonly executionMode?: 'react_bounded' | 'single_turn';
  /** The most model calls. Default 10. */
  readonly maxInternalIterations?: number;
  readonly tools?: Readonly<Record<string, ToolEntry & OfState<S>>>;
  readonly temperature?: number;
  /** The most tokens of an answer. */
  readonly maxTokens?: number;
}

export interface GmiPolicies extends Omit<NodeOptions, 'memoryConsistency'> {
  readonly memory?: { readonly consistency?: MemoryConsistency };
}

const gmiKeys = [
  'model',
  'instructions',
  'prompt',
  'executionMode',
  'maxInternalIterations',
  'tools',
  'temperature',
  'maxTokens',
] as const satisfies readonly (keyof GmiNodeConfig)[];

/** Makes the node. Its output is the answer, a text. @throws CONFIG_INVALID */
export function gmiNode<S extends StateView = StateView>(
  config: GmiNodeConfig<S>,
  { memory = {}, ...options }: GmiPolicies = {},
): NodeDraft<S, string> {
  refuseUnknownKeys('gmiNode', config, gmiKeys);
  refuseUnknownKeys('gmiNode: memory', memory, ['consistency']);
  const { model = 'default', executionMode = 'react_bounded', instructions, prompt, temperature, maxTokens } = config;
  const opening = { ...(instructions !== undefined && { instructions }), ...(prompt !== undefined && { prompt }) };
  const settings = {
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { tokensMax: maxTokens }),
  };
  const { consistency } = memory;
  const policies = { ...options, ...(consistency !== undefined && { memoryConsistency: consistency }) };
  const { tools, maxInternalIterations = 10 } = config;
  if (executionMode === 'react_bounded')
    return agent<S>(
      { model, ...opening, settings, maxLoops: maxInternalIterations, ...(tools !== undefined && { tools }) },
      policies,
    );
  if (executionMode !== 'single_turn') refuse('executionMode must be react_bounded or single_turn');
  if (tools !== undefined)
    refuse('a single turn calls no tools: leave tools out, or let executionMode be react_bounded');
  return llmNode<S>({ model, ...opening, settings }, policies);
}

function refuse(reason: string): never {
  throw new CairnError('CONFIG_INVALID', { reason: `gmiNode: ${reason}` });
}
