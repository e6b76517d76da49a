/** Files of agents: what tools give, where they may not reach, and what a kill leaves (A30, A31). */
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import {
  afterCrash,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  runToRest,
  type Bench,
} from '../../../test/engine-kit.ts';
import { createMemoryBlobs } from '../../blobs/memory-blobs.ts';
import type { ToolResultPart } from '../../graph/contracts/model-messages.ts';
import { FileRef } from '../../graph/file-ref.ts';
import type { Graph } from '../../graph/graph.ts';
import { createScriptedModels, type ScriptedCall, type ScriptedModels } from '../../models/scripted.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { crashEverywhere } from '../../testing/crash-kit/crash-everywhere.ts';
import { createFakeContext } from '../../testing/node-suite/fake-context.ts';
import type { FileStore } from '../../ports/file-store.ts';
import { agent, type AgentConfig } from '../agent.ts';
import { tool } from '../tools/tool-box.ts';
import { localFiles } from './local-files.ts';
import { memoryFiles } from './memory-files.ts';

const top = mkdtempSync(join(tmpdir(), 'cairn-agent-files-'));
afterAll(() => rmSync(top, { recursive: true, force: true }));

let root: string;
let count = 0;
beforeEach(() => {
  root = join(top, String((count += 1)), 'root');
  mkdirSync(join(root, 'src'), { recursive: true });
  writeFileSync(join(root, 'src/a.ts'), 'const one = 1;\nconst two = 2;\n');
  writeFileSync(join(root, 'README.md'), '# Stones\n');
});

type Turn = readonly ScriptedCall[];
const call = (tool: string, input: object): ScriptedCall => ({ tool, input });

interface Kit {
  readonly bench: Bench;
  readonly models: ScriptedModels;
  readonly graph: Graph;
}

/** An agent whose model makes these calls, turn by turn, and then answers. */
function kit(files: FileStore, turns: readonly Turn[], config: Partial<AgentConfig> = {}): Kit {
  const models = createScriptedModels(({ messages }) => {
    const calls = turns[messages.filter(({ role }) => role === 'assistant').length];
    return calls === undefined ? 'Done.' : { calls: calls.map((each, index) => ({ id: `c${index}`, ...each })) };
  });
  const bench = createBench({ models });
  const own = agent({ model: 'm', prompt: 'Go.', files, ...config });
  return { bench, models, graph: graphOf('g', [{ id: 'a', ...own }], edges('> a', 'a >')) };
}

/** What the model was told of each call, in order. */
function toldTo({ requests }: ScriptedModels): readonly ToolResultPart[] {
  const { messages = [] } = requests.at(-1) ?? {};
  return messages.flatMap((message) => (message.role === 'tool' ? message.content : []));
}

/** What the model is told of each of these calls, one a turn. */
async function told(files: FileStore, calls: readonly ScriptedCall[]): Promise<readonly unknown[]> {
  const { bench, models, graph } = kit(
    files,
    calls.map((each) => [each]),
    { allow: true, maxLoops: 40 },
  );
  expect((await runToRest(bench.engine, graph)).status).toBe('completed');
  return toldTo(models).map(({ output }) => output);
}

const stores: readonly (readonly [string, () => FileStore])[] = [
  ['local', () => localFiles({ root })],
  [
    'memory',
    () => memoryFiles({ from: { 'src/a.ts': 'const one = 1;\nconst two = 2;\n', 'README.md': '# Stones\n' } }),
  ],
];

describe.each(stores)('A30 files in %s', (_, make) => {
  test('A30 are listed, searched, read, written and edited, and each sees what was written before', async () => {
    expect(
      await told(make(), [
        call('list_files', {}),
        call('list_files', { patterns: ['*.md'] }),
        call('search_files', { pattern: 'two|Stones' }),
        call('read_file', { path: 'src/a.ts', line: 2 }),
        call('edit_file', { path: 'src/a.ts', old_text: 'two = 2', new_text: 'two = 3' }),
        call('write_file', { path: 'notes/new.txt', content: 'new\n' }),
        call('read_file', { path: 'src/a.ts' }),
        call('read_file', { path: 'notes/new.txt' }),
        call('search_files', { pattern: 'nowhere' }),
      ]),
    ).toEqual([
      { paths: ['README.md', 'src/a.ts'] },
      { paths: ['README.md'] },
      'README.md:1: # Stones\nsrc/a.ts:2: const two = 2;',
      'const two = 2;\n',
      'src/a.ts: written, 30 bytes',
      'notes/new.txt: made, 4 bytes',
      'const one = 1;\nconst two = 3;\n',
      'new\n',
      'no line matches',
    ]);
  });

  test('A30 what cannot be done is told to the model with its reason, and nothing happens', async () => {
    const faults = await told(make(), [
      call('read_file', { path: 'gone.txt' }),
      call('read_file', { path: '../outside.txt' }),
      call('read_file', { path: '/etc/passwd' }),
      call('write_file', { path: '../outside.txt', content: 'x' }),
      call('edit_file', { path: 'src/a.ts', old_text: 'three', new_text: '' }),
      call('edit_file', { path: 'src/a.ts', old_text: 'const', new_text: 'let' }),
      call('edit_file', { path: 'gone.txt', old_text: 'a', new_text: 'b' }),
      call('search_files', { pattern: '(' }),
      call('search_files', { pattern: '(a+)+$', patterns: ['long.txt'] }),
      call('read_file', { path: 'src/a.ts' }),
    ]);
    for (const [index, reason] of [
      /^read_file failed: gone\.txt .*(could not be read|is not there)/,
      /\.\./,
      /(absolute|relative)/,
      /\.\./,
      /^edit_file failed: src\/a\.ts: the old text does not stand in it$/,
      /stands in it 2 times/,
      /^edit_file failed: gone\.txt: there is no such file$/,
      /^search_files failed: "\(" cannot be searched for/,
    ].entries())
      expect(faults[index]).toMatch(reason);
    expect(faults.at(-1)).toBe('const one = 1;\nconst two = 2;\n');
    expect(existsSync(join(root, '../outside.txt'))).toBe(false);
  });

  test('A30 what is no text becomes a file of which the model sees the name, and an image is shown where that is wanted', async () => {
    const image = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0]);
    const hash = createHash('sha256').update(image).digest('hex').slice(0, 12);
    const output = `[file a.png, image/png, 5 bytes, ${hash}]`;
    for (const showsImages of [false, true]) {
      writeFileSync(join(root, 'a.png'), image);
      const store = make();
      const files = store.isShared
        ? localFiles({ root, showsImages })
        : memoryFiles({ from: { 'a.png': image }, showsImages });
      const { bench, models, graph } = kit(files, [[call('read_file', { path: 'a.png' })]]);
      const { runId } = await runToRest(bench.engine, graph);
      const parts = [
        { type: 'text', text: output },
        { type: 'image', data: new Uint8Array(image), mediaType: 'image/png', name: 'a.png' },
      ];
      const [result] = toldTo(models);
      expect(JSON.parse(JSON.stringify(result))).toEqual(
        JSON.parse(
          JSON.stringify({ type: 'tool-result', id: 'c0', tool: 'read_file', output, ...(showsImages && { parts }) }),
        ),
      );
      // The conversation holds a reference, not the bytes.
      const rows = await bench.store.readCheckpoints({ tenant: 'default', runId }, { from: 0, to: 99 });
      expect(JSON.stringify(rows)).not.toContain(Buffer.from(image).toString('base64'));
    }
  });
});

describe('A30 local files', () => {
  test('A30 links that lead out are refused, in whatever place they stand, and so is what is of git', async () => {
    mkdirSync(join(root, '../secret'));
    writeFileSync(join(root, '../secret/key'), 'the key');
    symlinkSync('../secret', join(root, 'way'));
    symlinkSync('../secret/key', join(root, 'key'));
    mkdirSync(join(root, '.git/hooks'), { recursive: true });
    writeFileSync(join(root, '.git/config'), 'the key');
    symlinkSync('.git', join(root, 'hidden'));
    const faults = await told(localFiles({ root }), [
      call('read_file', { path: 'way/key' }),
      call('read_file', { path: 'key' }),
      call('write_file', { path: 'way/new', content: 'x' }),
      call('write_file', { path: 'key', content: 'x' }),
      call('read_file', { path: '.git/config' }),
      call('write_file', { path: '.git/hooks/pre-commit', content: 'x' }),
      call('write_file', { path: 'hidden/hooks/pre-commit', content: 'x' }),
      call('write_file', { path: '.GIT/hooks/pre-commit', content: 'x' }),
      call('search_files', { pattern: 'the key' }),
      call('list_files', {}),
    ]);
    for (const fault of faults.slice(0, 8)) expect(fault).toMatch(/leads out|git's own|is a symbolic link/);
    expect(faults.slice(8)).toEqual(['no line matches', { paths: ['README.md', 'src/a.ts'] }]);
    expect(readFileSync(join(root, '../secret/key'), 'utf8')).toBe('the key');
    expect(readdirSync(join(root, '../secret'))).toEqual(['key']);
    expect(readdirSync(join(root, '.git/hooks'))).toEqual([]);
  });

  test('A30 a model that may only read is offered no tools that write', async () => {
    const { bench, models, graph } = kit(localFiles({ root, isReadOnly: true }), []);
    await runToRest(bench.engine, graph);
    expect(models.requests[0]?.tools?.map(({ name }) => name)).toEqual(['list_files', 'search_files', 'read_file']);
  });

  test('A6 A30 a write asks before it happens, unless it is allowed, and in memory it asks nobody', async () => {
    const write = [[call('write_file', { path: 'x.txt', content: 'x' })]];
    const asks = kit(localFiles({ root }), write);
    const paused = await runToRest(asks.bench.engine, asks.graph, {}, 'r');
    expect(paused.waits[0]?.metadata).toEqual({ tool: 'write_file', args: { path: 'x.txt', content: 'x' } });
    expect(existsSync(join(root, 'x.txt'))).toBe(false);
    await asks.bench.engine.answer('r', paused.waits[0]?.waitId ?? '', 'approve');
    expect((await resumeToRest(asks.bench.engine, 'r', asks.graph)).status).toBe('completed');
    expect(readFileSync(join(root, 'x.txt'), 'utf8')).toBe('x');
    const memory = kit(memoryFiles(), write);
    expect((await runToRest(memory.bench.engine, memory.graph)).status).toBe('completed');
  });

  test('A31 a file that somebody else changed between plan and write is left as it is', async () => {
    const { bench, models, graph } = kit(
      localFiles({ root }),
      [[call('edit_file', { path: 'README.md', old_text: 'Stones', new_text: 'Cairns' })]],
      { allow: true },
    );
    const blobs = createMemoryBlobs();
    const put: typeof blobs.put = async (...args) => {
      const hash = await blobs.put(...args);
      // The plan is made; the write is not.
      if (Buffer.from(args[1]).includes('Cairns')) writeFileSync(join(root, 'README.md'), '# Mine\n');
      return hash;
    };
    const own = createBench({ ...bench.options, models, blobs: { ...blobs, put } });
    await runToRest(own.engine, graph);
    expect(toldTo(models)[0]?.output).toMatch(/^edit_file failed: README\.md was changed by somebody else/);
    expect(readFileSync(join(root, 'README.md'), 'utf8')).toBe('# Mine\n');
  });

  test('A31 a write in doubt happened if the new content is there, did not if the old one is, and else nobody knows', async () => {
    const context = createFakeContext();
    const files = localFiles({ root }).open(context);
    const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
    const file = await context.files.put(Buffer.from('# New\n'), { name: 'README.md' });
    const planned = { path: 'README.md', file, before: hashOf('# Stones\n') };
    expect(await files.reconcile(planned, 'key')).toEqual({ happened: false });
    writeFileSync(join(root, 'README.md'), '# Mine\n');
    expect(await files.reconcile(planned, 'key')).toEqual({ happened: 'unknown' });
    writeFileSync(join(root, 'README.md'), '# New\n');
    expect(await files.reconcile(planned, 'key')).toEqual({ happened: true, output: { path: 'README.md', file } });
  });

  test('A31 a file that is gone or changed when a run is resumed is told by name, once, and the run goes on', async () => {
    const files = localFiles({ root });
    const write = (path: string): ScriptedCall => call('write_file', { path, content: `${path}\n` });
    const { bench, models, graph } = kit(files, [[write('kept'), write('gone'), write('other')], [write('last')]], {
      allow: ['edit_file'],
    });
    let result = await runToRest(bench.engine, graph, {}, 'r');
    const approveAll = async (engine = bench.engine): Promise<void> => {
      for (const { waitId } of result.waits) await engine.answer('r', waitId, 'approve');
      result = await resumeToRest(engine, 'r', graph);
    };
    await approveAll();
    rmSync(join(root, 'gone'));
    writeFileSync(join(root, 'other'), 'mine\n');
    const engine = afterCrash(bench);
    engine.know(graph);
    await approveAll(engine);
    expect(result.status).toBe('completed');
    const tells: unknown[] = [];
    for await (const event of engine.events('r'))
      if (event.type === 'checkpoint')
        tells.push(...event.change.flatMap(({ kind, detail }) => (kind === 'event' ? [detail] : [])));
    expect(tells).toEqual([{ type: 'files-changed', missing: ['gone'], changed: ['other'] }]);
    expect(toldTo(models).map(({ output }) => output)).toHaveLength(4);
  });
});

test('A30 files in memory go along with the state: the next agent has them, and each content is stored once', async () => {
  const models = createScriptedModels(({ model, messages }) =>
    messages.some(({ role }) => role === 'tool')
      ? 'Done.'
      : model === 'writer'
        ? { calls: ['a.txt', 'b.txt'].map((path) => call('write_file', { path, content: 'the same text' })) }
        : { calls: [call('read_file', { path: 'b.txt' }), call('read_file', { path: 'given.txt' })] },
  );
  const bench = createBench({ models });
  const given = await bench.engine.files.put(Buffer.from('given'), { name: 'given.txt', type: 'text/plain' });
  const graph = graphOf(
    'g',
    [
      node('before', 'pure', () => null),
      {
        id: 'w',
        ...agent({
          model: 'writer',
          prompt: '1',
          files: memoryFiles({
            as: 'files',
            from: ({ state }) => ({ 'given.txt': (state.input as { readonly file: FileRef }).file }),
          }),
        }),
      },
      { id: 'r', ...agent({ model: 'reader', prompt: '2', files: memoryFiles({ as: 'files' }) }) },
    ],
    edges('> before', 'before > w', 'w > r', 'r >'),
  );
  const { state } = await runToRest(bench.engine, graph, { file: given });
  const { files } = state.artifacts as { readonly files: Readonly<Record<string, FileRef>> };
  expect(Object.keys(files).toSorted()).toEqual(['a.txt', 'b.txt', 'given.txt']);
  expect(files['a.txt']?.hash).toBe(files['b.txt']?.hash);
  expect(files['given.txt']).toBeInstanceOf(FileRef);
  expect(toldTo(models).map(({ output }) => output)).toEqual(['the same text', 'given']);
  const kept = await bench.options.blobs.sweep('default');
  const texts = await Promise.all(
    kept.rows.map(async ({ hash }) => Buffer.from(await bench.options.blobs.get('default', hash)).toString()),
  );
  // The text of the graph is kept there too.
  expect(texts.filter((text) => !text.startsWith('{')).toSorted()).toEqual(['given', 'the same text']);
});

test(
  'A31 P1 P2 killed at every point, an agent’s writes and edits are there once, and a write in doubt is told by what is there',
  { timeout: 120_000 },
  async () => {
    const turns = [
      [call('write_file', { path: 'report.md', content: 'draft\n' }), call('read_file', { path: 'src/a.ts' })],
      [call('edit_file', { path: 'report.md', old_text: 'draft', new_text: 'final draft' })],
      [call('read_file', { path: 'report.md' })],
    ];
    const report = await crashEverywhere(
      {
        graph: () => kit(localFiles({ root }), turns, { allow: true }).graph,
        models: () => kit(localFiles({ root }), turns).models,
        input: {},
        inspect: () => [readdirSync(root).toSorted(), readFileSync(join(root, 'report.md'), 'utf8')],
      },
      {
        open: (now) => {
          rmSync(join(root, 'report.md'), { force: true });
          return { store: createMemoryStore({ now }) };
        },
      },
    );
    expect(report.faults).toEqual([]);
    expect(report.trials).toBeGreaterThan(15);
    expect(readFileSync(join(root, 'report.md'), 'utf8')).toBe('final draft\n');
  },
);

test('A30 files in memory outlast a summary, after which earlier writes are on no live record', async () => {
  const ask = tool({
    description: 'Asks.',
    input: { type: 'object' },
    composed: true,
    run: (_, ctx) => ctx.ask({ prompt: 'Which?' }),
  });
  const turns = [
    call('write_file', { path: 'early.txt', content: 'early' }),
    call('write_file', { path: 'later.txt', content: 'later' }),
    call('ask', {}),
    call('read_file', { path: 'early.txt' }),
  ];
  let turn = 0;
  const models = createScriptedModels(({ model }) => {
    if (model === 'small') return 'It wrote.';
    const next = turns[(turn += 1) - 1];
    return next === undefined ? 'Done.' : { calls: [next] };
  });
  const bench = createBench({ models });
  const history = { messagesMax: 3, summary: { model: 'small', messagesKept: 1 } };
  const own = agent({ model: 'm', prompt: 'Go.', tools: { ask }, files: memoryFiles({ as: 'files' }), history });
  const graph = graphOf('g', [{ id: 'a', ...own }], edges('> a', 'a >'));
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  const engine = afterCrash(bench);
  engine.know(graph);
  await engine.answer('r', paused.waits[0]?.waitId ?? '', 'this one');
  const { status, state } = await resumeToRest(engine, 'r', graph);
  expect([status, state.outputs]).toEqual(['completed', { a: 'Done.' }]);
  expect(JSON.stringify(models.requests)).toContain(String.raw`read_file gave \"early\"`);
  expect(Object.keys(state.artifacts['files'] as object)).toEqual(['early.txt', 'later.txt']);
});
