/** Texts of files. Workflows, scenarios, settings and inputs are read in this one way, so that none is changed in silence. */
import { isUtf8 } from 'node:buffer';

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
