/**
 * A node in which a model judges something. It returns a verdict that fits a schema, compares a score with a threshold, and may choose
 * where the run goes on.
 */
import { CairnError } from '../../errors.ts';
import { NodeFailure, outcome, type NodeContext, type StateView } from '../../graph/contracts/node-contract.ts';
import type { JsonSchema } from '../../graph/contracts/node-type.ts';
import { describeConfig, type Computed } from '../../nodes/draft/computed.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';
import { draftNode, type NodeDraft, type NodeOptions } from '../../nodes/draft/node-draft.ts';
import type { AnySchema, SchemaValue } from '../../schema/standard-schema.ts';
import { isPlainObject } from '../../state/values/plain-object.ts';
import { checkAnswerOptions, checkModel } from '../check-options.ts';
import { finalForm } from './final-answer.ts';
import type { ModelSettings, ModelStepOptions } from '../model/model-step.ts';
import type { Opening, Prompt } from '../agent.ts';
import { askOnce } from './llm-node.ts';

/** The verdict, if there is no schema. */
export interface ScoredVerdict {
  /** A number from 0 to 1. */
  readonly score: number;
  readonly reason: string;
}

/** Type of a verdict: that of the schema, if there is one. */
export type Verdict<Schema> = [Schema] extends [AnySchema] ? SchemaValue<Schema> : ScoredVerdict;

/** The output of a judge. */
export interface Judgement<Said> {
  /** Whether the score is at least the threshold. */
  readonly passed: boolean;
  readonly score: number;
  readonly verdict: Said;
}

export interface JudgeNodeConfig<
  S extends StateView = StateView,
  Schema extends AnySchema | undefined = AnySchema | undefined,
> {
  /** Name of the model: `anthropic:claude-…`, or a name from the configuration. */
  readonly model: string;
  /** The criteria, sent as the system message. */
  readonly rubric: Computed<string, S>;
  /** What to judge. Default: the run's input if it is a text, else its field `prompt`. */
  readonly prompt?: Computed<Prompt, S>;
  /** Schema of the verdict, which is an object. Default: `{ score, reason }` with a score from 0 to 1. */
  readonly schema?: Schema;
  /** Computes the score of a verdict; true counts as 1 and false as 0. Default: its field `score`, which the schema must then have. */
  readonly score?: (scope: { readonly verdict: Verdict<Schema> }) => number | boolean;
  /** The lowest score that passes. Default 0.5. */
  readonly threshold?: number;
  /** Ids of the nodes to go on to. Exactly the outgoing edges to these fire. Default: all edges whose conditions hold. */
  readonly routes?: { readonly pass: string | readonly string[]; readonly fail: string | readonly string[] };
  readonly settings?: Omit<ModelSettings, 'model' | 'tools' | 'toolChoice' | 'schema'>;
  /** Retries and timeouts of the call. */
  readonly calls?: Omit<ModelStepOptions, 'name'>;
}

/** The configuration of any judge, whatever the types of its state and verdicts. */
type AnyJudge = Omit<JudgeNodeConfig, 'score'> & {
  readonly score?: (scope: { readonly verdict: unknown }) => number | boolean;
};

const configKeys = [
  'model',
  'rubric',
  'prompt',
  'schema',
  'score',
  'threshold',
  'routes',
  'settings',
  'calls',
] as const satisfies readonly (keyof JudgeNodeConfig)[];

const scoredVerdict: JsonSchema = {
  type: 'object',
  required: ['score', 'reason'],
  additionalProperties: false,
  properties: { score: { type: 'number', minimum: 0, maximum: 1 }, reason: { type: 'string' } },
};

/**
 * Makes a node that asks a model for a verdict. Its output is `{ passed, score, verdict }`. A verdict that does not fit the schema is
 * requested again, twice at most. Then the node fails with OUTPUT_INVALID, so nothing passes without a verdict. The effect class is `pure`;
 * each call is a step.
 * @throws CONFIG_INVALID
 */
export function judgeNode<S extends StateView = StateView, Schema extends AnySchema | undefined = undefined>(
  config: JudgeNodeConfig<S, Schema>,
  options: NodeOptions = {},
): NodeDraft<S, Judgement<Verdict<Schema>>> {
  refuseUnknownKeys('judgeNode', config, configKeys);
  const { model, rubric, prompt, schema = scoredVerdict, threshold = 0.5, routes, calls = {} } = config;
  checkModel('judgeNode', model);
  checkAnswerOptions('judgeNode', config);
  if (typeof rubric !== 'function' && (typeof rubric !== 'string' || rubric === ''))
    refuse('it needs a rubric, by which it judges: a text, or a function of the state');
  if (config.score !== undefined && typeof config.score !== 'function')
    refuse('score must be a function of the verdict');
  if (!Number.isFinite(threshold)) refuse('threshold must be a number');
  const form = finalForm(schema, 'judgeNode: schema');
  const { properties } = form.json;
  if (config.score === undefined && !(isPlainObject(properties) && 'score' in properties))
    refuse('its schema has no field score: add one, or give `score`, a function of the verdict');
  const settings: ModelSettings = { model, ...config.settings, schema: form.json };
  const described = describeConfig({ rubric, prompt, score: config.score, threshold, routes, settings });
  const { rubric: instructions, prompt: judged, score = fieldOf } = described.config as unknown as AnyJudge;
  const run = async (ctx: NodeContext): Promise<unknown> => {
    const opening: Opening = { instructions, ...(judged !== undefined && { prompt: judged }) };
    const verdict = await askOnce(ctx, opening, { settings, form, steps: calls });
    const rating = numberOf(score({ verdict }));
    const passed = rating >= threshold;
    const output = { passed, score: rating, verdict };
    return routes === undefined ? output : outcome({ output, goto: passed ? routes.pass : routes.fail });
  };
  const { data, codeText } = described;
  return draftNode({ type: 'judge', effect: 'pure', config: data, implementation: { run, codeText } }, options);
}

function refuse(reason: string): never {
  throw new CairnError('CONFIG_INVALID', { reason: `judgeNode: ${reason}` });
}

function fieldOf({ verdict }: { readonly verdict: unknown }): number {
  return (verdict as ScoredVerdict).score;
}

/** The score as a number. Anything else is an error: it must neither pass nor fail silently. */
function numberOf(score: unknown): number {
  const number = typeof score === 'boolean' ? Number(score) : score;
  if (typeof number === 'number' && Number.isFinite(number)) return number;
  throw new NodeFailure('the score of a verdict must be a number, or true or false', { code: 'NODE_OUTPUT_INVALID' });
}
