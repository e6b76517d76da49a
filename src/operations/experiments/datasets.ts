/** The operations `datasets`: recorded runs, and inputs with what is expected of them, under a name. */
import { CairnError } from '../../errors.ts';
import { addToDataset, listDatasets as readAll, readDataset, removeDataset } from '../../experiments/datasets.ts';
import type { StoredDataset } from '../../experiments/datasets.ts';
import { selectItems } from '../../experiments/select-items.ts';
import { findRun } from '../runs/find-run.ts';
import type { HistoryContext, RoutedOperation, WorkContext } from '../contract/operation.ts';
import { anything, described, listOf, objectOf, text, texts, time } from '../contract/output-shapes.ts';

export interface DatasetsOutput {
  readonly datasets: readonly StoredDataset[];
}

const outputSchema = objectOf({
  datasets: described(
    listOf(
      objectOf({
        name: text,
        changedAt: described(time, 'when it was made or changed'),
        runs: described(texts, 'ids of recorded runs'),
        inputs: described(
          listOf(
            objectOf(
              { input: described(anything, 'what the run is given') },
              { expected: described(anything, 'what it should give') },
            ),
          ),
          'inputs that run anew, each with what it should give',
        ),
      }),
    ),
    'the datasets, by name',
  ),
});

export interface ListDatasetsInput {
  readonly name?: string;
}

export const listDatasets: RoutedOperation<ListDatasetsInput, DatasetsOutput, HistoryContext> = {
  name: 'list_datasets',
  summary: 'list datasets of recorded runs, for experiments',
  input: { name: { type: 'text', description: 'only this one' } },
  output: 'the datasets with their items',
  outputSchema,
  isReadOnly: true,
  scope: 'read',
  route: 'GET /datasets',
  tool: {},
  /** @throws DATASET_NOT_FOUND */
  async run(context, { name }) {
    return { datasets: name === undefined ? await readAll(context) : [await readDataset(context, name)] };
  },
};

export interface ChangeDatasetInput {
  readonly action?: string;
  readonly name?: string;
  readonly run?: readonly string[];
  readonly graph?: string;
  readonly label?: Readonly<Record<string, string>>;
  readonly since?: string;
  readonly status?: string;
  readonly sample?: number;
  readonly seed?: number;
  readonly input?: unknown;
  readonly expected?: unknown;
}

export const changeDataset: RoutedOperation<ChangeDatasetInput, DatasetsOutput, WorkContext> = {
  name: 'change_dataset',
  command: 'dataset',
  summary: 'show datasets of recorded runs; add to one, remove one',
  input: {
    action: {
      type: 'text',
      description: 'what to do',
      isPositional: true,
      choices: ['ls', 'show', 'add', 'rm'],
      default: 'ls',
    },
    name: { type: 'text', description: 'the dataset', isPositional: true },
    run: { type: 'texts', description: 'add: a run, by its id' },
    graph: { type: 'text', description: 'add: runs of the graph with this id' },
    label: { type: 'answers', description: 'add: of these only runs with this label: tier=gold' },
    since: { type: 'text', description: 'add: of these only runs that began since: an age such as 30d' },
    status: {
      type: 'text',
      description: 'add: of these only runs with this status',
      choices: ['completed', 'failed', 'cancelled', 'paused'],
      default: 'completed',
    },
    sample: { type: 'integer', description: 'add: at most so many of these, drawn by chance', min: 1 },
    seed: { type: 'integer', description: 'add: of the draw', default: 1 },
    input: { type: 'value', description: 'add: an input that runs anew' },
    expected: { type: 'value', description: 'add: what that input should give' },
  },
  output: 'the datasets',
  outputSchema,
  isReadOnly: false,
  scope: 'fork',
  route: 'POST /datasets',
  /** @throws USAGE_INVALID, CONFIG_INVALID, DATASET_NOT_FOUND, RUN_NOT_FOUND */
  async run(context, { action = 'ls', name, ...added }) {
    if (action === 'ls') return { datasets: await readAll(context) };
    if (name === undefined) throw new CairnError('USAGE_INVALID', { reason: `dataset ${action} takes a name` });
    if (action === 'show') return { datasets: [await readDataset(context, name)] };
    if (action === 'rm') return { datasets: [await removeDataset(context, name)] };
    const runs = await runsOf(context, added);
    const inputs = added.input === undefined ? [] : [{ input: added.input, ...expectedOf(added) }];
    if (runs.length === 0 && inputs.length === 0)
      throw new CairnError('USAGE_INVALID', {
        reason: 'there is nothing to add',
        hint: 'Name runs (--run), a graph that has such runs (--graph), or an input (--input).',
      });
    return { datasets: [await addToDataset(context.engine, name, { runs, inputs })] };
  },
};

const expectedOf = ({ expected }: Pick<ChangeDatasetInput, 'expected'>): { readonly expected?: unknown } =>
  expected === undefined ? {} : { expected };

async function runsOf(
  context: WorkContext,
  { run = [], graph, label, since, status, sample, seed }: Omit<ChangeDatasetInput, 'action' | 'name'>,
): Promise<readonly string[]> {
  const named: string[] = [];
  for (const one of run) named.push((await findRun(context, one)).runId);
  if (graph === undefined) return named;
  const filter = {
    ...(label && { labels: label }),
    ...(since !== undefined && { since }),
    ...(status !== undefined && { status: status as 'completed' }),
    ...(sample !== undefined && { sample }),
    ...(seed !== undefined && { seed }),
  };
  return [...named, ...(await selectItems(context.engine.history, graph, filter, context.now()))];
}
