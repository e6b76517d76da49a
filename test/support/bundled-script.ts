/**
 * A script of a test as one JavaScript file. A process that imports the sources loads some 500 modules, which takes a second; the bundle a
 * fifth of it. For scripts that are started many times.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { build, type Plugin } from 'esbuild';

/** Beside the built package, within reach of the packages. */
const folder = join(import.meta.dirname, '../../dist.test/scripts');

/** Files read what lies beside them: in the bundle, too, each knows its own folder. */
const ownFolders: Plugin = {
  name: 'own-folders',
  setup(bundler) {
    bundler.onLoad({ filter: /\.ts$/, namespace: 'file' }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replaceAll('import.meta.dirname', JSON.stringify(dirname(path))),
      loader: 'ts',
    }));
  },
};

const bundles = new Map<string, Promise<string>>();

/** @returns the path of the bundle, for `node PATH` or as the script of `crashProcesses` */
export function bundleScript(script: string): Promise<string> {
  const bundle = bundles.get(script) ?? makeBundle(script);
  bundles.set(script, bundle);
  return bundle;
}

async function makeBundle(script: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [script],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    plugins: [ownFolders],
  });
  const code = outputFiles[0]?.contents ?? new Uint8Array();
  const hash = createHash('sha256').update(code).digest('hex').slice(0, 16);
  const bundle = join(folder, `${basename(script, '.ts')}-${hash}.mjs`);
  if (existsSync(bundle)) return bundle;
  mkdirSync(folder, { recursive: true });
  // Another process may make the same file at the same time: it is never there in part.
  const made = `${bundle}.${process.pid}`;
  writeFileSync(made, code);
  renameSync(made, bundle);
  return bundle;
}
