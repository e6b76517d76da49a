/** Reads a pipeline that another one runs, and holds it to what is granted where the file really is, over whatever links. */
import { closeSync, constants, fstatSync, openSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { decodeText } from '../process/decode-text.ts';

const pipelineBytesMax = 20 * 1024 * 1024;

/**
 * The text at a path. What is larger than any pipeline, is no file, or cannot be read, is not there.
 * @param isGranted - asked with the file's own place, once it is open: a link that is flipped meanwhile leads nowhere. Default: all is granted
 */
export function readPipelineFile(path: string, isGranted?: (place: string) => boolean): string | undefined {
  let descriptor: number | undefined;
  try {
    // Without waiting: opening a pipe would wait until somebody writes into it.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = fstatSync(descriptor);
    if (!found.isFile() || found.size > pipelineBytesMax) return undefined;
    if (isGranted !== undefined && !isGranted(placeOf(descriptor, path))) return undefined;
    return decodeText(readFileSync(descriptor));
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Where an open file is. On Linux, /proc tells it; elsewhere the path is resolved again, and must lead to the same file. */
function placeOf(descriptor: number, path: string): string {
  if (process.platform === 'linux') return readlinkSync(`/proc/self/fd/${descriptor}`);
  const place = realpathSync(path);
  const [opened, found] = [fstatSync(descriptor, { bigint: true }), statSync(place, { bigint: true })];
  if (opened.dev !== found.dev || opened.ino !== found.ino) throw new Error(`${path} was replaced while it was opened`);
  return place;
}
