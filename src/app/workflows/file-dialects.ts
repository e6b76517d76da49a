/** The dialects of files with the blocks of this process; loaded when the first workflow is read. */
import type * as dotModule from '../../dialects/dot/index.ts';
import type * as dialectModule from '../../dialects/yaml/index.ts';
import type { ReadOptions } from '../../dialects/yaml/file/read-options.ts';
import type { NodeType } from '../../graph/contracts/node-type.ts';
import { parsePermissions } from '../../graph/permissions/parse-permissions.ts';
import type { FoundConfig } from '../config/read-config.ts';
import { readersOf, type TextReader } from './text-reader.ts';

type Dialect = typeof dialectModule;

/** What the dialect is, and what it is handed each time. */
export interface FileDialects extends TextReader, Pick<Dialect, 'convertWorkflow' | 'readBundle' | 'workflowSchema'> {
  /** Pipelines as texts that are kept with runs, and in their canonical form. */
  readonly dot: Pick<typeof dotModule, 'readKeptDot' | 'formatDot'>;
  readonly nodeTypes: readonly NodeType[];
  readonly options: Pick<ReadOptions, 'nodeTypes' | 'permissions' | 'checkpoint' | 'redact'>;
  /** Whether workflows given as texts are taken at all. */
  readonly allowsInline: boolean;
}

/** @throws CONFIG_INVALID a grant that cannot be read */
export async function loadFileDialects(config: FoundConfig, allow: readonly string[]): Promise<FileDialects> {
  const [dialect, dot, { createNodeTypes }, { agentBlock }, { judgeBlock }] = await Promise.all([
    import('../../dialects/yaml/index.ts'),
    import('../../dialects/dot/index.ts'),
    import('../../nodes/blocks/index.ts'),
    import('../../agents/block/agent-block.ts'),
    import('../../agents/block/judge-block.ts'),
  ]);
  const { checkpoint, redact, nodeTypes: own = [] } = config;
  const ownNames = new Set(own.map(({ name }) => name));
  // A block of the user's own stands before the built-in one of its name.
  const builtIn = [...createNodeTypes(), judgeBlock];
  const working = [...builtIn.filter(({ name }) => !ownNames.has(name)), ...own];
  const nodeTypes = ownNames.has('Agent') ? working : [...working, agentBlock(working)];
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
