/** Writes a file so that it is there whole, or as it was before; durable when it resolves. */
import { createHash, randomBytes } from 'node:crypto';
import { basename, dirname } from 'node:path';
import { describeFileError } from './file-failure.ts';
import { files } from './files.ts';
import { holdFolder, type IsGranted } from './reached-place.ts';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';

export interface AtomicWrite {
  readonly path: string;
  readonly bytes: Uint8Array;
  /** Default: that of the file it replaces, else 0o666 less the umask. */
  readonly mode?: number | undefined;
  /** Names the temporary file, so that one left by a crash is known to be ours. */
  readonly key: string;
  /** Fail with EEXIST if the file is there by then. Default false. */
  readonly isExclusive?: boolean;
  /** Asked for the place that is written to. */
  readonly isGranted?: IsGranted;
}

/** A temporary file beside the target, flushed, then renamed over it. A failure before the rename says that nothing happened. */
export async function writeAtomically(write: AtomicWrite): Promise<void> {
  const { path, bytes, mode, key, isExclusive = false, isGranted } = write;
  const { rename, rm } = await files();
  const folder = await holdFolder(dirname(path), isGranted).catch((error: unknown) => {
    throw error instanceof NodeFailure ? error : describeFileError(error, 'written', path, 'no');
  });
  try {
    const target = folder.at(basename(path));
    const temporary = folder.at(`${temporaryPrefix(path, key)}${randomBytes(6).toString('hex')}.tmp`);
    try {
      await writeDurably(temporary, bytes, mode ?? (await readMode(target)));
      if (isExclusive) await linkInto(temporary, target);
      else await rename(temporary, target);
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => undefined);
      throw describeFileError(error, 'written', path, 'no');
    }
    await folder.handle.sync().catch((error: unknown) => {
      throw describeFileError(error, 'written', path, 'unknown');
    });
  } finally {
    await folder.handle.close();
  }
}

/** A link, unlike a rename, never takes the place of what is there. */
async function linkInto(temporary: string, path: string): Promise<void> {
  await (await files()).link(temporary, path);
  await (await files()).rm(temporary);
}

/** Removes temporary files that an attempt under this key left when it was killed. */
export async function removeLeftovers(place: Pick<AtomicWrite, 'path' | 'isGranted'>, key: string): Promise<void> {
  const { path, isGranted } = place;
  const { readdir, rm } = await files();
  const folder = await holdFolder(dirname(path), isGranted).catch(() => undefined);
  if (folder === undefined) return;
  try {
    const prefix = temporaryPrefix(path, key);
    const names = await readdir(folder.at('.')).catch(() => []);
    const left = names.filter((name) => name.startsWith(prefix));
    await Promise.all(left.map((name) => rm(folder.at(name), { force: true })));
  } finally {
    await folder.handle.close();
  }
}

/** A long name keeps room for what is put before and after it. */
function temporaryPrefix(path: string, key: string): string {
  return `.${Buffer.from(basename(path))
    .subarray(0, 150)
    .toString('latin1')
    .replaceAll(/[^\w.-]/g, '_')}.${createHash('sha256').update(key).digest('hex').slice(0, 12)}.`;
}

async function readMode(path: string): Promise<number | undefined> {
  const found = await (await files()).stat(path).catch(() => undefined);
  return found === undefined ? undefined : found.mode & 0o7777;
}

async function writeDurably(path: string, bytes: Uint8Array, mode: number | undefined): Promise<void> {
  const file = await (await files()).open(path, 'wx', mode ?? 0o666);
  try {
    await file.writeFile(bytes);
    // The umask takes bits from what `open` was told.
    if (mode !== undefined) await file.chmod(mode);
    await file.sync();
  } finally {
    await file.close();
  }
}
