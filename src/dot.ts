/**
 * Pipelines drawn as Graphviz digraphs: read, checked, formatted, simulated, and their runs as folders of files. The entry point
 * `cairn-workflows/dot`. Guide: docs/guide/dot.md.
 */
export * from './dialects/dot/index.ts';
export {
  readScenarios,
  type Scenario,
  type ScriptedEnd,
  type Coverage,
  type UncoveredEdge,
} from './dialects/dot/simulate/scenario.ts';
export { simulatePipeline } from './app/simulate/index.ts';
export type { SimulateOptions, SimulationReport } from './app/simulate/simulate-pipeline.ts';
export type { SimulatedRun } from './app/simulate/run-scenario.ts';
export { exportFiles } from './app/run-folder/index.ts';
export type { RunFolder, RunFolderOptions } from './app/run-folder/run-folder.ts';
