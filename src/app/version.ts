/** The version of this package. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Written in by the build. A built file may be bundled into another program, where no `package.json` of ours is near. */
declare const builtVersion: string | undefined;

let version: string | undefined;

export function readVersion(): string {
  if (typeof builtVersion === 'string') return builtVersion;
  version ??= (JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as { version: string })
    .version;
  return version;
}
