/**
 * Files that commands write. A file is complete and readable by its owner only before it gets its name, and no symbolic link is written
 * through. A pipe or device (`/dev/stdout`) is written into: a file put in its place would never reach its reader.
 */
import { randomBytes } from 'node:crypto';
import { closeSync, fchmodSync, fsyncSync, lstatSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { CairnError } from '../errors.ts';
import { fileFault } from './file-fault.ts';
import { writeAll } from './write-out.ts';

/** A file that is being written. One of `commit` and `abandon` must be called. All throw USAGE_INVALID. */
export interface OwnFile {
  write(text: string): void;
  /** Makes the file durable and gives it its name. */
  commit(): void;
  /** Leaves what was there before. */
  abandon(): void;
}

/** Calls a function that uses the file, and names the file in the error if it fails. */
function reach<Result>(file: string, act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    const reason = `cannot write ${file}: ${fileFault(error, 'write')}`;
    throw new CairnError('USAGE_INVALID', { reason, hint: 'Name another file.' }, { cause: error });
  }
}

/** @throws USAGE_INVALID it is a symbolic link to a file, or to nothing; its folder is not there */
export function openOwnFile(cwd: string, file: string, { keepsMode = false } = {}): OwnFile {
  const path = resolve(cwd, file);
  const found = reach(file, () => statSync(path, { throwIfNoEntry: false }));
  if (found?.isDirectory() === false && !found.isFile()) return openDevice(file, path);
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true) {
    const reason = `cannot write ${file}: it is a symbolic link`;
    throw new CairnError('USAGE_INVALID', { reason, hint: 'Name the file that it leads to, or another one.' });
  }
  const part = `${path}.${process.pid}-${randomBytes(6).toString('hex')}.part`;
  const descriptor = reach(file, () => openSync(part, 'wx', 0o600));
  return {
    write: (text) => reach(file, () => writeAll(descriptor, text)),
    commit: () =>
      reach(file, () => {
        if (keepsMode && found !== undefined) fchmodSync(descriptor, found.mode & 0o777);
        fsyncSync(descriptor);
        closeSync(descriptor);
        renameSync(part, path);
      }),
    abandon: () => {
      closeQuietly(descriptor);
      rmSync(part, { force: true });
    },
  };
}

function openDevice(file: string, path: string): OwnFile {
  const descriptor = reach(file, () => openSync(path, 'w'));
  const close = (): void => closeQuietly(descriptor);
  return { write: (text) => reach(file, () => writeAll(descriptor, text)), commit: close, abandon: close };
}

/** Closes a descriptor that may be closed already. Nothing else is opened in between. */
function closeQuietly(descriptor: number): void {
  try {
    closeSync(descriptor);
  } catch {
    // It was.
  }
}

/**
 * Writes a text into a file, in place of one that is there.
 * @param options.keepsMode - whether a file that is replaced keeps its mode, as sources should. Default: only its owner can read it
 * @throws USAGE_INVALID
 */
export function writeOwnFile(cwd: string, file: string, text: string, options: { keepsMode?: boolean } = {}): void {
  const opened = openOwnFile(cwd, file, options);
  try {
    opened.write(text);
    opened.commit();
  } catch (error) {
    opened.abandon();
    throw error;
  }
}
