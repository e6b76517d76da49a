/** Simulates a pipeline, given by file or name, with scenarios from files. */
import { CairnError } from '../../errors.ts';
import { dialectOf } from '../../dialects/strongest-effect.ts';
import type { WorkContext } from '../../operations/declare/operation.ts';
import { readScenarioFile } from './read-scenario-file.ts';
import { simulatePipeline, type SimulationReport } from './simulate-pipeline.ts';

export interface DryRun {
  /** Path of a DOT file, or name of a known pipeline. */
  readonly file: string;
  /** Paths of scenario files; undefined: possible ways through the pipeline are explored. */
  readonly scenarioFiles: readonly string[] | undefined;
  readonly input: Readonly<Record<string, unknown>>;
}

/** @throws the errors of `loadWorkflow` and `simulatePipeline`; USAGE_INVALID it is not a pipeline, or a scenario file cannot be read */
export async function dryRun(
  { loadWorkflow }: Pick<WorkContext, 'loadWorkflow'>,
  cwd: string,
  { file, scenarioFiles, input }: DryRun,
): Promise<SimulationReport> {
  const { graph } = (await loadWorkflow(file)).workflow;
  const kept = graph.text ?? '';
  if (dialectOf(kept) !== 'dot')
    throw new CairnError('USAGE_INVALID', {
      reason: `${file} is no pipeline: a dry run is for workflows in DOT`,
      hint: '`cairn plan` shows what a workflow in YAML would do.',
    });
  const { text, source } = JSON.parse(kept) as { readonly text: string; readonly source: string };
  const scenarios = scenarioFiles?.flatMap((one) => readScenarioFile(cwd, one));
  return simulatePipeline(text, { source, input, ...(scenarios !== undefined && { scenarios }) });
}
