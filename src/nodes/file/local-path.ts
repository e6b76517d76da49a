/** Resolves paths of this machine that are given to blocks. */
import { realpathSync } from 'node:fs';
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

/** An absolute path with symbolic links resolved, as far as it exists. */
export function resolveLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(resolveLinks(parent), basename(path));
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
