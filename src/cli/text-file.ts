/** Files that commands read as texts. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { CairnError } from '../errors.ts';
import { fileFault } from './file-fault.ts';

/** @throws USAGE_INVALID it cannot be read */
export function readTextFile(cwd: string, file: string): string {
  try {
    return readFileSync(resolve(cwd, file), 'utf8');
  } catch (error) {
    const reason = `cannot read ${file}: ${fileFault(error, 'read')}`;
    throw new CairnError('USAGE_INVALID', { reason, hint: 'Name another file.' }, { cause: error });
  }
}
