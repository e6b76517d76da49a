/** A folder for temporary files of one run: `metadata.tmp`. */
import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CairnError } from '../../../errors.ts';

/**
 * Makes the folder of a workflow in a run, readable by its owner only. It is the same in every attempt and after a resume.
 * @param names - the run's id, and the path of the workflow in it
 * @throws EXPRESSION_FAILED something else has this path, or others may open the folder
 */
export function runFolder(names: readonly string[]): string {
  // Names may hold characters that no file name can.
  const digest = createHash('sha256').update(JSON.stringify(names)).digest('hex').slice(0, 20);
  const path = join(tmpdir(), `cairn-run-${digest}`);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const found = lstatSync(path);
  const { uid, mode } = found;
  const isOwn = found.isDirectory() && uid === (process.getuid?.() ?? uid) && (mode & 0o077) === 0;
  if (isOwn || process.platform === 'win32') return path;
  throw new CairnError('EXPRESSION_FAILED', {
    text: 'metadata.tmp',
    reason: `${path} is not a folder of this user alone: somebody else may read or change what is put there`,
  });
}
