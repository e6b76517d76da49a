/**
 * The package as built code, for tests that start processes: a command takes a fifth of the CPU that it takes from the sources. The build is
 * made when the first of these tests imports this file, and again only when a source has changed.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { packageDoors } from './package-doors.ts';

const root = join(import.meta.dirname, '../..');
const builds = join(root, 'dist.test');

/** Everything that the result depends on. */
function hashSources(): string {
  const hash = createHash('sha256');
  const folders = ['src', 'scripts/build', 'studio'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /(?<!\.test)\.(?:m?[jt]sx?|css|html|svg)$/u.test(name))
      .map((name) => join(folder, name)),
  );
  const files = [...folders, 'scripts/build.ts', 'package.json', 'package-lock.json', 'test/support/built-package.ts'];
  for (const file of files.sort())
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0');
  return hash.digest('hex').slice(0, 16);
}

const folder = join(builds, hashSources());

/** The file in the build behind each name that a user imports. */
export const builtDoors: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(packageDoors).map(([name, source]) => [
    name,
    source.replace(join(root, 'src'), folder).replace(/\.ts$/u, '.js'),
  ]),
);

/** The executable: `node builtMain log r1`. Modules of users that import the sources of a door get the built one. */
export const builtMain: string = join(folder, 'main.cjs');

/** For `node --import`: a program that imports the sources of a door gets the built one. */
export const useBuiltDoors: string = join(folder, 'use-built-doors.cjs');

/** Lets imports of a door lead to the build, so that a process has one copy of each class. */
const hooks = `const doors = new Map(${JSON.stringify(
  Object.entries(builtDoors).map(([name, built]) => [
    pathToFileURL(packageDoors[name] ?? '').href,
    pathToFileURL(built).href,
  ]),
)});
require('node:module').registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    const built = doors.get(found.url);
    return built === undefined ? found : { ...found, url: built, format: 'module' };
  },
});
`;

function removeOldBuilds(): void {
  const dayMs = 24 * 60 * 60 * 1_000;
  for (const name of readdirSync(builds)) {
    const path = join(builds, name);
    if (statSync(path).mtimeMs < Date.now() - dayMs) rmSync(path, { recursive: true, force: true });
  }
}

/** Two processes may build at once: each in a folder of its own, and the first to rename it wins. */
function build(): void {
  const made = join(builds, `new-${process.pid}`);
  execFileSync(process.execPath, [join(root, 'scripts/build.ts'), '--code', made], { stdio: 'pipe' });
  writeFileSync(join(made, basename(useBuiltDoors)), hooks);
  writeFileSync(join(made, basename(builtMain)), "require('./use-built-doors.cjs');\nrequire('./bin/cairn.cjs');\n");
  try {
    renameSync(made, folder);
  } catch (error) {
    rmSync(made, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
}

if (!existsSync(folder)) {
  mkdirSync(builds, { recursive: true });
  removeOldBuilds();
  build();
}
