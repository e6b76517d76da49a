/** Resolves the path of a file node, and keeps it inside a folder if one is given. */
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import { isInside } from './local-path.ts';
import { files } from './files.ts';

/**
 * With `root`, the path must be relative, without `..`, and no symbolic link may lead out of the folder. A link that someone makes
 * between this check and the use of the path is not seen: keep untrusted writers out of the folder.
 * @returns an absolute path; every existing folder on its way is resolved
 * @throws NodeFailure PATH_REFUSED, before anything is touched
 */
export async function confinePath(path: unknown, root: string | undefined): Promise<string> {
  if (typeof path !== 'string' || path === '') refuse(path, 'is no path');
  if (path.includes('\0')) refuse(path, 'holds a NUL character');
  if (root === undefined) return resolve(path);
  if (isAbsolute(path)) refuse(path, 'is absolute, but must be inside the root');
  if (path.split(/[\\/]/).includes('..')) refuse(path, 'holds `..`');
  const top = await (await files()).realpath(root).catch(() => refuse(root, 'is the root, and does not exist'));
  const real = await resolveExisting(join(top, path));
  if (!isInside(top, real)) refuse(path, 'leads out of the root over a symbolic link');
  return real;
}

/** Resolves the part of a path that exists; what is left is yet to be made. */
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
