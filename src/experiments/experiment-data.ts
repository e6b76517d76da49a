/** An experiment written as data: its workflows by name, its scorers by what they are. */
import { CairnError } from '../errors.ts';
import type { StateView } from '../graph/contracts/node-contract.ts';
import { END, START, type Graph } from '../graph/graph.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import { nearest } from '../graph/nearest.ts';
import { graphOf, type GraphOrRunnable } from '../graph/runnable-graph.ts';
import { parsePath } from '../history/read/state-path.ts';
import type { Arm, ExperimentOptions } from './experiment.ts';
import { exact, judge, review, type Scorer } from './scorers.ts';
import { readThresholds, type Thresholds } from './thresholds.ts';

/** What a module exports as `experiment`: the options of `experiment()`, with the baseline and what must not be found. */
export interface ExperimentModule extends ExperimentOptions, Thresholds {
  /** The baseline. */
  readonly graph: GraphOrRunnable;
}

/** An experiment that is ready to be run. */
export interface PlannedExperiment {
  /** The baseline. */
  readonly graph: Graph;
  readonly options: ExperimentOptions;
  readonly thresholds: Thresholds;
}

/** Loads the graph of a workflow by the name or the file that the data gives. */
type LoadWorkflow = (workflow: string, exportName?: string) => Promise<Graph>;

type Data = Readonly<Record<string, unknown>>;

const experimentKeys =
  'name workflow export dataset at arms repeats scorers output budget concurrency reads undeclared keep failOn minEqual'.split(
    ' ',
  );
const armKeys = ['workflow', 'export', 'answers', 'set', 'resample', 'models'];

function refuse(path: string, reason: string): never {
  throw new CairnError('CONFIG_INVALID', { path, reason });
}

function tableAt(value: unknown, path: string): Data {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Data;
  return refuse(path, 'it must hold values by name');
}

function textAt(value: unknown, path: string): string {
  return typeof value === 'string' && value !== '' ? value : refuse(path, 'it must be a text');
}

/** What a module exports, ready to be run. @throws CONFIG_INVALID */
export function planModule(exported: unknown): PlannedExperiment {
  const {
    graph: baseline,
    failOn,
    minEqual,
    ...options
  } = tableAt(exported, 'experiment') as unknown as ExperimentModule;
  const graph = graphOf(baseline) ?? refuse('experiment.graph', 'it needs a graph, or what builds one');
  return { graph, options, thresholds: readThresholds(failOn, minEqual) };
}

/** @throws CONFIG_INVALID, and the errors of `load` */
export async function planData(value: unknown, load: LoadWorkflow): Promise<PlannedExperiment> {
  const data = tableAt(value, 'experiment');
  refuseUnknownKeys('experiment', data, experimentKeys);
  const { workflow, export: exportName, arms, scorers, output, failOn, minEqual, ...more } = data;
  const graphAt = (name: unknown, own: unknown, path: string): Promise<Graph> =>
    load(textAt(name, path), own === undefined ? undefined : textAt(own, path));
  const planned: Record<string, Arm> = {};
  for (const [name, arm] of Object.entries(tableAt(arms, 'arms'))) {
    const path = `arms.${name}`;
    const { workflow: other, export: ofOther, ...changes } = tableAt(arm ?? {}, path);
    refuseUnknownKeys(`the arm ${name}`, tableAt(arm ?? {}, path), armKeys);
    planned[name] = { ...changes, ...(other !== undefined && { graph: await graphAt(other, ofOther, path) }) };
  }
  const graph = await graphAt(workflow, exportName, 'workflow');
  const options = {
    ...more,
    arms: planned,
    ...(scorers !== undefined && { scorers: readScorers(scorers) }),
    ...(output !== undefined && { output: partAt(textAt(output, 'output'), [graph, ...graphsOf(planned)]) }),
  } as unknown as ExperimentOptions;
  const failing = failOn === undefined || Array.isArray(failOn) ? failOn : [textAt(failOn, 'failOn')];
  return {
    graph,
    options,
    thresholds: readThresholds(failing as readonly string[] | undefined, minEqual),
  };
}

const graphsOf = (arms: Readonly<Record<string, Arm>>): readonly Graph[] =>
  Object.values(arms).flatMap(({ graph }) => (graph === undefined ? [] : (graphOf(graph) ?? [])));

const stateParts: readonly (keyof StateView)[] = [
  'input',
  'outputs',
  'scratch',
  'artifacts',
  'diagnostics',
  'failures',
];

/** The part of a state at a path: `outputs.draft`. @throws CONFIG_INVALID no run of these graphs has such a part */
function partAt(path: string, graphs: readonly Graph[]): (state: StateView) => unknown {
  const keys = parsePath(path);
  const [part = '', node] = keys;
  const nodes = graphs.flatMap(({ nodes: all }) => all.map(({ id }) => id)).filter((id) => id !== START && id !== END);
  if (!(stateParts as readonly string[]).includes(part)) refuseName(path, part, stateParts);
  if (part === 'outputs' && node !== undefined && !nodes.includes(node)) refuseName(path, node, nodes);
  return (state) => keys.reduce<unknown>((at, key) => (at as Data | null | undefined)?.[key], state);
}

function refuseName(path: string, name: string, known: readonly string[]): never {
  const guess = nearest(name, known);
  throw new CairnError('CONFIG_INVALID', {
    path: 'output',
    reason: `${path} is no part of the state: there is no ${name}`,
    hint: `${guess === undefined ? '' : `Did you mean ${guess}? `}There are: ${[...new Set(known)].join(', ')}.`,
  });
}

const kinds: Readonly<Record<string, (setting: unknown) => Scorer>> = {
  exact: (setting) => exact(setting === null || setting === true ? undefined : textAt(setting, 'scorers.exact')),
  judge: (setting) => judge(tableAt(setting, 'scorers.judge') as unknown as Parameters<typeof judge>[0]),
  review: (setting) => review({ prompt: textAt(setting, 'scorers.review') }),
};

function readScorers(value: unknown): readonly Scorer[] {
  if (!Array.isArray(value)) return refuse('scorers', 'it must be a list');
  return value.map((one) => {
    const [[kind, setting] = ['', undefined], ...others] = Object.entries(tableAt(one, 'scorers'));
    const make = Object.hasOwn(kinds, kind) && others.length === 0 ? kinds[kind] : undefined;
    return make?.(setting) ?? refuse('scorers', `each is one of ${Object.keys(kinds).join(', ')}`);
  });
}
