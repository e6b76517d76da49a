/** The DOT dialect: pipelines drawn as digraphs. See docs/spec/dot.md. */
export {
  checkDot,
  formatDot,
  readDot,
  readSavedDot,
  type CheckedPipeline,
  type DotOptions,
  type DotTransform,
} from './read-dot.ts';
export type { AttributeSyntax, DotSyntax, Syntax } from './text/print-dot.ts';
export {
  pipelineOf,
  readPipeline,
  type PipelineCheckpoint,
  type PipelineRecords,
  type PipelineStep,
} from './view/pipeline-view.ts';
export type { PipelineResult } from './run/handlers/ends.ts';
export type { StageContext, StageEnding, StageHandler } from './run/stage/attempts.ts';
export type { StageOutcome, StageStatus } from './run/stage/stage-outcome.ts';
