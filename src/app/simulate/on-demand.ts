/** Simulations for programs: what makes them is loaded when the first one is asked for. */
import type { SimulateOptions, SimulationReport } from './simulate-pipeline.ts';

/**
 * Runs a pipeline in memory, each stage ending as scenarios say: nothing outside is touched, nothing is stored, no time passes. Without
 * scenarios, ways are looked for until nothing new is found.
 * @throws GRAPH_PARSE, GRAPH_INVALID; USAGE_INVALID a scenario names a stage that there is not, or one that ends as others do; INPUT_INVALID
 */
export async function simulatePipeline(text: string, options: SimulateOptions = {}): Promise<SimulationReport> {
  return (await import('./simulate-pipeline.ts')).simulatePipeline(text, options);
}
