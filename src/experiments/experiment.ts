/**
 * An experiment: what would have happened to recorded runs under other graphs, answers or values, with no effect done again. It is a run of
 * its own, whose items are recorded one by one: killed anywhere, a second call of the same name goes on, and buys nothing twice.
 */
import { CairnError } from '../errors.ts';
import type { Engine, Patch, RunResult } from '../engine/api.ts';
import type { StandIns } from '../engine/without-effects.ts';
import type { Amounts } from '../graph/amounts.ts';
import { hashValue } from '../graph/canonical.ts';
import { compileGraph } from '../graph/compile/compile-graph.ts';
import type { NodeContext, StateView } from '../graph/contracts/node-contract.ts';
import { END, START, type Graph } from '../graph/graph.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import { graphOf, resultOf, type GraphOrRunnable } from '../graph/runnable-graph.ts';
import { derivedRunId, experimentGraphId, neverDue } from '../history/stored/run-ids.ts';
import { parsePath } from '../history/read/state-path.ts';
import { checkAnswers } from './check-answers.ts';
import { compareAll, helpWith } from './compare-all.ts';
import type { Comparing } from './compare-item.ts';
import { readDataset } from './datasets.ts';
import { reviewAll } from './review-pairs.ts';
import { keepRun, type ArmPlan } from './run-arm.ts';
import { exact, type Scorer } from './scorers.ts';
import { selectItems, type Dataset } from './select-items.ts';
import type { ExperimentResult } from './table.ts';

/** What an arm does otherwise than the run that was recorded. */
export interface Arm {
  /** Default: the baseline's. */
  readonly graph?: GraphOrRunnable;
  /** Answers in place of the recorded ones, by the name or the node of their question. */
  readonly answers?: Readonly<Record<string, unknown>>;
  /** Values of the state, by dotted path. */
  readonly set?: Readonly<Record<string, unknown>>;
  /** Ask models anew where an answer is on record. Default false. */
  readonly resample?: boolean;
  /** Models that nodes ask in place of their own, by the id of the node: names that the engine's models know. */
  readonly models?: Readonly<Record<string, string>>;
  /** What stands in for what would be refused. */
  readonly standIns?: StandIns;
}

/** What is compared, and how. */
export interface ExperimentOptions {
  /** Names the experiment. A second call of the name goes on with it, or gives what it found. */
  readonly name: string;
  /** The recorded runs, or the name of a stored dataset. */
  readonly dataset: Dataset | string;
  /** Where the arms begin: just before a node (`draft`, `draft#2`), or a seq. Default: the start. */
  readonly at?: string | number;
  readonly arms: Readonly<Record<string, Arm>>;
  /** How often each arm is run on each item. Default 1. */
  readonly repeats?: number;
  /** The first decides the verdict of what is not equal. Default: `exact()`. */
  readonly scorers?: readonly Scorer[];
  /** What is compared: a part of the state. Default: what the run gave, or all outputs if it names nothing. */
  readonly output?: (state: StateView) => unknown;
  /** What the forks may cost in all, by unit: what is left then is `not run`. */
  readonly budget?: Amounts;
  /** How many items are at work at once. Default 8. */
  readonly concurrency?: number;
  /** `live`: reads that the record does not have are made. Default: they are refused. */
  readonly reads?: 'live';
  /** `run`: functions without a declared effect class run. Default: they are refused, and named. */
  readonly undeclared?: 'run';
  /** Whether its runs, and those that it is of, stay until it is removed. Default: for 30 days. */
  readonly keep?: boolean;
}

const optionKeys = [
  'keep',
  'name',
  'dataset',
  'at',
  'arms',
  'repeats',
  'scorers',
  'output',
  'budget',
  'concurrency',
  'reads',
  'undeclared',
] as const satisfies readonly (keyof ExperimentOptions)[];
const datasetKeys = [
  'runs',
  'inputs',
  'graph',
  'labels',
  'since',
  'status',
  'sample',
  'seed',
] as const satisfies readonly (keyof Dataset)[];
const armKeys = ['graph', 'answers', 'set', 'resample', 'models', 'standIns'] as const satisfies readonly (keyof Arm)[];

function refuse(path: string, reason: string): never {
  throw new CairnError('CONFIG_INVALID', { path, reason });
}

/** @throws CONFIG_INVALID */
function checkOptions(options: ExperimentOptions): void {
  refuseUnknownKeys('experiment', options, optionKeys);
  if (typeof options.dataset !== 'string') refuseUnknownKeys('dataset', options.dataset, datasetKeys);
  const { name, arms, repeats = 1, concurrency = 8 } = options;
  if (typeof name !== 'string' || !/^[\w.-]{1,60}$/.test(name))
    refuse('name', 'an experiment has a name of up to 60 letters, digits, dots, hyphens and underscores');
  if (Object.keys(arms).length === 0) refuse('arms', 'an experiment has an arm at least');
  for (const [arm, parts] of Object.entries(arms)) {
    refuseUnknownKeys(`the arm ${arm}`, parts, armKeys);
    if (!/^[\w.-]{1,40}$/.test(arm) || arm === 'baseline' || arm === 'control')
      refuse(
        `arms.${arm}`,
        'an arm has a name of up to 40 letters, digits, dots, hyphens and underscores, and not baseline or control',
      );
  }
  for (const [path, count] of Object.entries({ repeats, concurrency }))
    if (!Number.isSafeInteger(count) || count < 1) refuse(path, 'it must be a whole number from 1');
}

function planArm(name: string, { graph, answers, set, resample, models, standIns }: Arm, baseline: Graph): ArmPlan {
  const own = graph === undefined ? baseline : graphOf(graph);
  if (own === undefined) return refuse(`arms.${name}.graph`, 'it needs a graph, or what builds one');
  const patches = Object.entries(set ?? {}).map(([path, value]): Patch => ({ path: parsePath(path), value }));
  return {
    name,
    graph: own,
    ...(answers && { answers }),
    ...(patches.length > 0 && { set: patches }),
    ...(resample === true && { resample }),
    ...(models && { models }),
    ...(standIns && { standIns }),
  };
}

/** What tells whether an arm is still what it was. */
function fingerprintOf({ graph, answers, set, resample, models, standIns = {} }: ArmPlan): string {
  const stands = Object.entries(standIns).map(([name, standIn]) => [name, String(standIn)]);
  const changes = [answers ?? null, set ?? null, resample === true, ...(models ? [models] : [])];
  return hashValue([graph.hash, graph.codeHash, ...changes, stands]).slice(0, 22);
}

function fingerprintOfScorer({ name, score, question = '' }: Scorer): string {
  return `${name} ${hashValue(score === undefined ? question : String(score)).slice(0, 12)}`;
}

/**
 * Runs an experiment, or goes on with the one of that name.
 * @param app - what `compile()` gave: its graph is the baseline, its engine has the runs
 * @returns what it found; while people are asked to review, without what they say
 * @throws CONFIG_INVALID; RUN_EXISTS the name is of an experiment with other items, arms or code
 */
export async function experiment(
  app: { readonly graph: Graph; readonly engine: Engine },
  options: ExperimentOptions,
): Promise<ExperimentResult> {
  return (await startExperiment(app, options)).result();
}

/** An experiment that is under way in this process. */
export interface StartedExperiment {
  /** Id of its run. */
  readonly runId: string;
  /** How many runs it compares. */
  readonly items: number;
  /** What it finds: see {@link experiment}. Call it once. */
  readonly result: () => Promise<ExperimentResult>;
}

/** The same, without waiting for the end. @throws as {@link experiment} */
export async function startExperiment(
  app: { readonly graph: Graph; readonly engine: Engine },
  options: ExperimentOptions,
): Promise<StartedExperiment> {
  checkOptions(options);
  const { engine, graph } = app;
  engine.know(graph);
  const { name, dataset, arms, repeats = 1, scorers = [exact()], at, reads, undeclared, keep } = options;
  const runId = derivedRunId('experiment', name);
  const plans = Object.entries(arms).map(([arm, parts]) => planArm(arm, parts, graph));
  const comparing = {
    experiment: name,
    engine,
    baseline: planArm('baseline', {}, graph),
    arms: plans,
    repeats,
    scorers,
    at,
    output: options.output ?? ((state) => outputOf(graph, state)),
    ...(reads && { reads }),
    ...(undeclared && { undeclared }),
    ...(keep === true && { keep }),
  };
  const known = await knownItems(engine, runId);
  const { items, expected } = known ?? (await chooseItems(app, name, dataset));
  if (known === undefined) await checkAnswers(engine, comparing.baseline, plans, items);
  const input = {
    items,
    ...(Object.keys(expected).length > 0 && { expected }),
    baseline: fingerprintOf(comparing.baseline),
    arms: Object.fromEntries(plans.map((plan) => [plan.name, fingerprintOf(plan)])),
    scorers: scorers.map(fingerprintOfScorer),
    ...(at !== undefined && { at }),
    repeats,
  };
  const all = { ...comparing, expected };
  const isElsewhere = (await engine.ports.store.readRun({ tenant: engine.ports.tenant, runId }))?.claim !== undefined;
  const handle = await engine
    .start(experimentGraph(all, options), input, { runId, origin: 'experiment', schedule: { dueAt: neverDue } })
    .catch((error: unknown) => {
      throw CairnError.is(error, 'RUN_EXISTS') ? takenName(error, name) : error;
    });
  const result = async (): Promise<ExperimentResult> => {
    const ended = handle.result();
    // What the forks cost is counted by the process that has the experiment, so nobody helps where that is bounded.
    if (isElsewhere && options.budget === undefined) await helpWith(all, items, ended, options.concurrency);
    const found = resultOfExperiment(await ended);
    if (keep === true) await keepRun(engine, runId);
    return found;
  };
  return { runId, items: items.length, result };
}

function takenName(error: CairnError, name: string): CairnError {
  const hint = `The experiment ${name} was begun with other items, arms, scorers or code. Give this one another name, or remove that one: cairn experiment rm ${name}`;
  return new CairnError('RUN_EXISTS', { ...error.data, hint });
}

function resultOfExperiment({ runId, status, state, error, waits }: RunResult): ExperimentResult {
  const compared = state.outputs['compare'] as ExperimentResult | undefined;
  if (status === 'paused' && compared !== undefined) return { ...compared, openReviews: waits.length };
  if (status !== 'completed') throw error ?? new CairnError('RUN_CANCELLED', { runId });
  return (state.outputs['review'] ?? compared) as ExperimentResult;
}

/** What an experiment is of. */
interface Items {
  /** Ids of runs. */
  readonly items: readonly string[];
  /** What is expected of those that run anew. */
  readonly expected: Readonly<Record<string, unknown>>;
}

/** The items of an experiment that was begun: later runs are none of it. */
async function knownItems(engine: Engine, runId: string): Promise<Items | undefined> {
  const { store, tenant } = engine.ports;
  if ((await store.readRun({ tenant, runId })) === undefined) return undefined;
  const { input } = await engine.history.state(runId);
  return { expected: {}, ...(input as Pick<Items, 'items'>) };
}

/** Chooses the recorded runs, and records a run that never begins for each input: arms are forks of it. */
async function chooseItems(
  { engine, graph }: { readonly engine: Engine; readonly graph: Graph },
  experimentName: string,
  dataset: Dataset | string,
): Promise<Items> {
  const chosen = typeof dataset === 'string' ? await readDataset(engine.ports, dataset) : dataset;
  const runs = await selectItems(engine.history, graph.id, chosen, engine.ports.clock.now());
  const items = [...runs];
  const expected: Record<string, unknown> = {};
  for (const { input, ...more } of chosen.inputs ?? []) {
    const runId = derivedRunId('experiment', experimentName, 'input', hashValue([input]).slice(0, 16));
    await engine.start(graph, input, { runId, origin: 'experiment', detach: true, schedule: { dueAt: neverDue } });
    items.push(runId);
    if (more.expected !== undefined) expected[runId] = more.expected;
  }
  if (items.length === 0) refuse('dataset', 'it has no item: no recorded run fits it');
  return { items, expected };
}

/** What a graph says that a run of it gives; all outputs if it names nothing. */
function outputOf(graph: Graph, state: StateView): unknown {
  const result = resultOf(graph, state);
  const isEmpty = typeof result === 'object' && result !== null && Object.keys(result).length === 0;
  return result === undefined || isEmpty ? state.outputs : result;
}

function experimentGraph(comparing: Comparing, options: ExperimentOptions): Graph {
  const isReviewed = comparing.scorers.some(({ question }) => question !== undefined);
  const compare = {
    run: (ctx: NodeContext): Promise<ExperimentResult> => compareAll(ctx, comparing, options),
    isComposed: true,
    codeText: 'experiment 1',
  };
  const review = {
    run: (ctx: NodeContext): Promise<ExperimentResult> => reviewAll(ctx, comparing),
    isComposed: true,
    codeText: 'review 1',
  };
  return compileGraph({
    id: experimentGraphId,
    nodes: [
      { id: 'compare', type: 'experiment', effect: 'read', implementation: compare },
      ...(isReviewed ? [{ id: 'review', type: 'experiment', effect: 'human' as const, implementation: review }] : []),
    ],
    edges: [
      { from: START, to: 'compare' },
      { from: 'compare', to: isReviewed ? 'review' : END },
      ...(isReviewed ? [{ from: 'review', to: END }] : []),
    ],
  });
}
