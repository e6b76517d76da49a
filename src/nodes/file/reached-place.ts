/**
 * Where an open file or folder really is, held to the grants before a byte of it is read or written. A path that was checked may lead
 * elsewhere when it is used: whoever may write in a folder can turn its links in between.
 */
import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type { Need } from '../../graph/contracts/node-type.ts';
import { files } from './files.ts';

/** Whether a need is granted. Undefined: whoever uses the path answers for it. */
export type IsGranted = ((need: Need) => boolean) | undefined;

/** The system tells where a descriptor leads, and opens paths from it. Elsewhere the path is looked up again and compared. */
const hasDescriptors = process.platform === 'linux';

/** @throws NodeFailure PERMISSION_DENIED what was opened is not where the path led when it is looked at again */
async function placeOf(handle: FileHandle, path: string): Promise<string> {
  const { readlink, realpath, stat } = await files();
  if (hasDescriptors) return readlink(`/proc/self/fd/${handle.fd}`);
  const place = await realpath(path);
  const [opened, found] = await Promise.all([handle.stat({ bigint: true }), stat(place, { bigint: true })]);
  if (opened.dev !== found.dev || opened.ino !== found.ino) refuse(path);
  return place;
}

/** @throws NodeFailure PERMISSION_DENIED it leads to what is not granted; nothing happened */
export async function requireGranted(handle: FileHandle, path: string, isGranted: IsGranted): Promise<void> {
  if (isGranted !== undefined && !isGranted({ kind: 'fs', path: await placeOf(handle, path) })) refuse(path);
}

/** A folder that is held: no link can take its place while it is used. */
export interface HeldFolder {
  readonly handle: FileHandle;
  /** A path of what is in it. */
  readonly at: (name: string) => string;
}

/**
 * Opens a folder, and makes it and those above it where they are missing; each is made in one that is held.
 * @throws NodeFailure PERMISSION_DENIED; or the error of the operating system
 */
export async function holdFolder(folder: string, isGranted: IsGranted): Promise<HeldFolder> {
  const handle = (await openFolder(folder)) ?? (await makeFolder(folder, isGranted));
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

/** @returns undefined if it is not there */
async function openFolder(path: string, more = 0): Promise<FileHandle | undefined> {
  const { open } = await files();
  return open(path, constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | more).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  });
}

async function makeFolder(folder: string, isGranted: IsGranted): Promise<FileHandle> {
  const above = dirname(folder);
  const handle = (await openFolder(above)) ?? (await makeFolder(above, isGranted));
  try {
    const place = join(await placeOf(handle, above), basename(folder));
    if (isGranted?.({ kind: 'fs', path: place }) === false) refuse(folder);
    const path = held(handle, above).at(basename(folder));
    await (await files()).mkdir(path).catch((error: unknown) => {
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
