/** The doors of the package, for tests of what pages show: they are read as a user writes them, and run from the source. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
};

/** The file in the source behind each name that a user imports. */
export const packageDoors: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(exports).flatMap(([name, door]) =>
    typeof door === 'string'
      ? []
      : [[join('cairn-workflows', name), join(root, door.default.replace('./dist/', 'src/').replace(/\.js$/u, '.ts'))]],
  ),
);
