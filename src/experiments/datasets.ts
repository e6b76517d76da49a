/**
 * Datasets: recorded runs, and inputs with what is expected of them, under a name. A dataset is a run that ends at once and holds its items as
 * its input; a change makes the next one of the name, and removes the one before. Its runs are tagged, so that no cleanup removes them.
 */
import { CairnError } from '../errors.ts';
import type { Engine } from '../engine/api.ts';
import { compileGraph } from '../graph/compile/compile-graph.ts';
import { END, START, type Graph } from '../graph/graph.ts';
import type { StatePlace } from '../history/access/place.ts';
import { readAllRuns } from '../history/access/read-all.ts';
import { loadState } from '../history/load/load.ts';
import { datasetGraphId, derivedRunId, neverDue } from '../history/stored/run-ids.ts';
import type { RunRow } from '../ports/store.ts';

/** An input that runs anew, and what it should give. */
export interface DatasetInput {
  readonly input: unknown;
  /** What its output is compared with. Default: what the baseline gives. */
  readonly expected?: unknown;
}

/** The items of a dataset. */
interface DatasetItems {
  /** Ids of recorded runs. */
  readonly runs: readonly string[];
  readonly inputs: readonly DatasetInput[];
}

/** A dataset that is stored under a name. */
export interface StoredDataset extends DatasetItems {
  readonly name: string;
  /** Epoch ms. */
  readonly changedAt: number;
}

/** Where datasets are. */
type Place = Pick<StatePlace, 'store' | 'blobs' | 'tenant'>;

const namePattern = /^[\w-]{1,60}$/;

/** @throws CONFIG_INVALID */
function checkDatasetName(name: string): void {
  if (namePattern.test(name)) return;
  const reason = 'a dataset has a name of up to 60 letters, digits, hyphens and underscores';
  throw new CairnError('CONFIG_INVALID', { path: 'dataset', reason });
}

const datasetGraph: Graph = compileGraph({
  id: datasetGraphId,
  nodes: [
    { id: 'stored', type: 'dataset', effect: 'pure', implementation: { run: () => null, codeText: 'dataset 1' } },
  ],
  edges: [
    { from: START, to: 'stored' },
    { from: 'stored', to: END },
  ],
});

/** The tag of a run that a dataset has. */
const tagOf = (name: string): string => `dataset-${name}`;

/** Which one of its name a dataset's run is: `cairn:dataset:NAME:3`. */
const orderOf = ({ runId }: RunRow): number => Number(runId.slice(runId.lastIndexOf(':') + 1));
const nameOf = ({ runId }: RunRow): string => runId.slice(derivedRunId('dataset', '').length, runId.lastIndexOf(':'));

/** The newest run of each dataset. */
async function newestRuns(place: Place): Promise<ReadonlyMap<string, RunRow>> {
  const newest = new Map<string, RunRow>();
  for await (const run of readAllRuns(place, { graphId: datasetGraphId })) {
    const known = newest.get(nameOf(run));
    if (known === undefined || orderOf(run) > orderOf(known)) newest.set(nameOf(run), run);
  }
  return newest;
}

async function readRun({ store, blobs }: Place, run: RunRow): Promise<StoredDataset> {
  const { runs, inputs } = (await loadState(store, blobs, run)).root.frame.input as DatasetItems;
  return { name: nameOf(run), changedAt: run.createdAt, runs, inputs };
}

/** All datasets, by name. */
export async function listDatasets(place: Place): Promise<readonly StoredDataset[]> {
  const runs = [...(await newestRuns(place)).values()];
  const datasets = await Promise.all(runs.map((run) => readRun(place, run)));
  return datasets.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** @throws DATASET_NOT_FOUND */
export async function readDataset(place: Place, name: string): Promise<StoredDataset> {
  const newest = await newestRuns(place);
  const run = newest.get(name);
  const known = [...newest.keys()].join(', ');
  if (run === undefined) throw new CairnError('DATASET_NOT_FOUND', { name, ...(known !== '' && { known }) });
  return readRun(place, run);
}

const keyOf = (item: DatasetInput): string => JSON.stringify([item.input, item.expected]);

/**
 * Adds items to a dataset, which is made if there is none. What it has already is not added again.
 * @throws CONFIG_INVALID its name; RUN_NOT_FOUND; RUN_EXISTS another process changed it meanwhile
 */
export async function addToDataset(
  engine: Pick<Engine, 'ports' | 'start'>,
  name: string,
  added: DatasetItems,
): Promise<StoredDataset> {
  checkDatasetName(name);
  const { ports } = engine;
  const { store, tenant } = ports;
  const before = (await newestRuns(ports)).get(name);
  const known = before === undefined ? { runs: [], inputs: [] } : await readRun(ports, before);
  for (const runId of added.runs) {
    const run = await store.readRun({ tenant, runId });
    if (run === undefined) throw new CairnError('RUN_NOT_FOUND', { runId });
    await store.tagCheckpoint(run, { name: tagOf(name), seq: run.head });
  }
  const inputs = new Map([...known.inputs, ...added.inputs].map((item) => [keyOf(item), item]));
  const items: DatasetItems = { runs: [...new Set([...known.runs, ...added.runs])], inputs: [...inputs.values()] };
  const order = before === undefined ? 1 : orderOf(before) + 1;
  const runId = derivedRunId('dataset', name, String(order));
  const handle = await engine.start(datasetGraph, items, { runId, origin: 'dataset', schedule: { dueAt: neverDue } });
  await handle.result();
  if (before !== undefined) await store.removeRun({ tenant, runId: before.runId });
  return readDataset(ports, name);
}

/** Removes a dataset, and lets its runs go when their time comes. @throws DATASET_NOT_FOUND */
export async function removeDataset(place: Place, name: string): Promise<StoredDataset> {
  const { store, tenant } = place;
  const removed = await readDataset(place, name);
  for await (const run of readAllRuns(place, { graphId: datasetGraphId }))
    if (nameOf(run) === name) await store.removeRun({ tenant, runId: run.runId });
  for (const runId of removed.runs) {
    const run = await store.readRun({ tenant, runId });
    const isTagged = run !== undefined && (await store.readTags(run)).some((tag) => tag.name === tagOf(name));
    if (isTagged) await store.removeTag(run, tagOf(name));
  }
  return removed;
}
