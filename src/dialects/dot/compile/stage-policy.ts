/**
 * Policies of a stage, from its own attributes, those of edges and those of the graph: how often it is tried, how much its prompt is told.
 */
import type { RetryPolicy } from '../../../graph/contracts/node-contract.ts';
import type { Pipeline, PipelineEdge, Stage } from '../model/pipeline.ts';
import type { StageParts, Telling } from '../run/stage-parts.ts';
import { wayLabel } from '../run/choose-edge.ts';

interface Preset {
  readonly attempts: number;
  readonly backoff: 'fixed' | 'exponential';
  readonly delayMs: number;
  readonly factor: number;
}

const standard: Preset = { attempts: 5, backoff: 'exponential', delayMs: 200, factor: 2 };
const presets: Readonly<Record<string, Preset>> = {
  none: { ...standard, attempts: 1 },
  standard,
  aggressive: { ...standard, delayMs: 500 },
  linear: { attempts: 3, backoff: 'fixed', delayMs: 500, factor: 1 },
  patient: { attempts: 3, backoff: 'exponential', delayMs: 2_000, factor: 3 },
};

/** The retry policy. Delays vary by up to half. `max_retries` counts attempts after the first, and wins over the preset's number. */
export function retryOf({ attributes }: Stage, pipeline: Pipeline): RetryPolicy {
  const named = attributes.text('retry_policy');
  const { attempts, backoff, delayMs, factor } = presets[named] ?? standard;
  const retries =
    attributes.integer('max_retries') ??
    (named === '' ? (pipeline.attributes.integer('default_max_retries') ?? 0) : undefined);
  const count = retries === undefined ? attempts : Math.max(0, retries) + 1;
  return {
    attempts: count,
    backoff,
    delayMs,
    delayMsMax: 60_000,
    jitter: 0.5,
    ...(backoff === 'exponential' && { factor }),
  };
}

/**
 * How much a prompt is told. The edge's attributes win over the stage's, and these over the graph's. A thread may also be the enclosing
 * block's.
 */
export function tellings(
  { attributes: graph }: Pipeline,
  { attributes, group }: Stage,
  edges: readonly PipelineEdge[],
): StageParts['tellingOf'] {
  const summaryModel = graph.text('summary_model') || undefined;
  const telling = (edge: Pick<PipelineEdge, 'attributes'> | undefined): Telling => {
    const own = (name: string): string => edge?.attributes.text(name) || attributes.text(name);
    return {
      fidelity: own('fidelity') || graph.text('default_fidelity') || 'compact',
      thread: own('thread_id') || graph.text('default_thread') || group,
      summaryModel,
    };
  };
  const named = new Map(edges.map((edge) => [wayLabel(edge.index), telling(edge)]));
  const plain = telling(undefined);
  return (edge) => named.get(edge ?? '') ?? plain;
}
