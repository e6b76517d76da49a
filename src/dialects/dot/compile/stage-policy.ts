/**
 * Policies of a stage, from its own attributes, those of its edges and those of the graph: retries, budgets, and how much of the run its
 * prompt contains.
 */
import type { Amounts } from '../../../graph/amounts.ts';
import type { OnBudget } from '../../../graph/graph.ts';
import { parseWebhooks, type Webhook } from '../../../graph/webhooks.ts';
import type { RetryPolicy } from '../../../graph/contracts/retry-policy.ts';
import { parseBudget, presetPolicy } from '../model/attributes.ts';
import type { Pipeline, PipelineEdge, Stage } from '../model/pipeline.ts';
import type { StageParts, PromptScope } from '../run/stage/attempts.ts';
import { wayLabel } from '../run/stage/choose-edge.ts';

/** The retry policy. `max_retries` counts attempts after the first, and wins over the preset's number. */
export function retryOf({ attributes }: Stage, pipeline: Pipeline): RetryPolicy {
  const named = attributes.text('retry_policy');
  const policy = presetPolicy(named);
  const retries =
    attributes.integer('max_retries') ??
    (named === '' ? (pipeline.attributes.integer('default_max_retries') ?? 0) : undefined);
  return retries === undefined ? policy : { ...policy, attempts: Math.max(0, retries) + 1 };
}

/** What the ends and questions of a pipeline's runs are told to. */
export function webhooksOf({ attributes }: Pick<Pipeline, 'attributes'>): readonly Webhook[] {
  return attributes.has('webhooks') ? (parseWebhooks(attributes.text('webhooks')) ?? []) : [];
}

/** The budget of a run, or of each visit of a stage, in the engine's form. */
export function budgetPolicies({ attributes }: Pick<Stage, 'attributes'>): {
  readonly budget?: Amounts;
  readonly onBudget?: OnBudget;
} {
  const budget = attributes.has('budget') ? parseBudget(attributes.text('budget')) : undefined;
  if (budget === undefined) return {};
  return { budget, onBudget: attributes.text('on_budget') === 'fail' ? 'fail' : 'ask' };
}

/**
 * An edge's attributes win over those of its stage, and these over the graph's. A thread may also be that of the block around the stage.
 */
export function promptScopes(
  { attributes: graph }: Pipeline,
  { attributes, group }: Stage,
  edges: readonly PipelineEdge[],
): StageParts['promptScopeOf'] {
  const summaryModel = graph.text('summary_model') || undefined;
  const scopeOf = (edge: Pick<PipelineEdge, 'attributes'> | undefined): PromptScope => {
    const own = (name: string): string => edge?.attributes.text(name) || attributes.text(name);
    return {
      fidelity: own('fidelity') || graph.text('default_fidelity') || 'compact',
      thread: own('thread_id') || graph.text('default_thread') || group,
      summaryModel,
      resumeFidelity: graph.text('resume_fidelity') || undefined,
    };
  };
  const named = new Map(edges.map((edge) => [wayLabel(edge.index), scopeOf(edge)]));
  const plain = scopeOf(undefined);
  return (edge) => named.get(edge ?? '') ?? plain;
}

/** The limits that a stage, or each run, is under: names between commas. */
export function limitNames({ attributes }: Pick<Stage, 'attributes'>): readonly string[] | undefined {
  const names = attributes
    .text('limit')
    .split(',')
    .map((name) => name.trim());
  const named = names.filter((name) => name !== '');
  return named.length === 0 ? undefined : named;
}
