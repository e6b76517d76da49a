/** The version of this package. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Read when asked for; the package's own file is as far away from the source as from what is built of it. */
export function readVersion(): string {
  const text = readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}
