/** Refuses an arm whose answers nobody asks for: it would be equal to the baseline, whatever it is meant to try. */
import { CairnError } from '../errors.ts';
import type { Engine } from '../engine/api.ts';
import { readAnswered } from '../engine/commands/answered.ts';
import { nodeNameOf, waitsNamed, type KnownWait } from '../engine/validate/find-wait.ts';
import { nearest } from '../graph/nearest.ts';
import { loadState } from '../history/load/load.ts';
import { isMadeByExperiment } from '../history/stored/run-ids.ts';
import type { ArmPlan } from './run-arm.ts';

/** The most recorded runs whose questions are read. What nobody was asked in so many may still be asked in another. */
const itemsMax = 200;

/** Whether nothing but its answers tells the arm from the baseline, so that only questions on record can be asked. */
function hasOnlyAnswers({ graph, answers, set, resample, models, standIns }: ArmPlan, baseline: ArmPlan): boolean {
  const isElse = set ?? models ?? standIns ?? (resample === true ? true : undefined);
  // Two graphs of one hash may differ in what their functions close over.
  return answers !== undefined && isElse === undefined && graph === baseline.graph;
}

/** @throws CONFIG_INVALID an arm has nothing but answers to questions that no item was asked */
export async function checkAnswers(
  { ports }: Pick<Engine, 'ports'>,
  baseline: ArmPlan,
  arms: readonly ArmPlan[],
  items: readonly string[],
): Promise<void> {
  const { store, tenant, blobs } = ports;
  const nodes = new Set(baseline.graph.nodes.map(({ id }) => id));
  const isNode = (name: string): boolean => name.split('/').some((part) => nodes.has(part));
  let doubted = arms.filter((arm) => hasOnlyAnswers(arm, baseline) && !Object.keys(arm.answers ?? {}).some(isNode));
  if (doubted.length === 0 || items.length > itemsMax || items.some(isMadeByExperiment)) return;
  const questions = new Set<string>();
  for (const runId of items) {
    const run = await store.readRun({ tenant, runId });
    if (run === undefined) continue;
    const { root } = await loadState(store, blobs, run);
    const open = Object.entries(root.waits).map(([waitId, wait]): KnownWait => ({ ...wait, waitId }));
    const waits = [...open, ...(await readAnswered({ store, blobs }, run, run.head))];
    for (const wait of waits) questions.add(wait.name ?? nodeNameOf(wait)).add(nodeNameOf(wait));
    doubted = doubted.filter(
      ({ answers = {} }) => !Object.keys(answers).some((name) => waitsNamed(waits, name).length > 0),
    );
    if (doubted.length === 0) return;
  }
  const [arm] = doubted;
  const [name = ''] = Object.keys(arm?.answers ?? {});
  const guess = nearest(name, [...questions]);
  throw new CairnError('CONFIG_INVALID', {
    path: `arms.${arm?.name}.answers`,
    reason: `none of the runs was asked ${name}${questions.size === 0 ? ', nor anything' : `; they were asked ${[...questions].toSorted().join(', ')}`}`,
    hint: guess === undefined ? 'Name the question by its node or its name.' : `Did you mean ${guess}?`,
  });
}
