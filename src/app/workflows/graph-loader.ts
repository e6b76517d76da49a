/** Finds graphs for commands and runs: in modules, in files, by the names of workflows, and in texts recorded with runs. */
import { dialectOf, isInlineText, type TextWorkflow, type CheckpointSettings } from '../../dialects/text-workflow.ts';
import type { Permissions } from '../../graph/permissions/permissions.ts';
import { CairnError, commandText } from '../../errors.ts';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, extname, join, resolve, sep } from 'node:path';
import { decodeText, textBytesMax } from '../process/decode-text.ts';
import type { RunMeta } from '../../engine/api.ts';
import type { Violation, Graph } from '../../graph/graph.ts';
import type { LoadedGraph } from '../../operations/contract/operation.ts';
import type { KnownWorkflow } from '../../operations/contract/workflows.ts';
import { findWorkflowFiles, isWorkflowFile } from './find-workflow-files.ts';
import { loadGraphModule, loadGraphsOf } from './load-graph-module.ts';
import { sourceFrom, textsBeside, type WorkflowCatalog } from './workflow-catalog.ts';
import type { FileDialects } from './file-dialects.ts';
import { requireFile, unreadable } from './unreadable-file.ts';

// Dialects written as text, and how a text recorded with a run is read.

export interface SavedTextOptions {
  /** `inline`: the text is checked against the permissions, whatever was recorded with it. */
  readonly origin?: 'inline';
  /** Default: those of this process. */
  readonly permissions?: Permissions;
  /** Whether faults are reported of all texts that it carries. Default: of those that it surely may run. */
  readonly checksCarried?: boolean;
}

/** The part of a dialect that runs need. */
export interface TextDialect {
  /** Reads the workflow in a text recorded with a run. @throws GRAPH_PARSE, GRAPH_INVALID, PERMISSION_DENIED */
  readonly readSaved: (text: string, options?: SavedTextOptions) => TextWorkflow;
}

/** Dialects by the name with which their recorded texts begin. Each is opened on first use. */
export type TextDialects = Readonly<Record<string, () => Promise<TextDialect>>>;

/**
 * Reads a recorded text in the dialect that it was written in. @throws GRAPH_PARSE the dialect is not known here, or the text is damaged;
 * GRAPH_INVALID, PERMISSION_DENIED
 */
export async function readSavedText(
  dialects: TextDialects,
  text: string,
  options: SavedTextOptions = {},
): Promise<TextWorkflow> {
  const name = dialectOf(text);
  const open = name !== undefined && Object.hasOwn(dialects, name) ? dialects[name] : undefined;
  if (open !== undefined) return (await open()).readSaved(text, options);
  const known = Object.keys(dialects).join(', ');
  const reason = name === undefined ? 'it names no dialect' : `its dialect ${name} is not known here (known: ${known})`;
  throw new CairnError('GRAPH_PARSE', { file: 'the text kept with the run', reason });
}

export interface GraphLoaderOptions {
  /** Folder for relative paths. */
  readonly cwd: string;
  /** Whether paths are recorded relative to the folder, so that they move together with its store. */
  readonly isMovable: boolean;
  /**
   * What is believed of the store's rows. Default `own`: all. `server`: others may write them, so a recorded text counts as a file's only if
   * a file here gives the same text, and a module, or the file of a schedule, is loaded only from this folder, or if the configuration names
   * it. `foreign`: somebody else made the file, so nothing of the operator's is started by name, unless that is granted.
   */
  readonly store?: StoreTrust;
  /** Whether the configuration names this module. */
  readonly isModuleNamed: (source: string) => boolean;
  /** Opens the dialects of files. */
  readonly openDialect: () => Promise<FileDialects>;
  /** Dialects of texts recorded with runs. */
  readonly dialects: TextDialects;
  readonly openCatalog: () => Promise<WorkflowCatalog>;
}

export type StoreTrust = 'own' | 'server' | 'foreign';

export interface GraphLoader {
  readonly savedSource: (source: string) => string;
  readonly loadGraph: (file: string, exportName?: string) => Promise<LoadedGraph>;
  /** All graphs of a module, that of a workflow file, or those of the workflow files in a folder. */
  readonly loadGraphs: (file: string, exportName?: string) => Promise<readonly Graph[]>;
  /**
   * Loads what a schedule on record names. @throws PERMISSION_DENIED the store is not trusted, and the file is neither of this folder nor
   * named
   */
  readonly loadScheduled: (file: string, exportName?: string) => Promise<LoadedGraph>;
  readonly loadWorkflow: (file: string) => Promise<KnownWorkflow>;
  /** The checkpoint settings in a text recorded with a run; undefined if there are none or the text cannot be read any more. */
  readonly readSettings: (text: string | undefined) => Promise<CheckpointSettings | undefined>;
  /** Whether a text recorded with a run is not somebody else's: of an import, a backup or a client; or a file here gives the same text. */
  readonly isOwnText: (meta: RunMeta, text: string) => Promise<boolean>;
  /** What a text recorded with a run reaches for, a line each. */
  readonly needsOf: (text: string) => Promise<readonly string[]>;
  readonly findGraph: (meta: RunMeta, readText: () => Promise<string | undefined>) => Promise<Graph | undefined>;
  /** @throws CODE_NOT_RUN the run is somebody else's, and may not start this module of the operator's */
  readonly allowModule: (meta: RunMeta, file: string) => Promise<void>;
}

function readFile(cwd: string, file: string): string {
  const path = resolve(cwd, file);
  const { size } = requireFile(path, file);
  if (size > textBytesMax)
    throw unreadable(file, `it has ${size} bytes, over the limit of ${textBytesMax}: keep data in files of its own`);
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

/** Reads a text that is checked against the grants. @param trust - the way to trust it. @throws PERMISSION_DENIED */
async function readUntrusted(dialects: TextDialects, text: string, trust: string): Promise<TextWorkflow> {
  try {
    return await readSavedText(dialects, text, { origin: 'inline' });
  } catch (error) {
    if (!CairnError.is(error, 'PERMISSION_DENIED')) throw error;
    const grant = `a grant that covers it (--allow), or ${trust}`;
    const { violations } = error.data as { readonly violations?: readonly Violation[] };
    const fixable = violations?.map((violation) => ({ ...violation, fix: `start the process with ${grant}` }));
    const data = { ...error.data, grant, ...(fixable && { violations: fixable }) };
    throw new CairnError(error.code, data, { cause: error });
  }
}

/** What a text reaches for: all that is refused where nothing is granted, a line each. */
async function needsOf(dialects: TextDialects, text: string): Promise<readonly string[]> {
  try {
    await readSavedText(dialects, text, { origin: 'inline', permissions: {}, checksCarried: true });
    return [];
  } catch (error) {
    if (!CairnError.is(error)) throw error;
    const { violations } = error.data as { readonly violations?: readonly Violation[] };
    return violations?.map(({ place, message }) => `${place}: ${message}`) ?? [error.message];
  }
}

/** How a text may count as a file's, if the store is not trusted, or the run was restored. */
const waysOnServer = 'resume with the file that it was read from (--file), or have it in this folder, as it was';
const waysOfUntrusted = `${waysOnServer}; or, if the store is yours, name it as \`store\` in the configuration of this folder`;
const waysOfRestored =
  'have the file that it was read from in this folder, as it was; or, if the backup is yours, restore it with --trust';

/** A configuration names no server. */
function waysOf(store: StoreTrust, isRestored: boolean): string {
  if (isRestored) return waysOfRestored;
  return store === 'server' ? waysOnServer : waysOfUntrusted;
}

function scheduledElsewhere(file: string): CairnError {
  const need = `${file}, which a schedule of this store names,`;
  const grant = 'the folder of the file as its working folder, or a configuration that names it under modules';
  return new CairnError('PERMISSION_DENIED', { need, grant });
}

interface OwnTextsPlace {
  readonly cwd: string;
  readonly isInside: (path: string) => boolean;
  readonly loadText: (path: string) => Promise<KnownWorkflow>;
  readonly openCatalog: () => Promise<WorkflowCatalog>;
}

/** Whether a file here gives the same text as a run has: the one it was recorded from, one of that name, or a workflow of the folders. */
function ownTexts({
  cwd,
  isInside,
  loadText,
  openCatalog,
}: OwnTextsPlace): (text: string, source: string | undefined) => Promise<boolean> {
  /** Texts that were found. */
  const own = new Set<string>();
  return async (text, source) => {
    const candidates = source === undefined ? [] : [resolve(cwd, source), join(resolve(cwd), basename(source))];
    const files = candidates.filter((path) => isInside(path) && isWorkflowFile(path) && existsSync(path));
    const catalog = await openCatalog();
    const reads = [
      ...files.map((path) => () => loadText(path)),
      ...catalog.list().map((known) => () => Promise.resolve(known)),
    ];
    for (const read of own.has(text) ? [] : reads)
      try {
        if ((await read()).workflow.graph.text === text) own.add(text);
      } catch (error) {
        if (!CairnError.is(error)) throw error;
      }
    return own.has(text);
  };
}

async function settingsIn(dialects: TextDialects, text: string | undefined): Promise<CheckpointSettings | undefined> {
  if (text === undefined) return undefined;
  try {
    return (await readSavedText(dialects, text)).checkpoint;
  } catch (error) {
    if (CairnError.is(error)) return undefined;
    throw error;
  }
}

function textJudge(isOwn: ReturnType<typeof ownTexts>): GraphLoader['isOwnText'] {
  return async ({ isImported, isRestored, source }, text) =>
    !(isImported === true || isRestored === true || isInlineText(text)) || isOwn(text, source);
}

/** Refuses modules of the operator to runs of somebody else, unless they are granted by name. */
function guardModules(
  { cwd, store, openDialect }: GraphLoaderOptions,
  savedSource: GraphLoader['savedSource'],
): GraphLoader['allowModule'] {
  return async ({ isImported, isRestored }, file) => {
    if (isImported !== true && isRestored !== true && store !== 'foreign') return;
    const granted = (await openDialect()).options.permissions?.module ?? [];
    if (granted === true || granted.some((name) => resolve(cwd, name) === resolve(cwd, file))) return;
    const whose = isImported ? 'an imported run' : isRestored ? 'a run from a backup' : 'a run of this store';
    const name = savedSource(file);
    throw new CairnError('CODE_NOT_RUN', {
      what: `${name}, which ${whose} names,`,
      hint: `Name it if you trust it: ${commandText('resume', 'RUN', '--file', name)}. Or grant it: --allow module=${name}`,
    });
  };
}

/** All graphs of a module, that of a workflow file, or those of the workflow files in a folder. */
function loadSeveral(
  cwd: string,
  loadText: (file: string) => Promise<KnownWorkflow>,
  loadGraph: GraphLoader['loadGraph'],
): GraphLoader['loadGraphs'] {
  return async (file, exportName) => {
    if (exportName !== undefined) return [(await loadGraph(file, exportName)).graph];
    const path = resolve(cwd, file);
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) {
      const { files } = findWorkflowFiles(path);
      if (files.length === 0) throw unreadable(file, 'the folder has no workflow files; name a module by its file');
      return Promise.all(files.map(async (one) => (await loadText(one)).workflow.graph));
    }
    if (isWorkflowFile(file) || isName(cwd, file)) return [(await loadGraph(file)).graph];
    return loadGraphsOf(cwd, file);
  };
}

export function createGraphLoader(options: GraphLoaderOptions): GraphLoader {
  const { cwd, isMovable, isModuleNamed, store = 'own', openDialect, dialects, openCatalog } = options;
  const savedSource = (source: string): string =>
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
      return { graph: workflow.graph, source: savedSource(source), workflow };
    }
    const { path, ...loaded } = await loadGraphModule(cwd, file, exportName);
    return { ...loaded, source: savedSource(path) };
  };

  const isInside = (path: string): boolean => resolve(cwd, path).startsWith(`${resolve(cwd)}${sep}`);

  const loadScheduled = async (file: string, exportName?: string): Promise<LoadedGraph> => {
    if (store === 'own' || isName(cwd, file) || isModuleNamed(file) || isInside(file))
      return loadGraph(file, exportName);
    throw scheduledElsewhere(file);
  };

  const isOwn = ownTexts({ cwd, isInside, loadText, openCatalog });
  const allowModule = guardModules(options, savedSource);

  return {
    savedSource,
    loadGraph,
    loadGraphs: loadSeveral(cwd, loadText, loadGraph),
    loadScheduled,
    loadWorkflow,
    readSettings: (text) => settingsIn(dialects, text),
    isOwnText: textJudge(isOwn),
    needsOf: (text) => needsOf(dialects, text),
    allowModule,
    async findGraph(meta, readText) {
      const { source, exportName, isImported = false, isRestored = false } = meta;
      const text = await readText();
      const isTrusted = store === 'own' && !isRestored;
      if (text !== undefined) {
        if (isImported) return (await readUntrusted(dialects, text, 'import the run anew with --trust')).graph;
        if (isTrusted || (await isOwn(text, source))) return (await readSavedText(dialects, text)).graph;
        return (await readUntrusted(dialects, text, waysOf(store, isRestored))).graph;
      }
      if (source === undefined) return undefined;
      await allowModule(meta, source);
      if (store === 'server' && !isModuleNamed(source) && !isInside(source)) return undefined;
      return (await loadGraphModule(cwd, source, exportName)).graph;
    },
  };
}
