/** Files that commands read as texts. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { decodeText } from '../app/process/decode-text.ts';
import { CairnError } from '../errors.ts';
import { fileFault } from './file-fault.ts';

/** @throws USAGE_INVALID it cannot be read; GRAPH_PARSE it is no text in UTF-8 */
export function readTextFile(cwd: string, file: string): string {
  const bytes = bytesOf(cwd, file);
  try {
    return decodeText(bytes);
  } catch (error) {
    throw new CairnError('GRAPH_PARSE', { file, reason: (error as Error).message }, { cause: error });
  }
}

function bytesOf(cwd: string, file: string): Buffer {
  try {
    return readFileSync(resolve(cwd, file));
  } catch (error) {
    const reason = `cannot read ${file}: ${fileFault(error, 'read')}`;
    throw new CairnError('USAGE_INVALID', { reason, hint: 'Name another file.' }, { cause: error });
  }
}
