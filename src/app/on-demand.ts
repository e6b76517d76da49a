/**
 * What the main door offers beside running graphs. The code behind each is loaded on first use, because a program that only compiles graphs
 * does not carry it.
 */
import type { Cairn, CairnOptions } from './cairn.ts';
import type { SimulateOptions, SimulationReport } from './simulate/simulate-pipeline.ts';
import type { BackupOptions, BackupReport } from './backup/back-up.ts';
import type { RestoreOptions, RestoreReport } from './backup/restore.ts';
import { resolveName, type CheckpointName } from '../history/read/tag-checkpoint.ts';
import type { Store } from '../ports/store.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import { historyOptionNames, openPlace, type HistoryOptions } from './open-store/open-history.ts';
import type { RunFolder, RunFolderOptions } from './run-folder/run-folder.ts';
import type { Graph } from '../graph/graph.ts';
import type { PostMortem } from '../history/explain/story.ts';

// The door to what the command line can do. What it loads is loaded when it is opened: a program that only compiles
// graphs does not carry it.

/** Opens a store with the workflows of a folder. @throws CONFIG_INVALID; STORE_* the store cannot be opened */
export async function openCairn(options: CairnOptions = {}): Promise<Cairn> {
  const { openOperations } = await import('./cairn-operations.ts');
  return openOperations(options);
}

// Simulation for programs. The code is loaded on first use.

/**
 * Runs a pipeline in memory; each stage ends as scenarios say. Nothing outside is touched, nothing is stored, and no time passes. Without
 * scenarios, possible ways are explored until nothing new is found.
 * @throws GRAPH_PARSE, GRAPH_INVALID; USAGE_INVALID a scenario names an unknown stage, or one whose ending follows from others;
 * INPUT_INVALID
 */
export async function simulatePipeline(text: string, options: SimulateOptions = {}): Promise<SimulationReport> {
  return (await import('./simulate/simulate-pipeline.ts')).simulatePipeline(text, options);
}

// Backup and restore for programs. The code is loaded on first use, because few programs need it.

/**
 * Makes a backup.
 * @param store - path or URL of a SQLite store
 * @param file - path of the backup, readable by its owner only. It gets its name when it is complete and durable. An existing backup of
 * this name is replaced; any other file is refused
 * @throws CONFIG_INVALID the store is not a SQLite store, or the file is something else; STORE_*
 */
export async function backUp(store: string, file: string, options: BackupOptions = {}): Promise<BackupReport> {
  const made = await import('./backup/back-up.ts');
  return made.backUp(store, file, options);
}

/**
 * Restores a backup. Everything is verified before the store gets its name, so an interrupted restore leaves no store.
 * @param file - a backup made by {@link backUp}
 * @param store - path or URL of the SQLite store to create
 * @throws CONFIG_INVALID there is a store already; STORE_CORRUPT the file is damaged or not a backup; STORE_BUSY the existing store is
 * open; STORE_*
 */
export async function restore(file: string, store: string, options: RestoreOptions = {}): Promise<RestoreReport> {
  const made = await import('./backup/restore.ts');
  return made.restore(file, store, options);
}

// A run as a folder of files, for programs. What writes it is loaded at the first use.

export type { RunFolder, RunFolderOptions };

/**
 * Writes a run, up to a checkpoint, as a folder: manifest, a checkpoint for each node that ended, a folder for each visit, artifacts, and
 * all that happened as lines. For its owner alone, values under names of secrets masked; nothing reads it again.
 * @param folder - it must not be there yet, or be empty
 * @throws USAGE_INVALID it is inside a workspace, is not empty, or cannot be written; RUN_NOT_FOUND, CHECKPOINT_NOT_FOUND and the like
 */
export async function exportFiles(
  store: Store,
  name: CheckpointName,
  folder: string,
  options: HistoryOptions & RunFolderOptions = {},
): Promise<RunFolder> {
  refuseUnknownKeys('exportFiles', options, [...historyOptionNames, 'workspaces']);
  const { writeRunFolder } = await import('./run-folder/run-folder.ts');
  const place = openPlace(store, options);
  const found = await resolveName(store, place.tenant, name, { byPrefix: options.byPrefix ?? false });
  return writeRunFolder(place, found, folder, options);
}

// Pictures and pages for programs: of a graph, and of a run from its post-mortem. What makes them is loaded
// at the first use.

/**
 * A graph as SVG, coloured by what happened if there is a run's post-mortem. Nothing in it can act or refers to anything outside: what
 * anybody wrote is text.
 * @param graph - a compiled graph, or its `structure` as `history.structure` gives it
 */
export async function drawGraph(graph: Graph | Graph['structure'], story?: PostMortem): Promise<string> {
  const [{ pictureOf }, { marksOf }] = await Promise.all([
    import('../dialects/dot/picture/picture.ts'),
    import('../operations/runs/picture-marks.ts'),
  ]);
  return pictureOf('structure' in graph ? graph.structure : graph, story && marksOf(story));
}

/**
 * A post-mortem as one HTML page that needs nothing but itself: no script, no request. Values under names of secrets are masked.
 * @param graph - the graph of the run, which is drawn as {@link drawGraph} does. Default: the page has an outline of the nodes in its place
 */
export async function drawPage(story: PostMortem, graph?: Graph | Graph['structure']): Promise<string> {
  const { storyPage } = await import('./draw/story-page.ts');
  return storyPage(story, graph && (await drawGraph(graph, story)));
}
