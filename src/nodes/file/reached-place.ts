/**
 * Checks where an open file or folder really is before a byte of it is read or written. A path that was checked may lead elsewhere when it
 * is opened, because whoever can write in a folder can replace its links in between.
 */
import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type { Need } from '../../graph/contracts/node-type.ts';
import { files } from './files.ts';

/** Whether a need is granted. Undefined if the caller is responsible for the path. */
export type IsGranted = ((need: Need) => boolean) | undefined;

/**
 * On Linux, /proc tells where a descriptor leads, and opens paths relative to it. On other systems the path is resolved again and compared.
 */
const hasDescriptors = process.platform === 'linux';

/** Where a descriptor leads. @throws NodeFailure PERMISSION_DENIED the path now leads to another place than the one that was opened */
async function placeOf(handle: FileHandle, path: string): Promise<string> {
  const { readlink, realpath, stat } = await files();
  if (hasDescriptors) return readlink(`/proc/self/fd/${handle.fd}`);
  const place = await realpath(path);
  const [opened, found] = await Promise.all([handle.stat({ bigint: true }), stat(place, { bigint: true })]);
  if (opened.dev !== found.dev || opened.ino !== found.ino) refuse(path);
  return place;
}

/** Checks that an open file is at a granted place. @throws NodeFailure PERMISSION_DENIED it is not; nothing happened */
export async function requireGranted(handle: FileHandle, path: string, isGranted: IsGranted): Promise<void> {
  if (isGranted !== undefined && !isGranted({ kind: 'fs', path: await placeOf(handle, path) })) refuse(path);
}

/** An open folder. While it is in use, it cannot be replaced by a link. */
export interface HeldFolder {
  readonly handle: FileHandle;
  /** A path for an entry of the folder. */
  readonly at: (name: string) => string;
}

/**
 * Opens a folder. Missing folders are created, each inside of one that is held open.
 * @param mode - of folders that are created. Default: by the umask
 * @throws NodeFailure PERMISSION_DENIED; the errors of the operating system
 */
export async function holdFolder(folder: string, isGranted: IsGranted, mode?: number): Promise<HeldFolder> {
  const handle = (await openFolder(folder)) ?? (await makeFolder(folder, isGranted, mode));
  try {
    await requireGranted(handle, folder, isGranted);
    return held(handle, folder);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function held(handle: FileHandle, folder: string): HeldFolder {
  return { handle, at: (name) => join(hasDescriptors ? `/proc/self/fd/${handle.fd}` : folder, name) };
}

/** Opens a folder; undefined if it does not exist. */
async function openFolder(path: string, more = 0): Promise<FileHandle | undefined> {
  const { open } = await files();
  return open(path, constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | more).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  });
}

async function makeFolder(folder: string, isGranted: IsGranted, mode?: number): Promise<FileHandle> {
  const above = dirname(folder);
  const handle = (await openFolder(above)) ?? (await makeFolder(above, isGranted, mode));
  try {
    const place = join(await placeOf(handle, above), basename(folder));
    if (isGranted?.({ kind: 'fs', path: place }) === false) refuse(folder);
    const path = held(handle, above).at(basename(folder));
    await (await files()).mkdir(path, { mode }).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    });
    const made = await openFolder(path, constants.O_NOFOLLOW);
    return made ?? refuse(folder);
  } finally {
    await handle.close();
  }
}

function refuse(path: string): never {
  const reason = `${JSON.stringify(path)} leads to a place that is not granted`;
  throw new NodeFailure(reason, { code: 'PERMISSION_DENIED', applied: 'no', data: { path } });
}
