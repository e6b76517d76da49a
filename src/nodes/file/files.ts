/** Node's file functions, loaded on first use, so that programs that never need them start faster. */
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type * as FileCalls from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { constants } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Need } from '../../graph/contracts/node-type.ts';

// Failures of operations on files.

/** Makes a failure from an error of the operating system, with its code. */
export function describeFileError(error: unknown, verb: string, path: string, applied: 'no' | 'unknown'): NodeFailure {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
  return new NodeFailure(`${path} could not be ${verb} (${code})`, { code, applied, data: { path } });
}

/** Makes a failure for a file that is not as required. It says that nothing happened. */
export function fileFailure(code: string, path: string, reason: string): NodeFailure {
  return new NodeFailure(`${path} ${reason}`, { code, applied: 'no', data: { path } });
}

export function files(): Promise<typeof FileCalls> {
  return Promise.resolve(process.getBuiltinModule('node:fs/promises'));
}

// Checks where an open file or folder really is before a byte of it is read or written. A path that was checked may lead elsewhere when it
// is opened, because whoever can write in a folder can replace its links in between.

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
export interface OpenFolder {
  readonly handle: FileHandle;
  /** A path for an entry of the folder. */
  readonly at: (name: string) => string;
}

/**
 * Opens a folder. Missing folders are created, each inside of one that stays open.
 * @param mode - of folders that are created. Default: by the umask
 * @throws NodeFailure PERMISSION_DENIED; the errors of the operating system
 */
export async function holdFolder(folder: string, isGranted: IsGranted, mode?: number): Promise<OpenFolder> {
  const handle = (await openFolder(folder)) ?? (await makeFolder(folder, isGranted, mode));
  try {
    await requireGranted(handle, folder, isGranted);
    return asOpenFolder(handle, folder);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function asOpenFolder(handle: FileHandle, folder: string): OpenFolder {
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
    const path = asOpenFolder(handle, above).at(basename(folder));
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

// Reads a regular file, up to a size limit. Pipes and devices, which could block, are refused.

export interface RegularRead {
  readonly limitBytes: number;
  /** Whether to refuse a symbolic link in the path's last part. Default false. */
  readonly refusesLink?: boolean;
  /** Checks the place that is read. */
  readonly isGranted?: IsGranted;
}

/**
 * Reads a file. All failures say that nothing happened. @throws NodeFailure NOT_A_FILE, FILE_TOO_LARGE, PATH_REFUSED, or the code of the
 * operating system
 */
export async function readRegularFile(
  path: string,
  { limitBytes, refusesLink = false, isGranted }: RegularRead,
): Promise<Buffer> {
  const { open } = await files();
  // Without O_NONBLOCK, opening a pipe would wait for someone to write to it.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | (refusesLink ? constants.O_NOFOLLOW : 0);
  const file = await open(path, flags).catch((error: unknown) => {
    if (refusesLink && (error as NodeJS.ErrnoException).code === 'ELOOP')
      throw fileFailure('PATH_REFUSED', path, 'is a symbolic link');
    throw describeFileError(error, 'read', path, 'no');
  });
  try {
    await requireGranted(file, path, isGranted);
    const stats = await file.stat();
    if (!stats.isFile()) throw fileFailure('NOT_A_FILE', path, 'is no file');
    if (stats.size > limitBytes) throw fileFailure('FILE_TOO_LARGE', path, `is over the limit of ${limitBytes} bytes`);
    const bytes = await file.readFile();
    if (bytes.length > limitBytes)
      throw fileFailure('FILE_TOO_LARGE', path, `is over the limit of ${limitBytes} bytes`);
    return bytes;
  } catch (error) {
    throw error instanceof NodeFailure ? error : describeFileError(error, 'read', path, 'no');
  } finally {
    await file.close();
  }
}
