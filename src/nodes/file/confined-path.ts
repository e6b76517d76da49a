/** Resolves the path of a file node, and keeps it inside of a folder if one is given. */
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type { Need } from '../../graph/contracts/node-type.ts';
import { isInside } from './local-path.ts';
import type { IsGranted } from './reached-place.ts';
import { files } from './files.ts';

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

function refuse(path: unknown, reason: string): never {
  throw new NodeFailure(`${JSON.stringify(path)} ${reason}`, { code: 'PATH_REFUSED', applied: 'no', data: { path } });
}
