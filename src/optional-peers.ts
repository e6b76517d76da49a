/**
 * Imports packages that a user installs only if needed. Their names are no literals, and a comment makes each bundler leave the import as
 * it is: a program that needs none of them can be bundled without installing any, and one that needs one finds it in its `node_modules`.
 */
import { CairnError } from './errors.ts';

/**
 * @param specifier - `postgres`, or a path within a package: `@modelcontextprotocol/server/stdio`
 * @param packages - what has to be installed. Default: the package of the specifier
 * @throws CairnError CONFIG_MISSING_PEER it is not installed
 */
export async function importPeer<Module = object>(
  specifier: string,
  packages: string = packageOf(specifier),
): Promise<Module> {
  try {
    return (await import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ specifier)) as Module;
  } catch (error) {
    // The second code is that of `require`, which some bundlers and test runners use.
    if (!/^(ERR_)?MODULE_NOT_FOUND$/u.test(String((error as { readonly code?: unknown }).code))) throw error;
    throw new CairnError('CONFIG_MISSING_PEER', { package: packages }, { cause: error });
  }
}

const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

/**
 * The path of a file of a package that is installed beside this code, or beside the program where this code was bundled into it.
 * @param near - folders to look from; undefined: a bundler removed it
 * @throws CairnError CONFIG_MISSING_PEER
 */
export function findInPackage(specifier: string, near: readonly (string | undefined)[]): string {
  const { createRequire } = process.getBuiltinModule('node:module');
  let cause: unknown;
  for (const folder of near) {
    if (folder === undefined) continue;
    try {
      return createRequire(`${folder}/`).resolve(specifier);
    } catch (error) {
      cause = error;
    }
  }
  throw new CairnError('CONFIG_MISSING_PEER', { package: packageOf(specifier) }, { cause });
}

/**
 * The path of a program of this package that another process or thread runs: beside the source that starts it, or among the built files,
 * which are laid out differently. A bundle of another program has neither; then it is taken from the package where that program is
 * installed.
 * @param here - the folder of the source, `import.meta.dirname`; a bundler may have removed it
 * @param built - its path among the built files, without an ending: `nodes/blocks/sql/sqlite-child`
 * @throws CairnError CONFIG_MISSING_PEER the package is not there
 */
export function findProgram(here: string | undefined, built: string): string {
  const path = process.getBuiltinModule('node:path');
  const { existsSync } = process.getBuiltinModule('node:fs');
  if (here !== undefined) {
    const source = path.join(here, `${path.basename(built)}.ts`);
    if (existsSync(source)) return source;
    for (let at = here; at !== path.dirname(at); at = path.dirname(at)) {
      const file = path.join(at, `${built}.js`);
      if (existsSync(file)) return file;
    }
  }
  const manifest = findInPackage('cairn-workflows/package.json', [here, process.cwd()]);
  return path.join(path.dirname(manifest), 'dist', `${built}.js`);
}
