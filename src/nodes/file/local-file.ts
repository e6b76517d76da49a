/** Changes files of this machine atomically, one change of a file at a time. */
import { dirname } from 'node:path';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import { describeFileError, fileFailure } from './file-failure.ts';
import { files } from './files.ts';
import { writeAtomically, type AtomicWrite } from './write-atomically.ts';
import { resolveLinks } from './local-path.ts';
import { holdFolder, type IsGranted } from './reached-place.ts';

/** For each file that is being changed, a promise for the end of its last change. */
const turns = new Map<string, Promise<unknown>>();

/**
 * Runs a change of a file after all earlier ones have ended, so that changes within this process do not overwrite each other. Changes by
 * other processes are not held back.
 */
export async function changeInTurn<T>(path: string, change: () => Promise<T>): Promise<T> {
  const key = resolveLinks(path);
  const before = turns.get(key) ?? Promise.resolve();
  const own = before.then(change, change);
  turns.set(key, own);
  try {
    return await own;
  } finally {
    if (turns.get(key) === own) turns.delete(key);
  }
}

/** An existing file that is to be overwritten. */
export interface TargetFile {
  readonly mode: number;
}

/**
 * The file at a path; undefined if there is none. Errors say that nothing happened. @throws NodeFailure PATH_REFUSED it is a symbolic link,
 * NOT_A_FILE it is something else, or the code of the operating system
 */
export async function lookAtTarget(path: string): Promise<TargetFile | undefined> {
  const { lstat } = await files();
  const found = await lstat(path).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw describeFileError(error, 'written', path, 'no');
  });
  if (found?.isSymbolicLink() === true) throw fileFailure('PATH_REFUSED', path, 'is a symbolic link');
  if (found?.isFile() === false) throw fileFailure('NOT_A_FILE', path, 'is no file');
  return found && { mode: found.mode & 0o7777 };
}

export interface LocalWrite extends AtomicWrite {
  /** Whether to create missing folders. */
  readonly createParents: boolean;
}

/**
 * Writes a file atomically and durably. @throws NodeFailure the code of the operating system (EEXIST with `isExclusive`, ENOENT without
 * `createParents`)
 */
export async function writeLocalFile({ createParents, ...write }: LocalWrite): Promise<void> {
  if (!createParents) {
    const { stat } = await files();
    await stat(dirname(write.path)).catch((error: unknown) => {
      throw describeFileError(error, 'written', write.path, 'no');
    });
  }
  await writeAtomically(write);
}

/**
 * Creates a folder and all missing folders above it.
 * @param isGranted - checks the places of those that are created, and of the folder itself. Default: all are granted
 * @throws NodeFailure PERMISSION_DENIED, or the code of the operating system
 */
export async function makeFolder(path: string, isGranted?: IsGranted): Promise<void> {
  const { mkdir } = await files();
  const making =
    isGranted === undefined
      ? mkdir(path, { recursive: true })
      : holdFolder(path, isGranted).then(({ handle }) => handle.close());
  await making.catch((error: unknown) => {
    throw error instanceof NodeFailure ? error : describeFileError(error, 'made', path, 'no');
  });
}
