/** Writes a file atomically: afterwards it is complete, or as it was before. Durable when the promise resolves. */
import { createHash, randomBytes } from 'node:crypto';
import { basename, dirname } from 'node:path';
import { describeFileError, files, holdFolder, type IsGranted } from './files.ts';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';

export interface AtomicWrite {
  readonly path: string;
  readonly bytes: Uint8Array;
  /** File mode. Default: that of the file being replaced, else 0o666 minus the umask. */
  readonly mode?: number | undefined;
  /** Part of the temporary file's name, so that a file that remains after a crash is recognised as ours. */
  readonly key: string;
  /** Whether to fail with EEXIST if the file exists. Default false. */
  readonly isExclusive?: boolean;
  /** Checks the place that is written to. */
  readonly isGranted?: IsGranted;
}

/**
 * Writes a temporary file next to the target, flushes it, and renames it to the target. A failure before the rename says that nothing
 * happened.
 */
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

/** Links the file into place. Unlike a rename, a link never replaces an existing file. */
async function linkInto(temporary: string, path: string): Promise<void> {
  await (await files()).link(temporary, path);
  await (await files()).rm(temporary);
}

/** Removes temporary files of a killed attempt with this key. */
export async function removeLeftovers(place: Pick<AtomicWrite, 'path' | 'isGranted'>, key: string): Promise<void> {
  const { path, isGranted } = place;
  const { readdir, rm } = await files();
  const folder = await holdFolder(dirname(path), isGranted).catch(() => undefined);
  if (folder === undefined) return;
  try {
    const prefix = temporaryPrefix(path, key);
    const names = await readdir(folder.at('.')).catch(() => []);
    const temporaryNames = names.filter((name) => name.startsWith(prefix));
    await Promise.all(temporaryNames.map((name) => rm(folder.at(name), { force: true })));
  } finally {
    await folder.handle.close();
  }
}

/** Prefix of the temporary file's name. A long name is cut to leave room for the rest. */
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
    // The umask may have removed bits from the mode passed to `open`.
    if (mode !== undefined) await file.chmod(mode);
    await file.sync();
  } finally {
    await file.close();
  }
}
