/**
 * Combines the DOT and YAML dialects, with this process's block types and permissions: each text is read in the dialect it is written in.
 */
import type * as dialectModule from '../../dialects/dot/read-dot.ts';
import { dialectOf, type TextWorkflow } from '../../dialects/text-workflow.ts';
import { isPipelineFile, pipelineNameOf } from '../../dialects/dot/text/head.ts';
import type * as yamlModule from '../../dialects/yaml/index.ts';
import type { ReadOptions } from '../../dialects/yaml/file/read-options.ts';

export type DotDialect = Pick<
  typeof dialectModule,
  'checkCalledDot' | 'checkDot' | 'formatDot' | 'readDot' | 'readSavedDot'
>;
type YamlDialect = Pick<typeof yamlModule, 'checkWorkflow' | 'readBundle' | 'readWorkflow'>;

/** Reads texts of one dialect, for the catalog and the loader of files. */
export interface TextReader {
  readonly readWorkflow: (text: string, options: ReadOptions) => TextWorkflow;
  readonly checkWorkflow: (text: string, options: ReadOptions) => ReturnType<DotDialect['checkDot']>;
  /** Reads what was recorded with a run of a YAML workflow. */
  readonly readBundle: YamlDialect['readBundle'];
}

/** Whether a text is a pipeline, judged by its file's name or, without one, by its beginning. */
export function isPipeline(text: string, source: string | undefined): boolean {
  return isPipelineFile(source ?? '') || (!/\.ya?ml$/i.test(source ?? '') && pipelineNameOf(text) !== undefined);
}

/** Readers for texts of either dialect. Workflows in YAML may run those in DOT. */
export function readersOf(dot: DotDialect, yaml: YamlDialect): TextReader {
  return {
    readWorkflow: (text, options) =>
      isPipeline(text, options.source)
        ? dot.readDot(text, ofPipeline(options))
        : yaml.readWorkflow(text, withPipelines(dot, options)),
    checkWorkflow: (text, options) =>
      isPipeline(text, options.source)
        ? dot.checkDot(text, ofPipeline(options))
        : yaml.checkWorkflow(text, withPipelines(dot, options)),
    readBundle: (text, options) => yaml.readBundle(text, withPipelines(dot, options)),
  };
}

type PipelineOptions = Pick<ReadOptions, 'nodeTypes' | 'source' | 'origin' | 'permissions' | 'redact'>;

/** Pipelines run no workflows by name, and have no settings of checkpoints. */
function ofPipeline(options: PipelineOptions): PipelineOptions {
  const { nodeTypes, source, origin, permissions, redact } = options;
  return {
    nodeTypes,
    ...(source !== undefined && { source }),
    ...(origin !== undefined && { origin }),
    ...(permissions !== undefined && { permissions }),
    ...(redact !== undefined && { redact }),
  };
}

/** A pipeline that a workflow names is the operator's file, which may do everything, or is held to the grants as its caller is. */
function withPipelines<Options extends Pick<ReadOptions, 'nodeTypes' | 'redact' | 'permissions'>>(
  dot: DotDialect,
  options: Options,
): Options & Pick<ReadOptions, 'readOther'> {
  const shared = ofPipeline(options);
  return {
    ...options,
    readOther: ({ text, source }, origin) =>
      dialectOf(text) === 'dot' || isPipeline(text, source)
        ? dot.checkCalledDot(text, { ...shared, source, origin })
        : undefined,
  };
}
