/**
 * Combines the DOT and YAML dialects, with this process's block types and permissions: each text is read in the dialect it is written in.
 */
import type * as dialectModule from '../../dialects/dot/index.ts';
import type { TextWorkflow } from '../../dialects/text-workflow.ts';
import { isPipelineFile, pipelineNameOf } from '../../dialects/dot/text/head.ts';
import type { ReadOptions } from '../../dialects/yaml/file/read-options.ts';

type Dialect = typeof dialectModule;

/** Reads texts of one dialect, for the catalog and the loader of files. */
export interface TextReader {
  readonly readWorkflow: (text: string, options: ReadOptions) => TextWorkflow;
  readonly checkWorkflow: (text: string, options: ReadOptions) => ReturnType<Dialect['checkDot']>;
}

/** Whether a text is a pipeline, judged by its file's name or, without one, by its beginning. */
export function isPipeline(text: string, source: string | undefined): boolean {
  return isPipelineFile(source ?? '') || (!/\.ya?ml$/i.test(source ?? '') && pipelineNameOf(text) !== undefined);
}

/** Readers for texts of either dialect. */
export function readersOf(dot: Dialect, yaml: TextReader): TextReader {
  return {
    readWorkflow: (text, options) =>
      isPipeline(text, options.source) ? dot.readDot(text, ofPipeline(options)) : yaml.readWorkflow(text, options),
    checkWorkflow: (text, options) =>
      isPipeline(text, options.source) ? dot.checkDot(text, ofPipeline(options)) : yaml.checkWorkflow(text, options),
  };
}

/** Pipelines are not run by name, and have no settings of checkpoints. */
function ofPipeline(options: ReadOptions): Omit<ReadOptions, 'workflows' | 'checkpoint'> {
  const { workflows: _, checkpoint: __, ...others } = options;
  return others;
}
