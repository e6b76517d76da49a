/** Paths of this machine, as blocks are given them. */
import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type { Need } from '../../graph/contracts/node-type.ts';

/** Absolute; `~/` is the home folder, and what is relative stands in `folder` (default: where the process was started). @throws NodeFailure PATH_REFUSED */
export function resolveLocalPath(path: string, folder: string = process.cwd()): string {
  if (path === '') refuse(path, 'is no path');
  if (path.includes('\0')) refuse(path, 'holds a NUL character');
  if (path === '~' || path.startsWith('~/')) return join(homedir(), path.slice(1));
  return resolve(folder, path);
}

/** An absolute path with the symbolic links on its way resolved, as far as it exists. */
export function resolveLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(resolveLinks(parent), basename(path));
  }
}

/** Whether a path is a folder or lies in it; both absolute. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/**
 * What using a path asks for: the path as it is written, and where symbolic links lead it. So a link inside a folder that is
 * granted opens no other one. A path that is not known yet is a need without one.
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
