/** Simulation for programs. The code is loaded on first use. */
import type { SimulateOptions, SimulationReport } from './simulate-pipeline.ts';

/**
 * Runs a pipeline in memory; each stage ends as scenarios say. Nothing outside is touched, nothing is stored, and no time passes. Without
 * scenarios, possible ways are explored until nothing new is found.
 * @throws GRAPH_PARSE, GRAPH_INVALID; USAGE_INVALID a scenario names an unknown stage, or one whose ending follows from others;
 * INPUT_INVALID
 */
export async function simulatePipeline(text: string, options: SimulateOptions = {}): Promise<SimulationReport> {
  return (await import('./simulate-pipeline.ts')).simulatePipeline(text, options);
}
