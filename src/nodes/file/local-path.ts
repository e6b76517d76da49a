/** Resolves paths of this machine that are given to blocks. */
import { readlinkSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type { Need } from '../../graph/contracts/node-type.ts';

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

function refuse(path: string, reason: string): never {
  throw new NodeFailure(`${JSON.stringify(path)} ${reason}`, { code: 'PATH_REFUSED', applied: 'no', data: { path } });
}
