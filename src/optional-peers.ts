/**
 * Imports packages that a user installs only if needed. Their names are no literals, and each bundler is told to leave the import as it
 * is: a program that needs none of them can be bundled without installing any, and one that needs one finds it in its `node_modules`.
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
 * @param near - folders to look from; undefined: a bundler left nothing there
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
