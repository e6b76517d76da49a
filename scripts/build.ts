/**
 * Builds dist/: the library as one ES module a door, with chunks for what doors share, its types with tsc, file by file; and the command
 * line as CommonJS bundles. A process that loads two hundred files starts twice as slowly as one that loads three.
 *
 * A bundle loads another only when a command needs it: `import('./listing.ts')` in one entry becomes a
 * `require` of the other entry's bundle, as does a plain import of an entry. In a bundle there is no top-level await, and of `import.meta` only
 * dirname, filename and main. Everything is built beside dist/ and then swapped in.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import * as esbuild from 'esbuild';

const root = resolve(import.meta.dirname, '..');
const next = join(root, `dist.${process.pid}`);

type Entry = {
  readonly path: string;
  /** Its `import()` loads modules of the user, so it stays what it is. */
  readonly keepsImport?: boolean;
};

/** Entries of the command line, one bundle each. The first is the executable, `cairn.cjs`. */
const cliEntries: readonly Entry[] = [
  { path: 'src/cli/main.ts' },
  { path: 'src/cli/listing.ts' },
  { path: 'src/cli/reading.ts' },
  { path: 'src/cli/working.ts' },
  { path: 'src/app/read-config.ts' },
  { path: 'src/app/yaml-dialect.ts' },
  { path: 'src/mcp/index.ts' },
  { path: 'src/app/import-module.ts', keepsImport: true },
];

function bundleNameOf(entry: Entry): string {
  if (entry === cliEntries[0]) return 'cairn';
  const name = basename(entry.path, '.ts');
  return name === 'index' ? basename(dirname(entry.path)) : name;
}

/** Keeps an entry out of the bundle of another entry: imported there, it is required when reached. */
const splitAtEntries: esbuild.Plugin = {
  name: 'split-at-entries',
  setup(build) {
    build.onResolve({ filter: /^\./ }, ({ path, resolveDir, kind }) => {
      const entry = cliEntries.find((candidate) => join(root, candidate.path) === resolve(resolveDir, path));
      if (entry === undefined || kind === 'entry-point') return null;
      return { path: `./${bundleNameOf(entry)}.cjs`, external: true };
    });
  },
};

/** Types only: what runs is bundled. */
function compileTypes(): void {
  const args = ['-p', 'tsconfig.build.json', '--emitDeclarationOnly', '--outDir', next];
  const { status } = spawnSync(join(root, 'node_modules/.bin/tsc'), args, { cwd: root, stdio: 'inherit' });
  if (status !== 0) throw new Error('tsc failed');
}

/** Optional peers stay outside, since the user installs them; zod is small and goes in. */
function readExternals(): string[] {
  const { peerDependencies = {} } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    peerDependencies?: Record<string, string>;
  };
  return Object.keys(peerDependencies).filter((name) => name !== 'zod');
}

/** One module for each door of the package; what they share is in chunks, so that a class is the same one through each of them. */
async function bundleLibrary(): Promise<void> {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports: Record<string, string | { readonly default: string }>;
  };
  const doors = Object.values(exports).flatMap((door) => (typeof door === 'string' ? [] : [door.default]));
  await esbuild.build({
    absWorkingDir: root,
    entryPoints: doors.map((door) => door.replace('./dist/', 'src/').replace(/\.js$/, '.ts')),
    outdir: next,
    outbase: 'src',
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node22.18',
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    logLevel: 'warning',
  });
}

async function bundle(entries: readonly Entry[], keepsImport: boolean): Promise<void> {
  await esbuild.build({
    absWorkingDir: root,
    entryPoints: entries.map((entry) => ({ in: entry.path, out: bundleNameOf(entry) })),
    outdir: join(next, 'bin'),
    outExtension: { '.js': '.cjs' },
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node22.18',
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'linked',
    external: readExternals(),
    plugins: [splitAtEntries],
    supported: { 'dynamic-import': keepsImport },
    banner: { js: '"use strict";const isMainBundle = require.main === module;' },
    define: {
      'import.meta.dirname': '__dirname',
      'import.meta.filename': '__filename',
      'import.meta.main': 'isMainBundle',
    },
    logLevel: 'warning',
  });
}

async function bundleCommandLine(): Promise<void> {
  await bundle(
    cliEntries.filter(({ keepsImport }) => keepsImport !== true),
    false,
  );
  await bundle(
    cliEntries.filter(({ keepsImport }) => keepsImport === true),
    true,
  );
  const executable = join(next, 'bin/cairn.cjs');
  if (!readFileSync(executable, 'utf8').startsWith('#!'))
    throw new Error(`${cliEntries[0]?.path} must begin with #!/usr/bin/env node`);
  chmodSync(executable, 0o755);
}

try {
  compileTypes();
  await bundleLibrary();
  await bundleCommandLine();
  rmSync(join(root, 'dist'), { recursive: true, force: true });
  if (existsSync(next)) renameSync(next, join(root, 'dist'));
} catch (error) {
  rmSync(next, { recursive: true, force: true });
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
