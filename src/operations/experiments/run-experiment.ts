/** The operations that run an experiment, and remove one with all that it made. */
import { CairnError } from '../../errors.ts';
import { planData, type PlannedExperiment } from '../../experiments/experiment-data.ts';
import { startExperiment } from '../../experiments/experiment.ts';
import { missedThresholds, readThresholds } from '../../experiments/thresholds.ts';
import { forgetRun, removeRun, type RemovedRuns } from '../../history/retention/remove-run.ts';
import { derivedRunId } from '../../history/stored/run-ids.ts';
import type { HistoryContext, RoutedOperation, WorkContext } from '../contract/operation.ts';
import { described, flag, objectOf, text, texts, whole } from '../contract/output-shapes.ts';

export interface RunExperimentInput {
  readonly file?: string;
  readonly definition?: unknown;
  readonly failOn?: readonly string[];
  readonly minEqual?: unknown;
  readonly keep?: boolean;
  readonly detach?: boolean;
}

export interface RunExperimentOutput {
  readonly name: string;
  readonly runId: string;
  readonly items: number;
  /** Whether a threshold was missed. */
  readonly isFailing: boolean;
  /** Which ones, a line each. */
  readonly missed: readonly string[];
  /** Whether it goes on in this process: the rest is not known yet. */
  readonly isRunning: boolean;
  /** How many pairs people are asked to review, for which it waits. */
  readonly openReviews: number;
}

async function planOf(context: WorkContext, { file, definition }: RunExperimentInput): Promise<PlannedExperiment> {
  if (file !== undefined && context.loadExperiment !== undefined) return context.loadExperiment(file);
  if (definition === undefined)
    throw new CairnError('USAGE_INVALID', {
      reason: 'an experiment is missing',
      hint: 'Name its file, or give it as data.',
    });
  return planData(definition, async (workflow, exportName) => (await context.loadGraph(workflow, exportName)).graph);
}

export const runExperiment: RoutedOperation<RunExperimentInput, RunExperimentOutput, WorkContext> = {
  name: 'run_experiment',
  command: 'experiment',
  summary: 'say what would have happened to recorded runs under a change; nothing acts',
  details:
    'It makes forks that cannot act of each run of a dataset, under each arm, and compares what they give. Models are asked. A second call of the same name goes on where the first one stopped.',
  input: {
    file: { type: 'text', description: 'the experiment: YAML, JSON, or a module that exports it', isLocal: true },
    definition: { type: 'value', description: 'the experiment as data; its workflows are known ones', scope: 'run' },
    failOn: { type: 'texts', description: 'verdicts that no pair may have, separated by commas: regressed,would-act' },
    minEqual: { type: 'value', description: 'the least share of equal pairs in each arm, from 0 to 1' },
    keep: {
      type: 'flag',
      description: 'keep its runs, and those that it is of, until it is removed; else for 30 days',
    },
    detach: {
      type: 'flag',
      description: 'answer as soon as it runs; a second call of its name waits for its end, read_experiments shows it',
    },
  },
  output: 'how it ended; what it found is read with read_experiments',
  outputSchema: objectOf({
    name: text,
    runId: text,
    items: described(whole, 'how many runs it compares'),
    isFailing: described(flag, 'whether a threshold was missed'),
    missed: described(texts, 'the thresholds that were missed'),
    isRunning: described(flag, 'whether it still runs, so that the rest is not known yet'),
    openReviews: described(whole, 'pairs that people are asked to review: it goes on when they have'),
  }),
  isReadOnly: false,
  scope: 'fork',
  route: 'POST /experiments',
  /** @throws USAGE_INVALID, CONFIG_INVALID, DATASET_NOT_FOUND, GRAPH_*; RUN_EXISTS the name is of an experiment with other items or arms */
  async run(context, input) {
    const { graph, options, thresholds } = await planOf(context, input);
    const override = readThresholds(input.failOn, input.minEqual);
    const { name } = options;
    const all = { ...options, ...(input.keep === true && { keep: true }) };
    const started = await startExperiment({ graph, engine: context.engine }, all);
    const { runId, items } = started;
    const result = started.result();
    if (input.detach === true) {
      // What goes wrong is told by the call that waits for it, and stands in its run.
      result.catch(() => undefined);
      return { name, runId, items, isFailing: false, missed: [], isRunning: true, openReviews: 0 };
    }
    const found = await result;
    const missed = missedThresholds(found, { ...thresholds, ...override });
    const { openReviews = 0 } = found;
    return { name, runId, items, isFailing: missed.length > 0, missed, isRunning: false, openReviews };
  },
};

export interface RemoveExperimentInput {
  readonly name: string;
}

export const removeExperiment: RoutedOperation<RemoveExperimentInput, RemovedRuns, HistoryContext> = {
  name: 'remove_experiment',
  summary: 'remove an experiment with its forks; its name is free again',
  input: { name: { type: 'text', description: 'the experiment', isRequired: true, isPositional: true } },
  output: 'the runs removed',
  outputSchema: objectOf(
    { removed: texts, blobs: whole },
    { blobsLeft: whole, forgotten: described(text, 'an experiment that was removed before') },
  ),
  isReadOnly: false,
  scope: 'admin',
  route: 'DELETE /experiments/{name}',
  /** @throws RUN_NOT_FOUND, CLAIM_TAKEN */
  async run(context, { name }) {
    const runId = derivedRunId('experiment', name);
    return (await forgetRun(context, runId)) ?? removeRun(context, runId, { withForks: true, forget: true });
  },
};
