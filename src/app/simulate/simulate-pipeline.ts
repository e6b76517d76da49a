/** Simulates a pipeline: every stage ends as a scenario says. Nothing outside is touched, nothing is stored, and no time passes. */
import { readDot, type DotTransform, type StageEnding } from '../../dialects/dot/index.ts';
import { Covered, coverageOf, type Coverage } from '../../dialects/dot/simulate/coverage.ts';
import { ideasFrom, type Idea } from '../../dialects/dot/simulate/explore.ts';
import { outlineOf, type Outline } from '../../dialects/dot/simulate/outline.ts';
import type { Scenario } from '../../dialects/dot/simulate/scenario.ts';
import { isScripted, scriptStages } from '../../dialects/dot/simulate/scripted-stages.ts';
import { CairnError } from '../../errors.ts';
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
}

const runsMaxDefault = 200;

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
  readScripted(text, { name: '', stages: {} }, options, []);
  const outline = outlineOf(text, source);
  for (const scenario of scenarios ?? []) refuseUnknown(scenario, outline);
  const covered = new Covered(outline.layout);
  const simulate = async (scenario: Scenario): Promise<SimulatedRun> => {
    const path: StageEnding[] = [];
    const { graph, script } = readScripted(text, scenario, options, path);
    const input = { ...options.input, ...scenario.input };
    const run = await runScenario(graph, { ...scenario, input }, script, path);
    covered.add(path);
    return run;
  };
  const runs: SimulatedRun[] = [];
  if (scenarios === undefined) await explore(outline, simulate, options.runsMax ?? runsMaxDefault, covered, runs);
  else for (const scenario of scenarios) runs.push(await simulate(scenario));
  return { runs, coverage: coverageOf(outline.pipeline, covered, outline.placeOf) };
}

function readScripted(
  text: string,
  scenario: Scenario,
  { types = [], transforms = [], source }: SimulateOptions,
  path: StageEnding[],
) {
  const script = scriptStages(scenario, types);
  const { graph } = readDot(text, {
    handlers: script.handlers,
    transforms,
    watch: (ending) => void path.push(ending),
    ...(source !== undefined && { source }),
  });
  return { graph, script };
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

/**
 * Explores: first a run in which every stage succeeds, then the runs that each run suggests, each goal once. Runs that cover nothing new
 * are left out.
 */
async function explore(
  { pipeline, layout }: Outline,
  simulate: (scenario: Scenario) => Promise<SimulatedRun>,
  runsMax: number,
  covered: Covered,
  runs: SimulatedRun[],
): Promise<void> {
  const ideas: Idea[] = [{ aim: 'all succeed', scenario: { name: 'all succeed', stages: {} } }];
  const tried = new Set<string>();
  for (let count = 0; count < runsMax;) {
    const idea = ideas.shift();
    if (idea === undefined) return;
    if (tried.has(idea.aim)) continue;
    tried.add(idea.aim);
    count += 1;
    const before = covered.edges.size + covered.stages.size;
    const run = await simulate(idea.scenario).catch(passIfRefused);
    if (run === undefined) continue;
    if (covered.edges.size + covered.stages.size > before || runs.length === 0) runs.push({ ...run, unused: [] });
    const { path, waitsAt: stage } = run;
    const open: readonly StageEnding[] =
      stage === undefined ? [] : [{ stage, outcome: 'skipped', edge: undefined, to: undefined }];
    ideas.push(...ideasFrom(pipeline, layout, idea.scenario, [...path, ...open]));
  }
}
