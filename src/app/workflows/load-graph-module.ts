/** Finds the graph that a TypeScript or JavaScript module exports, compiled or not: the store is that of the command. */
import { extname, isAbsolute, relative, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CairnError } from '../../errors.ts';
import type { Graph } from '../../graph/graph.ts';
import { graphOf } from '../../graph/runnable-graph.ts';
import { importModule } from '../process/import-module.ts';
import { requireFile, unreadable } from './unreadable-file.ts';

const extensions: readonly string[] = ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs'];
/** Names of exports that are preferred. */
const preferred: readonly string[] = ['graph', 'workflow', 'default'];

export interface GraphModule {
  readonly graph: Graph;
  /** Absolute path of the module. */
  readonly path: string;
  /** Path of the module, with `/`: relative to the root if it is below it, else absolute. */
  readonly source: string;
  readonly exportName: string;
}

function isBuilder(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'toGraph' in value && typeof value.toGraph === 'function';
}

/** The line of a file that an error came from, as far as its stack tells. */
function lineOf(error: Error, path: string): number | undefined {
  const escaped = [path, pathToFileURL(path).href].map((place) => place.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const match = new RegExp(`(?:${escaped.join('|')}):(\\d+)`).exec(error.stack ?? '');
  return match?.[1] === undefined ? undefined : Number(match[1]);
}

/** Explains an error of a module that was being imported. An error of Cairn, such as an invalid graph, stays, with its line added. */
function explainImport(error: unknown, path: string, file: string): unknown {
  if (CairnError.is(error, 'CONFIG_INVALID') && error.data['path'] === undefined) {
    const line = lineOf(error, path);
    return line === undefined ? error : new CairnError(error.code, { ...error.data, path: `${file}:${line}` });
  }
  if (CairnError.is(error)) return error;
  if (!(error instanceof Error)) return unreadable(file, `it threw ${String(error)}`, { cause: error });
  const reason = error.message.split('\n').find((text) => text.trim() !== '') ?? '';
  const line = lineOf(error, path);
  return unreadable(file, `${error.name}: ${reason.trim()}`, { cause: error, ...(line !== undefined && { line }) });
}

/** Names of the exports that are graphs to run. What is compiled is meant to be run; what is not may be a part of it. */
function graphNames(module: Readonly<Record<string, unknown>>): readonly string[] {
  const all = Object.keys(module);
  const compiled = all.filter((name) => !isBuilder(module[name]) && graphOf(module[name]) !== undefined);
  return compiled.length > 0 ? compiled : all.filter((name) => isBuilder(module[name]));
}

function pickExport(
  module: Readonly<Record<string, unknown>>,
  file: string,
  exportName: string | undefined,
): { readonly graph: Graph; readonly exportName: string } {
  const names = graphNames(module);
  const wanted =
    exportName ?? preferred.find((name) => names.includes(name)) ?? (names.length === 1 ? names[0] : undefined);
  const graph = wanted === undefined ? undefined : graphOf(module[wanted]);
  if (wanted !== undefined && graph !== undefined) return { graph, exportName: wanted };
  if (names.length === 0) throw unreadable(file, 'it exports no graph, workflow or flow');
  if (exportName !== undefined) throw unreadable(file, `it exports no graph ${exportName}, but ${names.join(', ')}`);
  throw new CairnError('USAGE_INVALID', {
    reason: `${file} exports several graphs: ${names.join(', ')}`,
    hint: `Name one of them: --export ${names[0] ?? ''}`,
  });
}

/**
 * Imports a module and returns the graph that it exports: the named one; else `graph`, `workflow` or the default export; else the only one.
 * What is not compiled counts where nothing compiled is exported, or by its name.
 *
 * @param root - folder for relative paths
 * @throws GRAPH_PARSE the file does not exist, has an error (with its line) or exports no graph; GRAPH_INVALID as the module threw it;
 * USAGE_INVALID it exports several graphs
 */
export async function loadGraphModule(root: string, file: string, exportName?: string): Promise<GraphModule> {
  const { module, path } = await importGraphs(root, file);
  const below = relative(root, path);
  const isBelow = !below.startsWith('..') && !isAbsolute(below);
  return { ...pickExport(module, file, exportName), path, source: isBelow ? below.split(sep).join('/') : path };
}

/** All graphs that a module exports, each once. @throws as {@link loadGraphModule}, but several are no error */
export async function loadGraphsOf(root: string, file: string): Promise<readonly Graph[]> {
  const { module } = await importGraphs(root, file);
  const graphs = [...new Set(graphNames(module).flatMap((name) => graphOf(module[name]) ?? []))];
  return graphs.length > 0 ? graphs : [pickExport(module, file, undefined).graph];
}

async function importGraphs(
  root: string,
  file: string,
): Promise<{ readonly path: string; readonly module: Readonly<Record<string, unknown>> }> {
  const path = resolve(root, file);
  requireFile(path, file);
  if (!extensions.includes(extname(path)))
    throw unreadable(file, `a workflow ends with .yaml or .yml, a module with ${extensions.join(', ')}`);
  try {
    return { path, module: await importModule(pathToFileURL(path).href) };
  } catch (error) {
    throw explainImport(error, path, file);
  }
}
