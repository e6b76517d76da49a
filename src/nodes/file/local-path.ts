/** Resolves paths of this machine that blocks have as inputs. */
import { readlinkSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type { Need } from '../../graph/contracts/node-type.ts';
import { type IsGranted, files, describeFileError, fileFailure, holdFolder } from './files.ts';
import { writeAtomically, type AtomicWrite } from './write-atomically.ts';

/**
 * An absolute path. `~/` is the home folder; a relative path is resolved against `folder` (default: the working directory). @throws
 * NodeFailure PATH_REFUSED
 */
export function resolveLocalPath(path: string, folder: string = process.cwd()): string {
  if (path === '') refuse(path, 'is no path');
  if (path.includes('\0')) refuse(path, 'holds a NUL character');
  if (path === '~' || path.startsWith('~/')) return join(homedir(), path.slice(1));
  return resolve(folder, path);
}

/** How many links that lead to nothing are followed, one behind the other. */
const hopsMax = 40;

/** An absolute path with symbolic links resolved, as far as it exists. A link to something that does not exist is followed too. */
export function resolveLinks(path: string, hops: number = hopsMax): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    if (parent === path) return path;
    const place = join(resolveLinks(parent, hops), basename(path));
    const target = hops > 0 ? targetOf(place) : undefined;
    return target === undefined ? place : resolveLinks(resolve(dirname(place), target), hops - 1);
  }
}

function targetOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

/** Whether a path is a folder or inside of it. Both are absolute. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/**
 * The permissions that a path needs: for the path as written, and for the place that symbolic links lead it to. So a link inside a granted
 * folder does not grant another one. If the path is not known yet, the need has no path.
 */
export function pathNeeds(path: unknown, folder?: string): readonly Need[] {
  if (typeof path !== 'string' || path === '' || path.includes('\0')) return [{ kind: 'fs', path: undefined }];
  const written = resolveLocalPath(path, folder);
  const real = resolveLinks(written);
  return [written, ...(real === written ? [] : [real])].map((path) => ({ kind: 'fs', path }));
}

function refuse(path: unknown, reason: string): never {
  throw new NodeFailure(`${JSON.stringify(path)} ${reason}`, { code: 'PATH_REFUSED', applied: 'no', data: { path } });
}

// Resolves the path of a file node, and keeps it inside of a folder if there is one.

/** A resolved path. It may be used if the place that is then opened passes `isGranted`. */
export interface ConfinedPath {
  /** Absolute path. All folders in it that exist are resolved. */
  readonly path: string;
  /**
   * Checks the place that was really opened, because a link may have been created after the path was resolved. Throws PATH_REFUSED.
   * Undefined without a root.
   */
  readonly isGranted: IsGranted;
}

/**
 * Resolves a path. With `root` it must be relative and without `..`, and no symbolic link in it may lead out of the folder.
 * @param isGrantedOutside - whether the place is granted, over and above that it is inside of the folder. Default: it is
 * @throws NodeFailure PATH_REFUSED, before anything is opened
 */
export async function confinePath(
  path: unknown,
  root: string | undefined,
  isGrantedOutside?: IsGranted,
): Promise<ConfinedPath> {
  if (typeof path !== 'string' || path === '') refuse(path, 'is no path');
  if (path.includes('\0')) refuse(path, 'holds a NUL character');
  if (root === undefined) return { path: resolve(path), isGranted: undefined };
  if (isAbsolute(path)) refuse(path, 'is absolute, but must be inside the root');
  if (path.split(/[\\/]/).includes('..')) refuse(path, 'holds `..`');
  const top = await (await files()).realpath(root).catch(() => refuse(root, 'is the root, and does not exist'));
  const real = await resolveExisting(join(top, path));
  const isGranted = (need: Need): boolean =>
    isGrantedOutside?.(need) !== false &&
    ((need.kind === 'fs' && need.path !== undefined && isInside(top, need.path)) ||
      refuse(path, 'leads out of the root over a symbolic link'));
  if (!isGranted({ kind: 'fs', path: real })) refuse(path, 'leads to a place that is not granted');
  return { path: real, isGranted };
}

/** Resolves the part of a path that exists, and adds the rest. */
async function resolveExisting(path: string): Promise<string> {
  try {
    return await (await files()).realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const parent = dirname(path);
    return parent === path ? path : join(await resolveExisting(parent), basename(path));
  }
}

// Changes files of this machine atomically, one change of a file at a time.

/** For each file that is being changed, a promise for the end of its last change. */
const turns = new Map<string, Promise<unknown>>();

/**
 * Runs a change of a file after all earlier ones have ended, so that changes within this process do not overwrite each other. Changes by
 * other processes are not hindered.
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
