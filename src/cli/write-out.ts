/**
 * Writes to standard output and standard error without Node's streams where these are not terminals: making a stream costs
 * more time than listing runs.
 */
import { fstatSync, writeSync } from 'node:fs';
import { errorTable } from '../errors.ts';

const retryMs = 5;

/** Whether a descriptor may be a terminal; only then is a stream worth its making. */
export function mayBeTerminal(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isCharacterDevice();
  } catch {
    return false;
  }
}

/** A reader that went away (`| head`) is no fault: the process ends quietly. Where nothing can be written, nothing more can be told. */
function endUnwritten(error: unknown, descriptor: 1 | 2): never {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'EPIPE') process.exit(process.exitCode ?? 0);
  try {
    if (descriptor === 1) writeAll(2, `cairn: the output cannot be written: ${message}\n`);
  } finally {
    process.exit(errorTable.STORE_FULL.exit);
  }
}

/** Writes all of a text at once; waits for a reader that is slower. @throws what the system says */
export function writeAll(descriptor: number, text: string): void {
  let bytes = Buffer.from(text);
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(writeSync(descriptor, bytes));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs);
    }
  }
}

/** A function that writes to a descriptor, 1 or 2. */
export function openWriter(descriptor: 1 | 2): (text: string) => void {
  if (!mayBeTerminal(descriptor))
    return (text) => {
      try {
        writeAll(descriptor, text);
      } catch (error) {
        endUnwritten(error, descriptor);
      }
    };
  const stream = descriptor === 1 ? process.stdout : process.stderr;
  stream.on('error', (error) => endUnwritten(error, descriptor));
  return (text) => void stream.write(text);
}
