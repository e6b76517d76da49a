/** The rules of ARCHITECTURE.md and of `architecture/imports.yaml`, held against the source files. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { allows, foldersWithoutRoomFor, readImportTables } from './architecture/import-table.ts';
import { findCycles, readSources, type Source } from './architecture/sources.ts';

const root = join(import.meta.dirname, '..');
const tables = readImportTables(readFileSync(join(import.meta.dirname, 'architecture/imports.yaml'), 'utf8'));
const everything = readSources(root, ['src', 'test', 'examples', 'bench']);
const sources = everything.filter(({ path }) => path.startsWith('src/') && !path.endsWith('.test.ts'));

/** Third-party packages, and where in src they may be imported. Anything else is a decision: add a line. */
const packagePlaces: Readonly<Record<string, readonly string[]>> = {
  '@restatedev/restate-sdk': ['src/hosts/restate-host.ts'],
  '@langchain/langgraph-checkpoint': ['src/langgraph/cairn-saver.ts'],
  '@opentelemetry/api': ['src/otel/otel.ts'],
  '@aws-sdk/client-s3': ['src/blobs/s3-blobs.ts'],
  croner: ['src/app/schedules/cron-times.ts'],
  e2b: ['src/sandboxes/e2b.ts'],
  'fast-string-width': ['src/cli/text/width.ts'],
  'eventsource-parser': ['src/http/client.ts'],
  diff: ['src/nodes/blocks/files/text-diff.ts'],
  ignore: ['src/nodes/blocks/files/ignored-files.ts'],
  picomatch: ['src/nodes/blocks/files/find-files.ts'],
  '@clack/prompts': ['src/cli/'],
  '@marcbachmann/cel-js': ['src/graph/expression/cel.ts'],
  yaml: ['src/dialects/yaml/'],
  '@modelcontextprotocol/client': ['src/agents/mcp/mcp-connection.ts'],
  '@modelcontextprotocol/node': ['src/mcp/'],
  '@modelcontextprotocol/server': ['src/mcp/'],
  ai: ['src/models/ai-sdk', 'src/ai-sdk/'],
  postgres: ['src/nodes/blocks/sql/'],
  pg: ['src/stores/postgres/place.ts'],
  redis: ['src/stores/redis/server.ts'],
};

/** Folders of adapters: a folder in one of them knows nothing of the folders beside it. */
const adapterFolders = ['blobs', 'models', 'stores'];

/** What folders that must be repeatable may not touch; the outside reaches them through ports. */
const outside: readonly (readonly [RegExp, string])[] = [
  [/\bDate\.now\b|\bnew Date\(\s*\)|\bperformance\.|(?<![.\w])Date\(\)/, 'a clock'],
  [/\bset(Timeout|Interval|Immediate)\b|node:timers/, 'a timer'],
  [/\bMath\.random\b|\brandom(UUID|Bytes|Int)\b|\bgetRandomValues\b/, 'randomness'],
  [/(?<![.\w])process\.|node:(process|os|child_process|worker_threads)/, 'the environment'],
  [/node:(fs|net|http|https|dns|sqlite)\b|(?<![.\w])fetch\(/, 'files or the network'],
];
const repeatableFolders = ['graph', 'state', 'schema', 'engine'];

const bannedWords = new Set(
  ['manager', 'helper', 'util', 'common', 'impl', 'base', 'service'].flatMap((word) => [word, `${word}s`]),
);

/** Files that are reached from outside src: doors, executables, what package.json exports. */
function readEntries(): Set<string> {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports: Record<string, string | { default: string }>;
  };
  const exported = Object.values(exports).flatMap((target) => (typeof target === 'string' ? [] : [target.default]));
  return new Set([
    'src/index.ts',
    'src/cli/main.ts',
    'src/app/isolation/isolated-run.ts',
    'src/app/workflows/reader-thread.ts',
    'src/nodes/blocks/sql/sqlite-child.ts',
    'src/testing/index.ts',
    ...exported.map((path) => path.replace('./dist/', 'src/').replace(/\.js$/, '.ts')),
  ]);
}

function describePlace({ path }: Source, line: number): string {
  return `${path}:${line}`;
}

test('every file of src is in a room of each folder that is divided', () => {
  const unknown = sources.flatMap(({ path }) =>
    foldersWithoutRoomFor(tables, path).map((folder) => `${path} is in no room of ${folder}`),
  );
  expect(unknown).toEqual([]);
});

test('folders and rooms import only what their tables allow', () => {
  const violations = sources.flatMap((source) =>
    source.imports
      .filter(({ target }) => target !== undefined && !allows(tables, source.path, target))
      .map(({ target, line }) => `${describePlace(source, line)} imports ${target}`),
  );
  expect(violations).toEqual([]);
});

test('every table is of a folder of src', () => {
  const unknown = [...tables.keys()].filter((folder) => !sources.some(({ path }) => path.startsWith(`${folder}/`)));
  expect(unknown).toEqual([]);
});

test('every row of a table is of a room that is there', () => {
  const isThere = (folder: string, room: string): boolean =>
    sources.some(({ path }) => path === `${folder}/${room}.ts` || path.startsWith(`${folder}/${room}/`));
  const gone = [...tables].flatMap(([folder, rooms]) =>
    [...rooms.keys()].filter((room) => !isThere(folder, room)).map((room) => `${folder}: ${room}`),
  );
  expect(gone).toEqual([]);
});

test('an adapter does not import the adapter beside it', () => {
  const adapterOf = (path: string): string | undefined => {
    const [, folder = '', adapter, inside] = path.split('/');
    return adapterFolders.includes(folder) && inside !== undefined ? `${folder}/${adapter}` : undefined;
  };
  const violations = sources.flatMap((source) => {
    const own = adapterOf(source.path);
    return source.imports.flatMap(({ target, line }) => {
      const other = target === undefined ? undefined : adapterOf(target);
      const isSibling = own !== undefined && other !== undefined && own !== other;
      return isSibling && source.folder === other.split('/')[0]
        ? [`${describePlace(source, line)} imports ${target}`]
        : [];
    });
  });
  expect(violations).toEqual([]);
});

test('relative imports lead to files of the repository', () => {
  const paths = new Set(everything.map(({ path }) => path));
  const missing = sources.flatMap((source) =>
    source.imports
      .filter(({ target }) => target?.endsWith('.ts') === true && !paths.has(target))
      .map(({ target, line }) => `${describePlace(source, line)} imports ${target}, which is not there`),
  );
  expect(missing).toEqual([]);
});

test('no import cycles', () => {
  expect(findCycles(sources)).toEqual([]);
});

test('third-party packages are imported only where they belong', () => {
  const violations = sources.flatMap((source) =>
    source.imports.flatMap(({ packageName, line }) => {
      if (packageName === undefined) return [];
      const places = packagePlaces[packageName] ?? [];
      const isAllowed = places.some((place) => source.path.startsWith(place));
      return isAllowed ? [] : [`${describePlace(source, line)} imports ${packageName}`];
    }),
  );
  expect(violations).toEqual([]);
});

test('graph, state, schema and engine read no clock, randomness, environment or file', () => {
  const violations = sources
    .filter(({ folder }) => repeatableFolders.includes(folder))
    .flatMap((source) =>
      source.code
        .split('\n')
        .flatMap((text, index) =>
          outside
            .filter(([pattern]) => pattern.test(text))
            .map(([, what]) => `${describePlace(source, index + 1)} reads ${what}`),
        ),
    );
  expect(violations).toEqual([]);
});

test('only src/state writes ops, so that a tree and what is recorded of it cannot part', () => {
  const violations = sources
    .filter(({ folder }) => folder !== 'state')
    .flatMap((source) =>
      source.code
        .split('\n')
        .flatMap((text, index) =>
          /\bdelta\.(set|delete|append|text)\(/i.test(text) ? [describePlace(source, index + 1)] : [],
        ),
    );
  expect(violations).toEqual([]);
});

test('every file of src is imported or is an entry', (context) => {
  if (!sources.some(({ path }) => path === 'src/index.ts')) context.skip('src/index.ts is not there yet');
  const entries = readEntries();
  const imported = new Set(
    everything.flatMap(({ path, imports }) => imports.map(({ target }) => (target === path ? undefined : target))),
  );
  const orphans = sources.map(({ path }) => path).filter((path) => !entries.has(path) && !imported.has(path));
  expect(orphans).toEqual([]);
});

test('no file of src is over 600 lines', () => {
  const long = sources
    .filter(({ lineCount }) => lineCount > 600)
    .map(({ path, lineCount }) => `${path}: ${lineCount} lines`);
  expect(long).toEqual([]);
});

test('ARCHITECTURE.md names files that are there', () => {
  const named = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8').matchAll(/`([\w/.-]+\.ts)`/gu);
  const gone = [...named]
    .map(([, name = '']) => name)
    .filter((name) => !existsSync(join(root, name)) && !sources.some(({ path }) => path.endsWith(`/${name}`)));
  expect(gone).toEqual([]);
});

test('no default exports', () => {
  expect(sources.filter(({ hasDefaultExport }) => hasDefaultExport).map(({ path }) => path)).toEqual([]);
});

test('names are kebab-case and say what a thing is', () => {
  const violations = sources
    .map(({ path }) => path)
    .filter((path) =>
      path
        .replace(/^src\//, '')
        .replace(/\.ts$/, '')
        .split('/')
        .some(
          (name) => !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) || name.split('-').some((word) => bannedWords.has(word)),
        ),
    );
  expect(violations).toEqual([]);
});
