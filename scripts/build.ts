/**
 * Builds dist/: the library as ES modules, its types, the command line as CommonJS, which Node starts sooner, and the studio.
 *
 * Everything is built beside dist/ and then swapped in. Third-party packages are bundled, but for optional peers: a process that loads
 * two hundred files starts twice as slowly as one that loads three. The code keeps its lines and names, and has source maps.
 *
 * `--code FOLDER` builds the code alone into another folder: tests start it as users do, many times faster than the sources.
 */
import { chmodSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { rolldown, type InputOptions, type OutputChunk, type OutputOptions } from 'rolldown';
import {
  asciiOnly,
  builtinsByCall,
  importFromModules,
  noIndentation,
  noSourceLines,
  requireByCall,
  requiredWhenUsed,
  shortLocals,
} from './build/plugins.ts';
import { compileFirstCalls } from './build/first-calls.ts';
import { collectLicenses } from './build/licenses.ts';
import { keepLines } from './build/line-maps.ts';
import { buildStudio } from './build/studio.ts';
import { writeReference } from './build/reference.ts';
import { buildTypes } from './build/types.ts';

const root = resolve(import.meta.dirname, '..');
const { values: options } = parseArgs({ options: { code: { type: 'string' } } });
/** Where the result belongs, and where it is made. */
const target = resolve(options.code ?? join(root, 'dist'));
const next = `${target}.${process.pid}`;

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly name: string;
  readonly exports: Readonly<Record<string, string | { readonly default: string; readonly types: string }>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly version: string;
};
/** The doors of the package by their path without an ending: `index`, `stores/sqlite/index`. */
const doors = Object.values(manifest.exports).flatMap((door) =>
  typeof door === 'string' ? [] : [door.default.replace(/^\.\/dist\/|\.js$/g, '')],
);
/** What the executable loads when a command needs it. */
const modulesOfCommands = ['cli/working', 'app/config/read-config'];
/** What the bundles of commands take by `require` when it is used, in place of holding it once more. */
const modulesWhenUsed = ['graph/expression/cel'];
const importedByCommands = [...doors, ...modulesOfCommands];
/** Programs of processes and threads that others start. */
const programs = ['nodes/blocks/sql/sqlite-child', 'app/workflows/reader-thread', 'app/isolation/isolated-run'];
/** What nearly every program needs: the first doors, and the small files that agents, models and commands share. */
const coreFiles =
  /src\/((index|nodes\/builders|stores\/memory\/index)\.ts$|model-calls\/|models\/(scripted|tell-answer)|graph\/contracts\/model-contract|state\/values\/to-json)/;
const peers = Object.keys(manifest.peerDependencies);

/** On an older Node the first file that is loaded says so; its line is not shown. */
const nodeCheck = `{ const [major, minor] = process.versions.node.split('.').map(Number); if (major < 22 || (major === 22 && minor < 18)) throw new Error(\`Cairn needs Node 22.18 or newer; this is Node \${process.versions.node}.\`); }`;

const input: InputOptions = {
  cwd: root,
  platform: 'node',
  transform: { target: 'node22.18', define: { builtVersion: JSON.stringify(manifest.version) } },
  treeshake: { moduleSideEffects: false, propertyReadSideEffects: false },
  external: (id) => peers.some((name) => id === name || id.startsWith(`${name}/`)),
  // On a busy machine the bundler finds its plugins slow, which is no fault of the build.
  checks: { pluginTimings: false },
  onLog: (level, { code, message }) => {
    if (level === 'warn' && code !== 'INEFFECTIVE_DYNAMIC_IMPORT') throw new Error(message);
  },
};
const output: OutputOptions = { comments: false, minify: false, sourcemap: true, sourcemapExcludeSources: true };

async function write(from: InputOptions, to: OutputOptions): Promise<readonly OutputChunk[]> {
  const build = await rolldown({ ...input, ...from, plugins: [shortLocals, from.plugins] });
  const written = await build.write({ ...output, ...to });
  await build.close();
  return written.output.filter((file) => file.type === 'chunk');
}

/**
 * The library, and the commands that move runs: a module for each door and entry. What nearly every program needs is one chunk, since
 * each file costs a third of a millisecond; and a class is the same one through each door.
 */
function buildModules(): Promise<readonly OutputChunk[]> {
  const entries = [...doors, ...modulesOfCommands, ...modulesWhenUsed, ...programs];
  return write(
    { input: Object.fromEntries(entries.map((entry) => [entry, `src/${entry}.ts`])) },
    {
      dir: next,
      format: 'es',
      chunkFileNames: 'chunks/[name].js',
      banner: nodeCheck,
      plugins: [requireByCall, builtinsByCall, noSourceLines, noIndentation, asciiOnly],
      codeSplitting: {
        groups: [
          { name: 'core', test: coreFiles, priority: 4 },
          { name: 'sqlite', test: /src\/stores\/sqlite\//, priority: 3 },
          { name: 'agents', test: /src\/(agents|plans)\/index\.ts$/, priority: 2 },
          // Blocks of YAML: programs that define some of their own load nothing of the commands.
          { name: 'nodes', test: /src\/nodes\/index\.ts$/, priority: 2 },
          // What a thread runs begins when it is loaded, so it joins no other file.
          {
            name: 'app',
            test: /src\/(app|operations)\/(?!workflows\/reader-thread|isolation\/isolated-run)/,
            priority: 1,
          },
          { name: 'prompts', test: /node_modules\/@clack\// },
          // Tables measure texts by it, and questions in a terminal do: those who print tables alone do not load the questions.
          { name: 'text-width', test: /node_modules\/fast-string-/, priority: 1 },
          { name: 'cel', test: /node_modules\/@marcbachmann\//, priority: 5 },
        ],
      },
    },
  );
}

/** The executable, and a bundle for each group of commands that only read. The others are among the modules. */
async function buildCommandLine(): Promise<readonly OutputChunk[]> {
  const chunks = await write(
    {
      input: { cairn: 'src/cli/main.ts' },
      plugins: [importFromModules(join(root, 'src'), importedByCommands, modulesWhenUsed)],
    },
    {
      dir: join(next, 'bin'),
      format: 'cjs',
      plugins: [requiredWhenUsed, noIndentation, asciiOnly],
      entryFileNames: '[name].cjs',
      chunkFileNames: '[name].cjs',
      codeSplitting: {
        groups: [
          { name: 'command', test: /split-command\.ts$|rolldown\/runtime/, priority: 3 },
          { name: 'listing', test: /src\/cli\/listing\.ts$/, priority: 2 },
          { name: 'reading', test: /src\/cli\/reading\.ts$/, priority: 1 },
        ],
      },
    },
  );
  chmodSync(join(next, 'bin/cairn.cjs'), 0o755);
  return chunks;
}

/** What a package has besides code that runs. */
function finish(chunks: readonly OutputChunk[]): void {
  buildTypes(root, next, doors);
  const documented = Object.entries(manifest.exports).flatMap(([door, target]) => {
    if (typeof target === 'string') return [];
    const page = door === '.' ? 'main' : door.slice('./'.length).replaceAll('/', '-');
    return [{ name: join(manifest.name, door), types: join(next, target.types.replace('./dist/', '')), page }];
  });
  writeReference(documented, join(next, 'reference'));
  compileFirstCalls(next);
  for (const name of readdirSync(next, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.map')))
    writeFileSync(
      join(next, name),
      keepLines(
        readFileSync(join(next, name), 'utf8'),
        readFileSync(join(next, name.slice(0, -'.map'.length)), 'utf8'),
      ),
    );
  writeFileSync(join(next, 'third-party-licenses.txt'), collectLicenses(chunks.flatMap(({ moduleIds }) => moduleIds)));
}

try {
  const chunks = [...(await buildModules()), ...(await buildCommandLine())];
  await buildStudio(root, join(next, 'studio'));
  if (options.code === undefined) finish(chunks);
  rmSync(target, { recursive: true, force: true });
  if (existsSync(next)) renameSync(next, target);
} catch (error) {
  rmSync(next, { recursive: true, force: true });
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
