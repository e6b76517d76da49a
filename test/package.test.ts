/**
 * The package as users get it: built and packed from a copy, unpacked where nothing of the repository is, with no more than its
 * dependencies beside it.
 */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'cairn-package-')));
const app = join(folder, 'app');
const home = join(app, 'node_modules/cairn-workflows');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
};

function run(command: string, args: readonly string[], cwd: string): string {
  return execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

/** Packs a copy, so that the folder `dist` of the repository is left alone, and installs what was packed without its optional peers. */
beforeAll(() => {
  const copy = join(folder, 'copy');
  mkdirSync(copy);
  for (const name of ['package.json', 'README.md', 'LICENSE', 'tsconfig.json', 'tsconfig.build.json', 'scripts', 'src'])
    cpSync(join(root, name), join(copy, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  run(process.execPath, ['scripts/build.ts'], copy);
  run('npm', ['pack', '--ignore-scripts', '--silent'], copy);
  mkdirSync(home, { recursive: true });
  run(
    'tar',
    ['xzf', join(copy, `cairn-workflows-${manifest.version}.tgz`), '-C', home, '--strip-components=1'],
    folder,
  );
  for (const name of Object.keys(manifest.dependencies)) {
    mkdirSync(dirname(join(app, 'node_modules', name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(app, 'node_modules', name));
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const files = (): readonly string[] =>
  readdirSync(home, { recursive: true, encoding: 'utf8' }).filter((path) => /\.[cm]?js$/u.test(path));
const cairn = (...args: readonly string[]): string =>
  run(process.execPath, [join(home, manifest.bin['cairn'] ?? ''), ...args], app);

test('P6 every file that the packed code imports is packed, and every package is one it says it needs', async () => {
  // A file that is not there fails the build.
  const { metafile } = await build({
    absWorkingDir: home,
    entryPoints: [...files()],
    outdir: 'nowhere',
    write: false,
    metafile: true,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    logLevel: 'silent',
  });
  const imported = Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path));
  const nameOf = (path: string): string => path.split('/', path.startsWith('@') ? 2 : 1).join('/');
  const packages = new Set(imported.filter((path) => !isBuiltin(path)).map(nameOf));
  const declared = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
  expect([...packages].filter((name) => !declared.includes(name))).toEqual([]);
  expect(packages.size).toBeGreaterThan(3);
});

test('P6 no file is read beside the code but package.json, which is packed', () => {
  const beside = files().flatMap((file) => {
    const text = readFileSync(join(home, file), 'utf8');
    const places = text.matchAll(/(?:import\.meta\b|__dirname|__filename)[^;]{0,40}/gu);
    return [...places].map(([place]) => `${file}: ${place}`);
  });
  const isManifest = /: (?:import\.meta\.dirname|__dirname),"\.\.\/\.\.\/package\.json"\)/u;
  expect(beside.filter((place) => !isManifest.test(place))).toEqual([]);
  expect(beside.length).toBeGreaterThan(0);
});

test('P6 each door can be imported without the optional packages, and has its types', () => {
  for (const [name, door] of Object.entries(manifest.exports)) {
    if (typeof door === 'string') continue;
    for (const file of Object.values(door)) expect([file, existsSync(join(home, file))]).toEqual([file, true]);
    const script = `console.log(Object.keys(await import(${JSON.stringify(join('cairn-workflows', name))})).length)`;
    expect([name, run(process.execPath, ['--input-type=module', '-e', script], app)]).not.toEqual([name, '0\n']);
  }
});

test('P6 the command, a YAML workflow and a graph in TypeScript run from the package', () => {
  expect(cairn('--version')).toContain(manifest.version);
  writeFileSync(
    join(app, 'hello.yaml'),
    'name: hello\ndescription: d\nblocks: [{ id: a, type: EchoBlock, inputs: { message: hi } }]\noutputs: { o: "${a.echoed}" }\n',
  );
  writeFileSync(
    join(app, 'graph.ts'),
    `import { AgentGraph, END, START } from 'cairn-workflows';
export const graph = new AgentGraph({}).addNode('a', (): string => 'hi').addEdge(START, 'a').addEdge('a', END).compile();
`,
  );
  expect(JSON.parse(cairn('run', 'hello.yaml', '--json'))).toMatchObject({
    status: 'completed',
    outputs: { o: 'Echo: hi' },
  });
  expect(JSON.parse(cairn('run', 'graph.ts', '--json'))).toMatchObject({ status: 'completed' });
  expect(cairn('ls')).toContain('hello');
});
