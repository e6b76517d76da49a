/** Texts of files. Workflows, scenarios, settings and inputs are read in this one way, so that none is changed in silence. */
import { isUtf8 } from 'node:buffer';
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

/** Larger files are not read as texts. */
export const textBytesMax: number = 5 * 1024 * 1024;

/**
 * The text of a file that stands in a folder of somebody. A pipe, which would wait for a writer, and a device, which may never end, are
 * refused: an unpacked archive can hold both.
 * @throws Error it is no regular file, is too large, is no UTF-8, or the system's error
 */
export function readRegularText(path: string): string {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = fstatSync(descriptor);
    if (!found.isFile()) throw new Error('it is not a file');
    if (found.size > textBytesMax) throw new Error(`it has ${found.size} bytes, over the limit of ${textBytesMax}`);
    return decodeText(readFileSync(descriptor));
  } finally {
    closeSync(descriptor);
  }
}

/** @throws Error that names the first line that is no UTF-8: read as such, it would hold other characters than were written */
export function decodeText(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  let line = 1;
  for (let at = 0; ; line += 1) {
    const end = bytes.indexOf(0x0a, at);
    if (end < 0 || !isUtf8(bytes.subarray(at, end))) break;
    at = end + 1;
  }
  throw new Error(`line ${line} is no UTF-8: save the file as UTF-8`);
}
