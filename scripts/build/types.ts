/** The types of the doors: written by tsc, file by file; those that no door leads to are omitted. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const ending = '.d.ts';
const relativeImport = /(?:from |import\(|import )['"](\.[^'"]+)\.[jt]s['"]/g;
const relativeExport = /^export [^;]*?from ['"](\.[^'"]+)\.[jt]s['"]/gm;

function importsOf(path: string, imports: RegExp): readonly string[] {
  const found = readFileSync(path, 'utf8').matchAll(imports);
  return [...found].map(([, target = '']) => resolve(dirname(path), `${target}${ending}`));
}

/** All files of types that a door leads to, by imports or by exports alone. */
function followImports(doors: readonly string[], imports: RegExp): ReadonlySet<string> {
  const found = new Set(doors);
  for (const path of found) for (const next of importsOf(path, imports)) found.add(next);
  return found;
}

const comment = String.raw`[ \t]*\/\*\*(?:(?!\*\/)[^])*\*\/\n`;

/** With narrow margins, and without the comments that are for who works on a file: all, if no door exports what is in it, else its first. */
function shorten(types: string, isExported: boolean): string {
  const comments = isExported ? new RegExp(`^${comment}(?=import|export [{*])`) : new RegExp(`^${comment}`, 'gm');
  return types.replace(comments, '').replaceAll(/^(?: {4})+/gm, (margin) => ' '.repeat(margin.length / 4));
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
  const files = doors.map((door) => join(folder, `${door}${ending}`));
  const needed = followImports(files, relativeImport);
  // A door may export under another name what it imports.
  const exported = followImports(files, relativeExport);
  const renamed = files.flatMap((file) => importsOf(file, relativeImport));
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const file = join(folder, path);
    if (!path.endsWith(ending)) continue;
    if (needed.has(file))
      writeFileSync(file, shorten(readFileSync(file, 'utf8'), exported.has(file) || renamed.includes(file)));
    else rmSync(file);
  }
}
