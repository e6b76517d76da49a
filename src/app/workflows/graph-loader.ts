/** Finds graphs for commands and runs: in modules, in files, by the names of workflows, and in texts recorded with runs. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, extname, resolve } from 'node:path';
import { decodeText } from '../process/decode-text.ts';
import type { RunMeta } from '../../engine/api.ts';
import type { CheckpointSettings } from '../../dialects/text-workflow.ts';
import { CairnError } from '../../errors.ts';
import type { Graph } from '../../graph/graph.ts';
import type { LoadedGraph } from '../../operations/declare/operation.ts';
import type { KnownWorkflow } from '../../operations/declare/workflows.ts';
import { fileBytesMax, isWorkflowFile } from './find-workflow-files.ts';
import { loadGraphModule } from './load-graph-module.ts';
import { sourceFrom, textsBeside, type WorkflowCatalog } from './workflow-catalog.ts';
import { readKeptText, type TextDialects } from './text-dialects.ts';
import type { FileDialects } from './file-dialects.ts';
import { requireFile, unreadable } from './unreadable-file.ts';

export interface GraphLoaderOptions {
  /** Folder for relative paths. */
  readonly cwd: string;
  /** Whether paths are recorded relative to the folder, so that they move together with its store. */
  readonly isMovable: boolean;
  /** Opens the dialects of files. */
  readonly openDialect: () => Promise<FileDialects>;
  /** Dialects of texts recorded with runs. */
  readonly dialects: TextDialects;
  readonly openCatalog: () => Promise<WorkflowCatalog>;
}

export interface GraphLoader {
  readonly keptSource: (source: string) => string;
  readonly loadGraph: (file: string, exportName?: string) => Promise<LoadedGraph>;
  readonly loadWorkflow: (file: string) => Promise<KnownWorkflow>;
  /** The checkpoint settings in a text recorded with a run; undefined if there are none or the text cannot be read any more. */
  readonly readSettings: (text: string | undefined) => Promise<CheckpointSettings | undefined>;
  readonly findGraph: (meta: RunMeta, readText: () => Promise<string | undefined>) => Promise<Graph | undefined>;
}

function readFile(cwd: string, file: string): string {
  const path = resolve(cwd, file);
  const { size } = requireFile(path, file);
  if (size > fileBytesMax)
    throw unreadable(file, `it has ${size} bytes, over the limit of ${fileBytesMax}: keep data in files of its own`);
  try {
    return decodeText(readFileSync(path));
  } catch (error) {
    throw unreadable(file, (error as Error).message, { cause: error });
  }
}

/** Whether an argument that may be a file can only be the name of a workflow. */
function isName(cwd: string, file: string): boolean {
  return extname(file) === '' && !file.includes('/') && !existsSync(resolve(cwd, file));
}

export function createGraphLoader(options: GraphLoaderOptions): GraphLoader {
  const { cwd, isMovable, openDialect, dialects, openCatalog } = options;
  const keptSource = (source: string): string =>
    isMovable ? sourceFrom(cwd, resolve(cwd, source)) : resolve(cwd, source);

  const loadText = async (file: string): Promise<KnownWorkflow> => {
    const text = readFile(cwd, file);
    const path = resolve(cwd, file);
    const [dialect, catalog] = await Promise.all([openDialect(), openCatalog()]);
    const workflows = textsBeside(dirname(path), cwd, catalog.texts);
    const workflow = dialect.readWorkflow(text, { ...dialect.options, workflows, source: sourceFrom(cwd, path) });
    return { workflow, source: sourceFrom(cwd, path) };
  };

  const loadWorkflow = async (file: string): Promise<KnownWorkflow> => {
    if (isName(cwd, file)) return (await openCatalog()).get(file);
    if (!isWorkflowFile(file))
      throw unreadable(
        file,
        'a workflow is a file that ends with .yaml, .yml, .dot or .gv; the graph of a module is shown by cairn draw',
      );
    return loadText(file);
  };

  const loadGraph = async (file: string, exportName?: string): Promise<LoadedGraph> => {
    if (exportName === undefined && (isWorkflowFile(file) || isName(cwd, file))) {
      const { workflow, source } = await loadWorkflow(file);
      return { graph: workflow.graph, source: keptSource(source), workflow };
    }
    const { path, ...loaded } = await loadGraphModule(cwd, file, exportName);
    return { ...loaded, source: keptSource(path) };
  };

  return {
    keptSource,
    loadGraph,
    loadWorkflow,
    async readSettings(text) {
      if (text === undefined) return undefined;
      try {
        return (await readKeptText(dialects, text)).checkpoint;
      } catch (error) {
        if (CairnError.is(error)) return undefined;
        throw error;
      }
    },
    async findGraph({ source, exportName }, readText) {
      const text = await readText();
      if (text !== undefined) {
        return (await readKeptText(dialects, text)).graph;
      }
      return source === undefined ? undefined : (await loadGraphModule(cwd, source, exportName)).graph;
    },
  };
}
