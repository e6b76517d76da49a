/** What the installed package holds and does, also on the other versions of Node that it is for, and on one that is too old. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  globSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import { parseSync } from 'oxc-parser';
import { publint } from 'publint';
import { afterAll, beforeAll, expect, test, type TestContext } from 'vitest';
import { brokenLinks } from '../scripts/docs/check-links.ts';
import { linksOf } from '../scripts/docs/markdown.ts';
import { installPackage, manifest, root, run, type InstalledPackage } from './support/installed-package.ts';
import { findNode } from './support/node-versions.ts';
import { isProving, sample } from './support/scale.ts';

const timeoutMs = 180_000;
const doors = Object.keys(manifest.exports)
  .filter((name) => name !== './package.json')
  .map((name) => join('cairn-workflows', name));

let installed: InstalledPackage;
beforeAll(() => {
  installed = installPackage();
  // From here on as with a user, who sets nothing.
  delete process.env['NODE_COMPILE_CACHE'];
  writeFileSync(
    join(installed.app, 'hi.yaml'),
    'name: hi\ndescription: d\nblocks: [{ id: a, type: Shell, inputs: { command: echo hi } }]\noutputs: { o: "${a.stdout}" }\n',
  );
  writeFileSync(
    join(installed.app, 'graph.ts'),
    `import { AgentGraph, END, humanNode, START } from 'cairn-workflows';
export const graph = new AgentGraph({}).addNode('ask', humanNode({ prompt: 'Go on?' })).addEdge(START, 'ask').addEdge('ask', END).compile();
`,
  );
}, timeoutMs);
afterAll(() => installed.remove());

const filesOf = (pattern: string): readonly string[] => globSync(pattern, { cwd: installed.home }).toSorted();
/** Without the page for browsers, which is minified, and in the alphabet of its users. */
const codeFiles = (): readonly string[] => filesOf('**/*.{js,cjs}').filter((file) => !file.startsWith('dist/studio/'));
const read = (path: string): string => readFileSync(join(installed.home, path), 'utf8');
const cairn = (...args: readonly string[]): string =>
  run(process.execPath, [installed.executable, ...args], installed.app);

/** What a program of a user's leaves on stderr when it fails. */
function stderrOf(script: string, command: readonly string[] = [process.execPath]): string {
  const file = join(installed.app, 'fails.mjs');
  writeFileSync(file, script);
  const [program = '', ...args] = command;
  const { status, stdout, stderr } = spawnSync(program, [...args, file], { cwd: installed.app, encoding: 'utf8' });
  expect([script, status]).not.toEqual([script, 0]);
  return `${stdout}${stderr}`;
}

test('P6 every file that the packed code imports is packed, and every package is one it says it needs', async () => {
  // A file that is not there fails the build.
  const build = await rolldown({
    input: codeFiles().map((file) => join(installed.home, file)),
    platform: 'node',
    external: (id) => !/^[./]/u.test(id),
    logLevel: 'silent',
  });
  const { output } = await build.generate({ format: 'es' });
  await build.close();
  const chunks = new Set(output.map(({ fileName }) => fileName));
  const imported = output.flatMap((file) => (file.type === 'chunk' ? [...file.imports, ...file.dynamicImports] : []));
  const types = filesOf('dist/**/*.d.ts').flatMap((file) =>
    [...read(file).matchAll(/(?:from |import\()'([^.'][^']*)'/gu)].map(([, path = '']) => path),
  );
  const nameOf = (path: string): string => path.split('/', path.startsWith('@') ? 2 : 1).join('/');
  const outside = [...imported, ...types].filter((path) => !chunks.has(path) && !isBuiltin(path));
  const packages = new Set(outside.map(nameOf));
  const declared = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
  expect([...packages].filter((name) => !declared.includes(name))).toEqual([]);
  expect(packages.size).toBeGreaterThan(0);
});

test('P6 publint finds no fault in the package', async () => {
  const { messages } = await publint({ pkgDir: installed.home, strict: true, pack: false });
  expect(messages).toEqual([]);
});

test.skipIf(!isProving)(
  'P6 the types of each door are those of the code that is loaded there, in npm run prove',
  async () => {
    const script = `
    import { readFileSync } from 'node:fs';
    import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
    const found = await checkPackage(createPackageFromTarballData(readFileSync(process.argv[1])));
    process.stdout.write(JSON.stringify(found.problems ?? [found]));`;
    const told = run(process.execPath, ['--input-type=module', '-e', script, installed.archive], root);
    const problems = JSON.parse(told) as readonly { readonly resolutionKind?: string }[];
    // The package is of modules alone, and named by its doors: older ways of looking packages up find neither.
    const ways = ['node16-esm', 'bundler'];
    const faults = problems.filter(({ resolutionKind: way }) => way === undefined || ways.includes(way));
    expect(faults).toEqual([]);
  },
);

test('P6 the package says where it comes from, and is published with its provenance', () => {
  const { version, license, repository, homepage, bugs, publishConfig } = JSON.parse(read('package.json')) as {
    readonly [field: string]: unknown;
  };
  expect(version).toBe('0.1.0');
  expect(publishConfig).toEqual({ access: 'public', provenance: true });
  expect([license, repository, homepage, bugs].map((field) => JSON.stringify(field))).toEqual([
    '"Apache-2.0"',
    ...[1, 2, 3].map(() => expect.stringContaining('github.com/cairn-workflows/cairn') as string),
  ]);
});

test('P6 no file is read beside the code but the programs of processes and threads, which are packed', () => {
  const beside = codeFiles().flatMap((file) => {
    const places = read(file).matchAll(/(?:import\.meta\b|__dirname|__filename)[^;]{0,40}/gu);
    return [...places].map(([place]) => `${file}: ${place}`);
  });
  // Found by their places in the package.
  const isProgram =
    /: import\.meta\.dirname, "(?:nodes\/blocks\/sql\/sqlite-child|app\/workflows\/reader-thread|app\/isolation\/isolated-run)/u;
  // The page for browsers.
  const isStudio = /: import\.meta\.dirname, place\)/u;
  // Where a thread looks for the driver of a store, before it looks where the program is.
  const isDriver = /: import\.meta\.dirname,\s*\.\.\.started/u;
  // Which frames of a stack are those of the package.
  const isFrame = /: import\.meta\.url\)\?\.\[0\]/u;
  // Said in the text of an error.
  const isText = /: import\.meta\.url\)"\)$/u;
  const isKnown = (place: string): boolean =>
    [isProgram, isStudio, isDriver, isFrame, isText].some((form) => form.test(place));
  expect(beside.filter((place) => !isKnown(place))).toEqual([]);
  expect(filesOf('dist/nodes/blocks/sql/*.js')).toEqual(['dist/nodes/blocks/sql/sqlite-child.js']);
  expect(filesOf('dist/app/isolation/*.js')).toEqual(['dist/app/isolation/isolated-run.js']);
  expect(filesOf('dist/app/workflows/*.js')).toEqual(['dist/app/workflows/reader-thread.js']);
});

// The bound notices what comes in twice or by accident: it was 7 MB before limits, webhooks, retention and experiments came, and 8 before embeddings, sandboxes of YAML and the studio's second half.
test('P6 the installed package is of at most 8.3 MB and 12 packages, source maps counted, zod not', () => {
  const modules = join(installed.app, 'node_modules');
  const files = readdirSync(modules, { recursive: true, encoding: 'utf8' }).filter((path) => !path.startsWith('zod/'));
  // As npm counts: what a file system takes for a folder is no part of a package.
  const stats = files.map((path) => statSync(join(modules, path))).filter((stat) => stat.isFile());
  const sizeBytes = stats.reduce((sum, { size }) => sum + size, 0);
  const packages = files.filter((path) => /(?:^|node_modules\/)(?:@[^/]+\/)?[^/]+\/package\.json$/u.test(path));
  expect(packages).toContain('cairn-workflows/package.json');
  expect(packages.length).toBeLessThanOrEqual(12);
  expect(sizeBytes).toBeLessThanOrEqual(8_300_000);
  expect(files.filter((path) => path.endsWith('.map')).length).toBeGreaterThan(10);
});

test('P6 the code has its lines and a source map each, the changelog and the guide are packed, and so are licences', () => {
  for (const file of codeFiles()) {
    const text = read(file);
    // A chunk lists its imports and exports in one line each.
    const lines = text.split('\n').filter((line) => !/^(?:import|export) \{/u.test(line));
    const longest = Math.max(...lines.map((line) => line.length));
    expect([file, longest < 6_000 ? 'short' : longest]).toEqual([file, 'short']);
    // What only passes on the exports of another file has no lines of its own.
    if (!/^\/\/ src\//mu.test(text)) continue;
    const { sources } = JSON.parse(read(`${file}.map`)) as { readonly sources: readonly string[] };
    const absent = sources
      .map((source) => resolve(root, dirname(file), source))
      .filter((path) => path.startsWith(root) && !existsSync(path));
    expect([file, sources.length > 0, absent]).toEqual([file, true, []]);
  }
  expect(read('CHANGELOG.md')).toContain('## Unreleased');
  expect(filesOf('docs/guide/*.md')).toContain('docs/guide/getting-started.md');
  const licenses = read('dist/third-party-licenses.txt');
  for (const name of ['@clack/prompts', '@marcbachmann/cel-js', 'diff', 'ignore', 'picomatch', 'yaml'])
    expect(licenses).toMatch(new RegExp(`^${name} \\d`, 'mu'));
});

test('P6 every link of the packed guides leads to a packed file, or to where the project can be looked at', () => {
  const faults = brokenLinks(installed.home, { isPackage: true });
  // The page of the project, which the registry shows with links of its own.
  expect(faults.filter((line) => !line.startsWith('README.md:'))).toEqual([]);
});

test('P6 the package has a reference of all that its doors export, whose links lead to files of it', () => {
  const list = read('dist/reference/README.md');
  const links = linksOf(list).map(({ target }) => target);
  expect(links).toHaveLength(Object.values(manifest.exports).filter((door) => typeof door !== 'string').length);
  const pages = links.map((target) => read(join('dist/reference', target)));
  for (const page of pages) expect(linksOf(page)).toEqual([]);
  const [main = ''] = pages;
  for (const text of ['## CairnError', '## humanNode', '## AgentGraph', '## openCairn'])
    expect(main).toContain(`\n${text}\n`);
  // Methods of a class that is exported under another name, with what is said of them.
  expect(main).toMatch(/\* Adds a node: [^]*?\n +addNode</u);
  const said = main.split('\n## ').filter((part) => !/^[^\n]+\n\n```/u.test(part));
  expect(said.length / main.split('\n## ').length).toBeGreaterThan(0.8);
});

test('P6 what the build puts behind lines that throw is in no text', () => {
  const countIn = (text: string): number => text.split('node-do-not-add').length - 1;
  const marked = codeFiles().filter((file) => {
    const text = read(file);
    const { comments } = parseSync(file, text);
    return countIn(text) !== comments.reduce((sum, { value }) => sum + countIn(value), 0);
  });
  expect(marked).toEqual([]);
  expect(read('dist/chunks/core.js')).toContain('// node-do-not-add-exception-line');
});

const failing = {
  'an error while a graph is built': `new AgentGraph({}).addNode('a', () => 1).compile();`,
  'a rejected call': `await new AgentGraph({}).addNode('a', () => 1).addEdge(START, 'a').addEdge('a', END).compile().resume('nope');`,
  'an error in a timer': `setTimeout(() => new AgentGraph({}).addNode('a', () => 1).compile(), 1);`,
};

test('P6 an error that nobody catches prints its message first, in a pipe and in a terminal', () => {
  const inTerminal = ['script', '--quiet', '--return', '--command'];
  for (const [name, line] of Object.entries(failing)) {
    const script = `import { AgentGraph, END, START } from 'cairn-workflows';\n${line}\n`;
    expect([name, stderrOf(script)]).toEqual([
      name,
      expect.stringMatching(/^\s*CairnError: (?:graph graph|no run nope)/u),
    ]);
    if (spawnSync('script', ['--version']).status !== 0) continue;
    const { stdout } = spawnSync(
      inTerminal[0] ?? '',
      [...inTerminal.slice(1), `'${process.execPath}' fails.mjs`, '/dev/null'],
      { cwd: installed.app, encoding: 'utf8' },
    );
    expect([name, stdout]).toEqual([name, expect.stringMatching(/^\s*CairnError: (?:graph graph|no run nope)/u)]);
  }
});

test('P6 each door can be imported without the optional packages, and has its types', () => {
  for (const door of Object.values(manifest.exports))
    for (const file of typeof door === 'string' ? [] : Object.values(door))
      expect([file, existsSync(join(installed.home, file))]).toEqual([file, true]);
  // Each in a process of its own, as the only one. That the others can be imported, too, is seen on the oldest Node.
  const withNames = doors.filter((door) => door !== 'cairn-workflows/compile-cache');
  for (const name of sample(withNames, 4)) {
    const script = `console.log(Object.keys(await import(${JSON.stringify(name)})).length)`;
    const count = run(process.execPath, ['--input-type=module', '-e', script], installed.app);
    expect([name, count]).not.toEqual([name, '0\n']);
  }
});

/** The files that are loaded with this one, at once. */
function loadedWith(file: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(file)) return found;
  found.add(file);
  for (const [, path = ''] of read(file).matchAll(/^(?:import|export)\b[^"\n]*"(\.[^"]+)";$/gmu))
    loadedWith(join(dirname(file), path), found);
  return found;
}

test('P3 a program loads nothing of the commands, and an agent no package but what it uses', () => {
  const doors = ['index', 'nodes/index', 'stores/sqlite/index', 'plans/index', 'ai-sdk/index', 'models/index'];
  const loaded = new Map(doors.map((door) => [door, [...loadedWith(`dist/${door}.js`)]]));
  const commands = [...loaded].filter(([, files]) => files.includes('dist/chunks/app.js')).map(([door]) => door);
  expect(commands).toEqual([]);
  expect([...loadedWith('dist/cli/working.js')]).toContain('dist/chunks/app.js');
  const packages = loaded
    .get('plans/index')!
    .flatMap((file) => [...read(file).matchAll(/^\/\/ \S*node_modules\/([\w-]+)/gmu)].map(([, name]) => name));
  expect([...new Set(packages)]).toEqual(['croner']);
});

test('P6 compiled code is kept on disk for who asks for it, and for nobody else', () => {
  const kept = (...options: readonly string[]): readonly string[] => {
    const folder = join(installed.app, `temporary${options.length}`);
    mkdirSync(folder);
    const args = [...options, '--input-type=module', '-e', "import 'cairn-workflows'"];
    const { status, stderr } = spawnSync(process.execPath, args, {
      cwd: installed.app,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], TMPDIR: folder },
    });
    expect([status, stderr]).toEqual([0, '']);
    return readdirSync(folder, { recursive: true, encoding: 'utf8' });
  };
  expect(kept()).toEqual([]);
  expect(kept('--import', 'cairn-workflows/compile-cache').length).toBeGreaterThan(2);
});

test('P6 the command, a YAML workflow and a graph in TypeScript run from the package', () => {
  expect(cairn('--version')).toContain(manifest.version);
  writeFileSync(
    join(installed.app, 'hello.yaml'),
    'name: hello\ndescription: d\nblocks: [{ id: a, type: EchoBlock, inputs: { message: hi } }]\noutputs: { o: "${a.echoed}" }\n',
  );
  writeFileSync(
    join(installed.app, 'small.ts'),
    `import { AgentGraph, END, START } from 'cairn-workflows';
export const graph = new AgentGraph({}).addNode('a', (): string => 'hi').addEdge(START, 'a').addEdge('a', END).compile();
`,
  );
  expect(JSON.parse(cairn('run', 'hello.yaml', '--json'))).toMatchObject({
    status: 'completed',
    outputs: { o: 'Echo: hi' },
  });
  expect(JSON.parse(cairn('run', 'small.ts', '--json'))).toMatchObject({ status: 'completed' });
  const [run] = (JSON.parse(cairn('ls', '--json')) as { readonly runs: readonly { readonly runId: string }[] }).runs;
  // A command that only reads loads the language of expressions when it meets one.
  expect(cairn('bisect', run?.runId ?? '', '--when', 'has(outputs.a)')).toContain('outputs');
});

test('P6 until the executable knows the command, it loads nothing of it: an old Node can parse it, and no command loads the code of another', () => {
  const required = [...read('dist/bin/cairn.cjs').matchAll(/^const \w+ = require\("(.+)"\)/gmu)];
  expect(required.map(([, file]) => file)).toEqual(['./command.cjs']);
  expect(read('dist/bin/command.cjs').length).toBeLessThan(2_000);
});

test('P6 the code is in ASCII, and a command that lists runs loads no more of Node than it needs', () => {
  // One character beyond Latin-1 doubles what a file takes in memory.
  expect(codeFiles().filter((file) => /[^\0-\x7f]/u.test(read(file)))).toEqual([]);
  const place = join(installed.app, 'listed');
  mkdirSync(place);
  writeFileSync(
    join(place, 'hello.yaml'),
    'name: hello\nblocks:\n  - id: hi\n    type: EchoBlock\n    inputs: { message: hi }\n',
  );
  run(process.execPath, [installed.executable, 'run', 'hello.yaml'], place);
  const tell = join(place, 'tell.cjs');
  writeFileSync(tell, "process.on('exit', () => require('node:fs').writeSync(1, process.moduleLoadList.join('\\n')));");
  const listed = run(process.execPath, ['--require', tell, installed.executable, 'ls'], place);
  expect(listed).toContain('completed');
  expect(listed).toContain('NativeModule sqlite');
  expect(listed).not.toMatch(/NativeModule (crypto|stream|perf_hooks)$/mu);
  // Where there is no store, an empty one stands in, and the library is not loaded for it.
  const empty = join(installed.app, 'empty');
  mkdirSync(empty);
  const nothing = run(process.execPath, ['--require', tell, installed.executable, 'ls'], empty);
  expect(nothing).toContain('NativeModule os');
  expect(nothing).not.toMatch(/NativeModule (crypto|stream|sqlite)$/mu);
}, 60_000);

/** The network, other processes, and what only terminals need: with all of these a start takes a quarter more than bare Node. */
const lateModules =
  /^(?:child_process|cluster|dgram|dns|http|http2|https|inspector|net|readline|repl|tls|tty|v8|vm|zlib)(?:\/|$)/u;

interface Loads {
  /** Files of the package, in order of their names. */
  readonly files: readonly string[];
  /** Those of {@link lateModules} that were loaded. */
  readonly late: readonly string[];
}

/** What a process loads until it ends. @param stopsAt - what it prints when it is told to stop */
async function loadsOf(place: string, args: readonly string[], input = '', stopsAt?: RegExp): Promise<Loads> {
  const watcher = join(place, 'watch-loads.cjs');
  const into = join(place, 'loads.json');
  writeFileSync(
    watcher,
    `const files = [];
    if (require('node:worker_threads').isMainThread) {
      require('node:module').registerHooks({ load: (url, context, next) => (files.push(url), next(url, context)) });
      process.on('exit', () =>
        require('node:fs').writeFileSync(${JSON.stringify(into)}, JSON.stringify({ files, modules: process.moduleLoadList })));
    }`,
  );
  // To Node a pipe is a stream of the network, so what is printed goes into a file, unless it is waited for.
  const output = openSync(join(place, 'output'), 'w');
  const child = spawn(process.execPath, ['--require', watcher, ...args], {
    cwd: place,
    stdio: [input === '' ? 'ignore' : 'pipe', stopsAt === undefined ? output : 'pipe', 'pipe'],
    timeout: 60_000,
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      // A second word would end it at once.
      if (stopsAt?.test(said) === true && !child.killed) child.kill('SIGTERM');
    });
  child.stdin?.end(input);
  expect([args.slice(1), await once(child, 'exit'), said]).toEqual([args.slice(1), [0, null], expect.any(String)]);
  closeSync(output);
  type Seen = { readonly files: readonly string[]; readonly modules: readonly string[] };
  const { files, modules } = JSON.parse(readFileSync(into, 'utf8')) as Seen;
  const own = pathToFileURL(join(installed.home, 'dist/')).href;
  return {
    files: files
      .filter((url) => url.startsWith(own))
      .map((url) => url.slice(own.length))
      .toSorted(),
    late: modules
      .filter((name) => name.startsWith('NativeModule '))
      .map((name) => name.slice('NativeModule '.length))
      .filter((name) => lateModules.test(name)),
  };
}

/** What every command loads that moves runs. */
const working = ['agents', 'answer-links', 'app', 'cel', 'core', 'nodes', 'rolldown-runtime', 'text-width']
  .map((name) => `chunks/${name}.js`)
  .concat('bin/cairn.cjs', 'bin/command.cjs', 'cli/working.js');
/** What a folder with YAML workflows needs besides. */
const yaml = [
  'built-in-blocks',
  'file-dialects',
  'read-dot',
  'stage-agent',
  'workflow-catalog',
  'write-document',
  'yaml',
].map((name) => `chunks/${name}.js`);

test('P6 a start loads the files that it needs, and no network of Node, no processes and no terminal', async () => {
  const place = join(installed.app, 'starts');
  mkdirSync(place);
  const hello = 'name: hello\nblocks: [{ id: hi, type: EchoBlock, inputs: { message: hi } }]\n';
  writeFileSync(join(place, 'hello.yaml'), hello);
  writeFileSync(
    join(place, 'asks.mjs'),
    `import { AgentGraph, END, humanNode, START } from 'cairn-workflows';
    export const asks = new AgentGraph({}, { id: 'asks' })
      .addNode('ask', humanNode({ prompt: 'Go on?' })).addEdge(START, 'ask').addEdge('ask', END)
      .compile(process.argv[2] === 'resume' ? { store: 'sqlite:.cairn/cairn.db' } : {});
    if (process.argv[2] === 'resume') {
      await asks.resume('second', { answers: { ask: 'yes' } });
      await asks.close();
    }`,
  );
  const command = (...args: readonly string[]): readonly string[] => [installed.executable, ...args];
  const initialize = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  });
  const needs = (files: readonly string[], late: readonly string[] = []): Loads => ({ files: files.toSorted(), late });
  /** Of what is told to stop, or is left, the end may come before all is loaded. */
  const atMost = ({ files, late }: Loads, needed: readonly string[]): Loads => ({
    files: files.filter((file) => !needed.includes(file)),
    late,
  });
  expect(await loadsOf(place, command('run', 'hello.yaml'))).toEqual(needs([...working, ...yaml]));
  expect(await loadsOf(place, command('run', 'asks.mjs', '--run-id', 'first'))).toEqual(
    needs([...working, 'index.js']),
  );
  expect(await loadsOf(place, command('answer', 'first', 'ask', 'yes'))).toEqual(needs(working));
  const worker = await loadsOf(place, command('worker', '--modules', 'asks.mjs'), '', /"event":"working"/u);
  const workerFiles = [...working, ...yaml, 'chunks/load-graph-module.js', 'index.js'];
  expect(atMost(worker, workerFiles)).toEqual(needs([], ['net']));
  // For this command alone the package that it needs is installed.
  const peer = join(installed.app, 'node_modules/@modelcontextprotocol');
  symlinkSync(join(root, 'node_modules/@modelcontextprotocol'), peer);
  const mcp = await loadsOf(place, command('mcp'), `${initialize}\n`).finally(() => rmSync(peer));
  expect(atMost(mcp, [...working, ...yaml, 'mcp/index.js'])).toEqual(needs([], ['net', 'tty']));
  await loadsOf(place, command('run', 'asks.mjs', '--run-id', 'second'));
  expect(await loadsOf(place, ['asks.mjs', 'resume'])).toEqual(needs(['index.js', 'chunks/core.js']));
}, 120_000);

test('the lock file names the optional packages of every platform, so that a clone can be installed on each', () => {
  type Locked = { readonly optionalDependencies?: Readonly<Record<string, string>> };
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, Locked>>;
  };
  const wanted = Object.entries(packages).flatMap(([place, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).map((name) => [`${place}/node_modules/${name}`, `node_modules/${name}`] as const),
  );
  expect(wanted.length).toBeGreaterThan(20);
  expect(wanted.filter((places) => places.every((place) => packages[place] === undefined))).toEqual([]);
});

function nodeFor(version: string, context: TestContext): string {
  const found = findNode(version);
  return 'path' in found ? found.path : context.skip(found.reason);
}

function start(node: string, args: readonly string[]): { readonly status: number | null; readonly said: string } {
  const { status, stdout, stderr } = spawnSync(node, args, { cwd: installed.app, encoding: 'utf8' });
  return { status, said: `${stdout}${stderr}` };
}

// The gate itself runs on Node 24, and takes the oldest besides.
for (const version of ['22.18.0', '24', 'latest']) {
  test.skipIf(version !== '22.18.0' && !isProving)(
    `P6 on Node ${version} each door can be imported, and YAML and TypeScript run, are asked and resumed${version === '22.18.0' ? '' : ' (in npm run prove)'}`,
    { timeout: timeoutMs },
    (context) => {
      const node = nodeFor(version, context);
      const cairn = (...args: readonly string[]): string => {
        const { status, said } = start(node, [installed.executable, ...args]);
        expect([args, said, [0, 10].includes(status ?? 1)]).toEqual([args, said, true]);
        return said;
      };
      const script = doors.map((door) => `await import(${JSON.stringify(door)});`).join('\n');
      expect(start(node, ['--input-type=module', '-e', script])).toEqual({ status: 0, said: '' });
      expect(JSON.parse(cairn('run', 'hi.yaml', '--json'))).toMatchObject({
        status: 'completed',
        outputs: { o: 'hi\n' },
      });
      const runId = `asked-${version}`;
      expect(JSON.parse(cairn('run', 'graph.ts', '--run-id', runId, '--json'))).toMatchObject({ status: 'paused' });
      cairn('answer', runId, 'ask', 'yes');
      expect(JSON.parse(cairn('resume', runId, '--json'))).toMatchObject({ status: 'completed' });
      expect(cairn('ls')).toContain(runId);
    },
  );
}

test(
  'P6 a Node that is too old is told in a sentence, by each door and by the command',
  { timeout: timeoutMs },
  (context) => {
    const node = nodeFor('20', context);
    // Each file has the check, and some of them are tried.
    for (const file of filesOf('dist/**/*.js').filter((name) => !name.startsWith('dist/studio/')))
      expect([file, read(file).includes('Cairn needs Node 22.18 or newer')]).toEqual([file, true]);
    for (const door of sample(doors, 4)) {
      const { status, said } = start(node, ['--input-type=module', '-e', `import ${JSON.stringify(door)}`]);
      expect([door, status, said]).toEqual([
        door,
        1,
        expect.stringMatching(/^Error: Cairn needs Node 22\.18 or newer; this is Node 20\./u),
      ]);
    }
    const { status, said } = start(node, [installed.executable, 'ls']);
    expect(said).toMatch(/^cairn: Node 20\.[\d.]+ is too old: Cairn needs Node 22\.18 or newer\.\n$/u);
    expect(status).toBe(2);
  },
);
