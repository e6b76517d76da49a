/**
 * Writes to standard output and standard error without Node's streams where these are not terminals: making a stream costs
 * more time than listing runs.
 */
import { fstatSync, writeSync } from 'node:fs';

const retryMs = 5;

/** Whether a descriptor may be a terminal; only then is a stream worth its making. */
export function mayBeTerminal(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isCharacterDevice();
  } catch {
    return false;
  }
}

/** A reader that went away (`| head`) is no fault: the process ends quietly. */
function endWithoutReader(error: unknown): never {
  if ((error as NodeJS.ErrnoException).code === 'EPIPE') process.exit(process.exitCode ?? 0);
  throw error;
}

/** Writes all of a text at once; waits for a reader that is slower. */
function writeAll(descriptor: number, text: string): void {
  let bytes = Buffer.from(text);
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(writeSync(descriptor, bytes));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') endWithoutReader(error);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs);
    }
  }
}

/** A function that writes to a descriptor, 1 or 2. */
export function openWriter(descriptor: 1 | 2): (text: string) => void {
  if (!mayBeTerminal(descriptor)) return (text) => writeAll(descriptor, text);
  const stream = descriptor === 1 ? process.stdout : process.stderr;
  stream.on('error', endWithoutReader);
  return (text) => void stream.write(text);
}
