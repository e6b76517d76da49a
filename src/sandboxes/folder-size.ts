/**
 * How much room a sandbox takes, measured while its commands run: they may move, replace and hide what is measured, so each folder is held
 * open while it is read, no link is followed, and what cannot be read counts as more than any quota.
 */
import { constants, existsSync } from 'node:fs';
import { lstat, open, readdir, readlink, stat } from 'node:fs/promises';

const hasDescriptors = existsSync('/proc/self/fd');
/** Folders deeper than this are read as unmeasurable: each level keeps a descriptor open. */
const maxDepth = 100;

/**
 * Bytes that the files below a folder take on the disk.
 * @returns Infinity: a folder in it may not be read, or is more than 100 deep
 */
export async function sizeOfFolder(folder: string | Buffer, depth = 0): Promise<number> {
  if (depth > maxDepth) return Number.POSITIVE_INFINITY;
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW).catch(
    (error: NodeJS.ErrnoException) => error.code,
  );
  if (typeof handle === 'string' || handle === undefined)
    return ['EACCES', 'EPERM', 'ENAMETOOLONG'].includes(handle ?? '') ? Number.POSITIVE_INFINITY : 0;
  try {
    // By its descriptor the folder stays the same, whatever now stands at its path.
    const held = Buffer.from(hasDescriptors ? `/proc/self/fd/${handle.fd}/` : `${folder.toString()}/`);
    let bytes = 0;
    // Names are bytes: one that is no UTF-8 takes room too.
    for (const entry of await readdir(held, { withFileTypes: true, encoding: 'buffer' })) {
      const path = Buffer.concat([held, entry.name]);
      bytes += entry.isDirectory() ? await sizeOfFolder(path, depth + 1) : await blockBytes(lstat(path));
    }
    return bytes;
  } catch {
    // It was removed while it was read.
    return 0;
  } finally {
    await handle.close();
  }
}

/**
 * Bytes of files that were removed and are still open in a process of a sandbox: they stand in no folder, and take room until they are closed.
 * @param namespace - the number of the sandbox's process namespace
 * @param folder - whose file system is meant
 */
export async function sizeOfRemoved(namespace: number, folder: string): Promise<number> {
  const { dev } = await stat(folder);
  const sizes = new Map<number, number>();
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/u.test(pid)) continue;
    const own = await readlink(`/proc/${pid}/ns/pid`).catch(() => undefined);
    if (own !== `pid:[${namespace}]`) continue;
    for (const descriptor of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const file = await stat(`/proc/${pid}/fd/${descriptor}`).catch(() => undefined);
      if (file?.isFile() === true && file.nlink === 0 && file.dev === dev) sizes.set(file.ino, file.blocks * 512);
    }
  }
  return [...sizes.values()].reduce((sum, size) => sum + size, 0);
}

const blockBytes = (found: Promise<{ readonly blocks: number }>): Promise<number> =>
  found.then(
    ({ blocks }) => blocks * 512,
    () => 0,
  );
