/** Simulates a pipeline: every stage ends as a scenario says. Nothing outside is touched, nothing is stored, and no time passes. */
import { readDot, type DotTransform, type StageEnding } from '../../dialects/dot/index.ts';
import {
  Covered,
  coverageOf,
  type Coverage,
  type Scenario,
  isScripted,
  scriptStages,
} from '../../dialects/dot/simulate/scenario.ts';
import { ideasFrom } from '../../dialects/dot/simulate/explore.ts';
import { outlineOf, type Outline } from '../../dialects/dot/simulate/outline.ts';
import { CairnError } from '../../errors.ts';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import { nearest } from '../../graph/nearest.ts';
import { isRefusedAnswer, runScenario, type SimulatedRun } from './run-scenario.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';

export interface SimulateOptions {
  /** How stages end, one scenario for each run. Default: possible ways are explored, as long as each run takes a new one. */
  readonly scenarios?: readonly Scenario[];
  /** Input of each run, unless its scenario has another. */
  readonly input?: Readonly<Record<string, unknown>>;
  /** Types of stages in addition to the built-in ones; these end as scenarios say, too. */
  readonly types?: readonly string[];
  readonly transforms?: readonly DotTransform[];
  /** Path of the file for places in messages. Default `inline`. */
  readonly source?: string;
  /** The most runs when ways are explored. Default 200. */
  readonly runsMax?: number;
}

export interface SimulationReport {
  readonly runs: readonly SimulatedRun[];
  /** What all runs together covered. */
  readonly coverage: Coverage;
  /**
   * How many ways were found and not tried, since there were `runsMax` runs, or 20,000 stages in all of them. What was not come to may lie
   * on them.
   */
  readonly untried: number;
  /** Stages that come again and again in ways that were looked for, one list for each such circle, named once. */
  readonly endless: readonly (readonly string[])[];
}

const runsMaxDefault = 200;

/** How often a stage may be visited in one way that is looked for, beside what the way itself says of it: more is taken for endless. */
const visitsMax = 50;
/** The most stages that may begin in all ways that are looked for together. */
const stagesMax = 20_000;

/** Counts the stages that begin while ways are looked for, and ends a way that goes round without end. */
class Bounds {
  #begun = 0;
  readonly circles = new Map<string, readonly string[]>();

  get isReached(): boolean {
    return this.#begun >= stagesMax;
  }

  /** What to call for each stage that begins in a run of the scenario. @throws where a stage comes too often, which fails the run */
  counterFor({ stages }: Scenario): (stage: string) => void {
    const visits = new Map<string, number>();
    const recent: string[] = [];
    return (stage) => {
      this.#begun += 1;
      const count = (visits.get(stage) ?? 0) + 1;
      visits.set(stage, count);
      recent.push(stage);
      if (count <= visitsMax + (stages[stage]?.length ?? 0)) return;
      const circle = recent.slice(recent.lastIndexOf(stage, -2), -1);
      this.circles.set([...circle].sort().join(' '), circle);
      throw new NodeFailure(`it goes round without end: ${[...circle, stage].join(' -> ')}`, { code: 'SIMULATED' });
    };
  }
}

const optionNames = Object.keys({
  scenarios: true,
  input: true,
  types: true,
  transforms: true,
  source: true,
  runsMax: true,
} satisfies Record<keyof SimulateOptions, true>);

/**
 * Simulates a pipeline. The rules are those of a real run, because it is one, in memory.
 * @throws GRAPH_PARSE, GRAPH_INVALID; USAGE_INVALID a scenario names an unknown stage; INPUT_INVALID a scenario's input does not fit
 */
export async function simulatePipeline(text: string, options: SimulateOptions = {}): Promise<SimulationReport> {
  refuseUnknownKeys('simulatePipeline', options, optionNames);
  const { source = 'inline', scenarios } = options;
  for (const one of scenarios ?? []) refuseUnknownKeys('a scenario', one, ['name', 'input', 'stages']);
  // Faults of the text are reported before anything is run.
  readScripted(text, { name: '', stages: {} }, options);
  const outline = outlineOf(text, source);
  for (const scenario of scenarios ?? []) refuseUnknown(scenario, outline);
  const covered = new Covered(outline.pipeline, outline.layout);
  const bounds = new Bounds();
  const simulate = async (scenario: Scenario): Promise<SimulatedRun> => {
    const count = scenarios === undefined ? bounds.counterFor(scenario) : undefined;
    const { graph, script, begun, path } = readScripted(text, scenario, options, count);
    const input = { ...options.input, ...scenario.input };
    const run = await runScenario(graph, { ...scenario, input }, script, path);
    covered.add(begun, path);
    return run;
  };
  const runs: SimulatedRun[] = [];
  let untried = 0;
  if (scenarios === undefined)
    untried = await explore(outline, simulate, options.runsMax ?? runsMaxDefault, bounds, covered, runs);
  else for (const scenario of scenarios) runs.push(await simulate(scenario));
  return {
    runs,
    coverage: coverageOf(outline.pipeline, covered, outline.placeOf),
    untried,
    endless: [...bounds.circles.values()],
  };
}

function readScripted(
  text: string,
  scenario: Scenario,
  { types = [], transforms = [], source }: SimulateOptions,
  count?: (stage: string) => void,
) {
  const begun = new Set<string>();
  const path: StageEnding[] = [];
  const script = scriptStages(scenario, types);
  const { graph } = readDot(text, {
    handlers: script.handlers,
    transforms,
    watchBegin: (stage) => {
      begun.add(stage);
      count?.(stage);
    },
    watch: (ending) => void path.push(ending),
    ...(source !== undefined && { source }),
  });
  return { graph, script, begun, path };
}

function refuseUnknown({ name, stages }: Scenario, { pipeline }: Outline): void {
  for (const id of Object.keys(stages)) {
    const stage = pipeline.stages.get(id);
    if (stage !== undefined && isScripted(stage.type)) continue;
    const guess = nearest(id, pipeline.stages.keys());
    throw new CairnError('USAGE_INVALID', {
      reason:
        stage === undefined
          ? `the scenario ${name} names ${id}, which is no stage of ${pipeline.name}`
          : `the scenario ${name} says how ${id} ends, a ${stage.type} stage, which ends as those before it did`,
      ...(stage === undefined && guess !== undefined && { hint: `Did you mean ${guess}?` }),
    });
  }
}

/** An idea is a guess: a choice that is not offered where it is tried leads nowhere, and is passed over. */
function passIfRefused(error: unknown): undefined {
  if (!isRefusedAnswer(error)) throw error;
}

const failuresOf = ({ stages }: Scenario): number => Object.values(stages).reduce((sum, { length }) => sum + length, 0);

/**
 * Explores: first a run in which every stage succeeds, then the runs that each run suggests, each aim once, until everything was come to.
 * Runs that cover nothing new are omitted.
 * @returns how many ways were found and not tried
 */
async function explore(
  { pipeline, layout }: Outline,
  simulate: (scenario: Scenario) => Promise<SimulatedRun>,
  runsMax: number,
  bounds: Bounds,
  covered: Covered,
  runs: SimulatedRun[],
): Promise<number> {
  const ideas: Scenario[] = [{ name: 'all succeed', stages: {} }];
  const aims = new Set<string>();
  for (let count = 0; count < runsMax && !bounds.isReached; count += 1) {
    const idea = ideas.shift();
    if (idea === undefined || covered.isWhole) return 0;
    const before = covered.count;
    const run = await simulate(idea).catch(passIfRefused);
    if (run === undefined) continue;
    const isNew = covered.count > before;
    if (isNew || runs.length === 0) runs.push({ ...run, unused: [] });
    const { path, waitsAt: stage } = run;
    const open: readonly StageEnding[] =
      stage === undefined ? [] : [{ stage, outcome: 'skipped', edge: undefined, to: undefined }];
    // What a circle says again, it said in its first rounds.
    const used = path.slice(0, 4 * pipeline.stages.size + failuresOf(idea));
    ideas.push(...ideasFrom(pipeline, layout, { scenario: idea, endings: [...used, ...open], isNew }, aims));
  }
  return covered.isWhole ? 0 : ideas.length;
}
