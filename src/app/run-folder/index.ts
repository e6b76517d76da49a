/** A run as a folder of files, for programs. What writes it is loaded on first use. */
import { resolveName, type CheckpointName } from '../../history/read/references.ts';
import type { Store } from '../../ports/store.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';
import { historyOptionNames, openPlace, type HistoryOptions } from '../open-store/open-history.ts';
import type { RunFolder, RunFolderOptions } from './run-folder.ts';

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
  const { writeRunFolder } = await import('./run-folder.ts');
  const place = openPlace(store, options);
  const found = await resolveName(store, place.tenant, name, { byPrefix: options.byPrefix ?? false });
  return writeRunFolder(place, found, folder, options);
}
