/** The version of this package. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

let known: string | undefined;

/** Read on first use. The package's own file is equally far from the sources and from the built files. */
export function readVersion(): string {
  known ??= (JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as { version: string })
    .version;
  return known;
}
