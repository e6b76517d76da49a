/** The types of the doors: written by tsc, file by file; those that no door leads to are omitted. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const ending = '.d.ts';
const relativeImport = /(?:from |import\(|import )['"](\.[^'"]+)\.[jt]s['"]/g;

/** All files of types that a door leads to. */
function followImports(doors: readonly string[]): ReadonlySet<string> {
  const found = new Set(doors);
  for (const path of found) {
    for (const [, target = ''] of readFileSync(path, 'utf8').matchAll(relativeImport))
      found.add(resolve(dirname(path), `${target}${ending}`));
  }
  return found;
}

/**
 * @param doors - paths of the doors in src without an ending
 * @throws Error a declaration cannot be written: an export needs an explicit type
 */
export function buildTypes(root: string, folder: string, doors: readonly string[]): void {
  // Types are checked by `npm run check`. Here each file's declarations are written from it alone.
  const args = ['-p', 'tsconfig.build.json', '--emitDeclarationOnly', '--noCheck', '--outDir', folder];
  const { status } = spawnSync(join(root, 'node_modules/.bin/tsc'), args, { cwd: root, stdio: 'inherit' });
  if (status !== 0) throw new Error('tsc failed');
  const needed = followImports(doors.map((door) => join(folder, `${door}${ending}`)));
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const file = join(folder, path);
    if (path.endsWith(ending) && !needed.has(file)) rmSync(file);
  }
}
