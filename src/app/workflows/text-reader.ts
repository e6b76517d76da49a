/** The DOT dialect with the block types and grants of this process, beside that of YAML: each text goes to the one that it is written in. */
import type * as dialectModule from '../../dialects/dot/index.ts';
import type { TextWorkflow } from '../../dialects/text-workflow.ts';
import { isPipelineFile, pipelineNameOf } from '../../dialects/dot/text/head.ts';
import type { ReadOptions } from '../../dialects/yaml/file/read-options.ts';

type Dialect = typeof dialectModule;

/** Reads texts of one dialect, as the catalog and the loader of files ask for it. */
export interface TextReader {
  readonly readWorkflow: (text: string, options: ReadOptions) => TextWorkflow;
  readonly checkWorkflow: (text: string, options: ReadOptions) => ReturnType<Dialect['checkDot']>;
}

/** Whether a text is a pipeline: by the name of its file, or where it has none by how it begins. */
export function isPipeline(text: string, source: string | undefined): boolean {
  return isPipelineFile(source ?? '') || (!/\.ya?ml$/i.test(source ?? '') && pipelineNameOf(text) !== undefined);
}

/** Readers that take texts of either dialect. */
export function readersOf(dot: Dialect, yaml: TextReader): TextReader {
  return {
    readWorkflow: (text, options) =>
      isPipeline(text, options.source) ? dot.readDot(text, options) : yaml.readWorkflow(text, options),
    checkWorkflow: (text, options) =>
      isPipeline(text, options.source) ? dot.checkDot(text, options) : yaml.checkWorkflow(text, options),
  };
}
