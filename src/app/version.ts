/** The version of this package. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

let known: string | undefined;

/** Read when first asked for; the package's own file is as far away from the source as from what is built of it. */
export function readVersion(): string {
  known ??= (JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as { version: string })
    .version;
  return known;
}
