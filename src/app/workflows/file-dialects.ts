/** The dialects of workflow files, with the blocks of this process. Loaded when the first workflow is read. */
import type * as dialectModule from '../../dialects/yaml/index.ts';
import type { ReadOptions } from '../../dialects/yaml/file/read-options.ts';
import type { NodeType, StageAgent } from '../../graph/contracts/node-type.ts';
import { parsePermissions } from '../../graph/permissions/permissions.ts';
import type { FoundConfig } from '../config/read-config.ts';
import { readPipelineFile } from './read-pipeline-file.ts';
import { readersOf, type DotDialect, type TextReader } from './text-reader.ts';

type Dialect = typeof dialectModule;

/** The YAML dialect, and what it is called with. */
export interface FileDialects extends TextReader, Pick<Dialect, 'convertWorkflow' | 'workflowSchema'> {
  /** Functions for pipelines: reading texts recorded with runs, and formatting. */
  readonly dot: Pick<DotDialect, 'readKeptDot' | 'formatDot'>;
  readonly nodeTypes: readonly NodeType[];
  readonly options: Pick<ReadOptions, 'nodeTypes' | 'permissions' | 'checkpoint' | 'redact'>;
  /** Whether workflows given as text are allowed at all. */
  readonly allowsInline: boolean;
}

/** Loads the dialects. @throws CONFIG_INVALID a permission cannot be parsed */
export async function loadFileDialects(config: FoundConfig, allow: readonly string[]): Promise<FileDialects> {
  const [dialect, pipelines, { createNodeTypes }, { agentBlock }, { judgeBlock }, { stageAgent }] = await Promise.all([
    import('../../dialects/yaml/index.ts'),
    import('../../dialects/dot/read-dot.ts'),
    import('../../nodes/blocks/index.ts'),
    import('../../agents/block/agent-block.ts'),
    import('../../agents/block/judge-block.ts'),
    import('../../agents/stage/stage-agent.ts'),
  ]);
  const { checkpoint, redact, nodeTypes: own = [] } = config;
  const ownNames = new Set(own.map(({ name }) => name));
  // A user's own block replaces the built-in one of the same name.
  const builtIn = [...createNodeTypes(), judgeBlock];
  const working = [...builtIn.filter(({ name }) => !ownNames.has(name)), ...own];
  const nodeTypes = ownNames.has('Agent') ? working : [...working, agentBlock(working)];
  const dot = pipelinesWith(pipelines, stageAgent());
  const { permissions, inline } = parsePermissions(allow);
  return {
    ...dialect,
    ...readersOf(dot, dialect),
    dot,
    nodeTypes,
    options: {
      nodeTypes,
      permissions,
      ...(redact !== undefined && { redact }),
      ...(checkpoint !== undefined && { checkpoint }),
    },
    allowsInline: inline,
  };
}

/** The dialect of pipelines with what works in their stages. */
function pipelinesWith(dialect: DotDialect, agent: StageAgent): DotDialect {
  return {
    ...dialect,
    readDot: (text, options) => dialect.readDot(text, { readFile: readPipelineFile, ...options, agent }),
    checkCalledDot: (text, options) => dialect.checkCalledDot(text, { readFile: readPipelineFile, ...options, agent }),
    checkDot: (text, options) => dialect.checkDot(text, { readFile: readPipelineFile, ...options, agent }),
    readKeptDot: (text, options) => dialect.readKeptDot(text, { ...options, agent }),
  };
}
