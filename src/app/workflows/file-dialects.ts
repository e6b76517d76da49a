/** The dialects of workflow files, with the blocks of this process. Loaded when the first workflow is read. */
import { closeSync, constants, fstatSync, openSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { decodeText } from '../process/decode-text.ts';
import type * as dialectModule from '../../dialects/yaml/index.ts';
import type { ReadOptions } from '../../dialects/yaml/file/read-options.ts';
import type { NodeType } from '../../graph/contracts/node-type.ts';
import type { StageAgent } from '../../graph/contracts/stage-agent.ts';
import { parsePermissions } from '../../graph/permissions/permissions.ts';
import type { FoundConfig } from '../config/read-config.ts';
import { readersOf, type DotDialect, type TextReader } from './text-reader.ts';

// Reads a pipeline that another one runs, and holds it to what is granted where the file really is, over whatever
// links.

const pipelineBytesMax = 20 * 1024 * 1024;

/**
 * The text at a path. What is larger than any pipeline, is no file, or cannot be read, is not there.
 * @param isGranted - called with the file's own place, once it is open: a link that is flipped meanwhile leads nowhere. Default: all is
 * granted
 */
function readPipelineFile(path: string, isGranted?: (place: string) => boolean): string | undefined {
  let descriptor: number | undefined;
  try {
    // Without waiting: opening a pipe would wait until somebody writes into it.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = fstatSync(descriptor);
    if (!found.isFile() || found.size > pipelineBytesMax) return undefined;
    if (isGranted !== undefined && !isGranted(placeOf(descriptor, path))) return undefined;
    return decodeText(readFileSync(descriptor));
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Where an open file is. On Linux, /proc tells it; elsewhere the path is resolved again, and must lead to the same file. */
function placeOf(descriptor: number, path: string): string {
  if (process.platform === 'linux') return readlinkSync(`/proc/self/fd/${descriptor}`);
  const place = realpathSync(path);
  const [opened, found] = [fstatSync(descriptor, { bigint: true }), statSync(place, { bigint: true })];
  if (opened.dev !== found.dev || opened.ino !== found.ino) throw new Error(`${path} was replaced while it was opened`);
  return place;
}

type Dialect = typeof dialectModule;

/** The YAML dialect, and what it is called with. */
export interface FileDialects extends TextReader, Pick<Dialect, 'convertWorkflow' | 'workflowSchema'> {
  /** Functions for pipelines: reading texts recorded with runs, and formatting. */
  readonly dot: Pick<DotDialect, 'readSavedDot' | 'formatDot'>;
  readonly nodeTypes: readonly NodeType[];
  readonly options: Pick<ReadOptions, 'nodeTypes' | 'permissions' | 'checkpoint' | 'redact'>;
  /** Whether workflows passed as text are allowed at all. */
  readonly allowsInline: boolean;
}

/** Loads the dialects. @throws CONFIG_INVALID a permission cannot be parsed */
export async function loadFileDialects(config: FoundConfig, allow: readonly string[]): Promise<FileDialects> {
  const [dialect, pipelines, { builtInBlocks }, { stageAgent }] = await Promise.all([
    import('../../dialects/yaml/index.ts'),
    import('../../dialects/dot/read-dot.ts'),
    import('./built-in-blocks.ts'),
    import('../../agents/stage/stage-agent.ts'),
  ]);
  const { checkpoint, redact, nodeTypes: own } = config;
  const nodeTypes = builtInBlocks(own);
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
    readSavedDot: (text, options) => dialect.readSavedDot(text, { ...options, agent }),
  };
}
