/** Simulates a pipeline, from a file or a name, with scenarios from files. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { decodeText } from '../process/decode-text.ts';
import { readScenarios, type Scenario } from '../../dialects/dot/simulate/scenario.ts';
import { readDocument } from '../../dialects/yaml/file/read-document.ts';
import { CairnError } from '../../errors.ts';
import { dialectOf } from '../../dialects/text-workflow.ts';
import type { WorkContext } from '../../operations/contract/operation.ts';
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
  const graphText = graph.text ?? '';
  if (dialectOf(graphText) !== 'dot')
    throw new CairnError('USAGE_INVALID', {
      reason: `${file} is no pipeline: a dry run is for workflows in DOT`,
      hint: '`cairn plan` shows what a workflow in YAML would do.',
    });
  const { text, source } = JSON.parse(graphText) as { readonly text: string; readonly source: string };
  const scenarios = scenarioFiles?.flatMap((one) => readScenarioFile(cwd, one));
  return simulatePipeline(text, { source, input, ...(scenarios !== undefined && { scenarios }) });
}

// Reads scenarios from a YAML or JSON file.

/** @throws USAGE_INVALID the file cannot be read, or contains something that is not a scenario */
function readScenarioFile(cwd: string, file: string): readonly Scenario[] {
  const { document, faults } = readDocument(textOf(cwd, file), file);
  const [first] = faults;
  if (document !== undefined && first?.severity !== 'error') return readScenarios(document.data, file);
  const reason = first === undefined ? `${file} holds no scenario` : `${first.place}: ${first.message}`;
  throw new CairnError('USAGE_INVALID', { reason, hint: first?.fix ?? 'Write `scenarios:` and a list of them.' });
}

function textOf(cwd: string, file: string): string {
  try {
    return decodeText(readFileSync(resolve(cwd, file)));
  } catch (error) {
    const reason = `cannot read ${file}: ${(error as Error).message}`;
    throw new CairnError('USAGE_INVALID', { reason, hint: 'Name another file.' }, { cause: error });
  }
}
