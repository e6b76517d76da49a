/** Files that commands write of runs: for their owner's eyes, and never over another file in silence. */
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { CairnError } from '../errors.ts';
import { fileFault } from './file-fault.ts';

/** @throws USAGE_INVALID there is such a file, and `replaces` was not said; the folder is not there */
export function writeOwnFile(cwd: string, file: string, text: string, { replaces = true } = {}): void {
  try {
    writeFileSync(resolve(cwd, file), text, { mode: 0o600, flag: replaces ? 'w' : 'wx' });
  } catch (error) {
    const reason = `cannot write ${file}: ${fileFault(error, 'write')}`;
    throw new CairnError('USAGE_INVALID', { reason, hint: 'Name another file.' }, { cause: error });
  }
}
