/**
 * Texts that are written to keep a server busy: what they cost goes with their size, and what a client sends is read beside the server, within
 * two seconds of CPU time.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadFileDialects, type FileDialects } from '../../src/app/workflows/file-dialects.ts';
import { readForeignTexts, type ForeignTexts } from '../../src/app/workflows/foreign-texts.ts';
import { convertText } from '../../src/dialects/convert/convert-text.ts';
import { openApp } from '../../src/app/open-app.ts';
import { bearerTokens } from '../../src/http/authorize.ts';
import { createHandler } from '../../src/http/handler.ts';
import { createSeededRandom } from '../../src/ports/seeded-random.ts';
import { createWorkspace, serveHere } from '../mcp/mcp-kit.ts';
import { leastCpuRatio } from '../support/cpu-ratio.ts';
import { isProving, sample, scale } from '../support/scale.ts';

const many = (count: number, part: (index: number) => string): string =>
  Array.from({ length: Math.round(count) }, (_, index) => part(index)).join('');
const head = 'name: w\ninputs:\n  x: { type: str, default: a }\nblocks:\n';
const block = (id: string, more = '', command = 'echo hi'): string =>
  `  - id: ${id}\n    type: Shell\n    inputs:\n      command: ${command}\n${more}`;
const pipeline = (body: string): string => `digraph g {\n start [shape=Mdiamond]; end [shape=Msquare];\n${body}\n}\n`;
const chain = (count: number): string =>
  pipeline(
    `start -> s0;\n${many(count, (i) => `s${i} [label="x"];\n`)}${many(count - 1, (i) => `s${i} -> s${i + 1};\n`)}s${count - 1} -> end;`,
  );

/** Each as large as its number says, in units that take about as long for all of them. */
const shapes: Readonly<Record<string, (size: number) => string>> = {
  'many {{ }}': (size) => head + many(size * 40, (i) => block(`b${i}`, '', '"{{ inputs.nope }} {{ inputs.y }}"')),
  'many {{ }} in one text': (size) =>
    `name: w\nblocks:\n${block('a', '', `"${'{{ inputs.x }} '.repeat(size * 800)}"`)}`,
  '} again and again': (size) => '}'.repeat(size * 50_000),
  '[,,,': (size) => `[${','.repeat(size * 10_000)}`,
  'quotes that do not end': (size) => `a: ${'"'.repeat(size * 8_000)}`,
  'lists in lists': (size) => '['.repeat(size * 2_000),
  'mappings in mappings': (size) => '{a: '.repeat(size * 1_500),
  'anchors and aliases': (size) =>
    `name: w\nx:\n${many(size * 300, (i) => `  - &a${i} [1]\n  - *a${i}\n`)}blocks: []\n`,
  'a long chain of blocks': (size) =>
    head + many(size * 30, (i) => block(`b${i}`, i > 0 ? `    depends_on: [b${i - 1}]\n` : '')),
  'conditions that read what is not over': (size) =>
    head +
    many(size * 50, (i) => block(`b${i}`, i > 0 ? `    condition: \${blocks.b${i - 1}.outputs.exit_code == 0}\n` : '')),
  'many faults': (size) => head + many(size * 100, (i) => `  - id: b${i}\n    typ: She\n    nope: 1\n`),
  'the same key': (size) => 'a: 1\n'.repeat(size * 800),
  tabs: (size) => `a:\n${'\t- x\n'.repeat(size * 1_000)}`,
  'many comments': (size) => head + '# c\n'.repeat(size * 3_000) + block('a'),
  'one long line': (size) => `name: w\ndescription: "${'a'.repeat(size * 50_000)}"\nblocks: []\n`,
  'a long command': (size) => head + block('a', '', `|\n${'        echo ${inputs.x} "a $(b)"\n'.repeat(size * 200)}`),
  'a chain of stages': (size) => chain(size * 150),
  'stages that only edges name': (size) => pipeline(`start -> ${many(size * 150, (i) => `s${i} -> `)}end;`),
  'parallel stages': (size) =>
    pipeline(
      `start -> p0;\n${many(size * 6, (i) => `p${i} [shape=component]; j${i} [shape=tripleoctagon];\n${many(12, (k) => `p${i} -> s${i}_${k} -> j${i};\n`)}${i > 0 ? `j${i - 1} -> p${i};\n` : ''}`)}j${size * 6 - 1} -> end;`,
    ),
  'edges with conditions': (size) =>
    pipeline(
      `start -> a; a [shape=diamond];\n${many(size * 60, (i) => `a -> b${i} [condition="outcome=success && context.x=${i}"]; b${i} -> end;\n`)}a -> end;`,
    ),
  'a long attribute': (size) => pipeline(`start -> a -> end; a [prompt="${'x $goal '.repeat(size * 20_000)}"];`),
  'stages that nothing leads to': (size) =>
    pipeline(`start -> end;\n${many(size * 400, (i) => `a${i} [shape=nope, foo=bar];\n`)}`),
  'comments that do not end': (size) => `digraph g { ${'/* '.repeat(size * 100_000)}`,
  'a stylesheet of many rules': (size) =>
    `digraph g { graph [model_stylesheet="${many(size * 40, (i) => `#s${i} { llm_model: m; } `)}"];\n${chain(size * 40).slice(12)}`,
};

let dialect: FileDialects;
let foreign: ForeignTexts;
let cwd = '';
beforeAll(async () => {
  dialect = await loadFileDialects({ file: undefined }, []);
  cwd = mkdtempSync(join(tmpdir(), 'cairn-texts-'));
  foreign = readForeignTexts({ folders: [], cwd, allow: [], limitMs: 400 });
});
afterAll(async () => {
  await foreign.close();
  rmSync(cwd, { recursive: true });
});

/** Reads a text and writes it in the other dialect, if it has no faults. */
function readAndConvert(text: string): void {
  const from = text.startsWith('digraph') ? 'dot' : 'yaml';
  const noWorkflows = { get: () => undefined, names: () => [] };
  const { workflow } = dialect.checkWorkflow(text, { ...dialect.options, origin: 'inline', workflows: noWorkflows });
  if (workflow === undefined) return;
  convertText({ text, source: 'w', workflow, from, nodeTypes: dialect.nodeTypes }, from === 'dot' ? 'yaml' : 'dot');
}

test.each(sample(Object.entries(shapes), 8))(
  'P6 the CPU time of %s goes with the size',
  { timeout: 120_000 },
  async (_, shape) => {
    const unit = scale(0.5, 4);
    const [one, eight] = [shape(unit), shape(8 * unit)];
    const read = (text: string) => () => readAndConvert(text);
    // Of what goes with the square, each sign would cost eight times as much.
    const bound = (3 * eight.length) / (8 * one.length);
    expect(await leastCpuRatio(read(eight), read(one), { times: 8, bound })).toBeLessThan(bound);
  },
);

/** Pieces of the languages, of which random texts are made. */
const pieces = [
  ...'a ${ } {{ }} {% %} inputs.x ${inputs.x} blocks.b.outputs.y ( ) [ ] . " \' \\ - -- : , = == && || ! ? $ $( ` << <<E | & * # ; &a *a'.split(
    ' ',
  ),
  ...'!x /* // */ raw endraw -> get( size( 1 0. \u0301 \u{1f600} context. outcome= @ % { / ~ ^'.split(' '),
  ...[' ', '\n', '\t', '<<: *a', 'read ', 'declare -', 'printf -v ', 'getopts '].values(),
];
const quoted = JSON.stringify;
const oneBlock = (field: string): string => `${head}  - { id: a, type: Shell, inputs: { command: echo }, ${field} }\n`;
const oneStage = (attributes: string): string => pipeline(`start -> a -> end; a [${attributes}];`);
/** Places at which a text can stand. */
const contexts: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => head + block('a', '', quoted(text)),
  (text) => head + block('a', '', `x ${text}`),
  (text) => head + block('a', '', `>-\n${text.replaceAll(/^/gm, '        ')}`),
  (text) => oneBlock(`condition: ${quoted(text)}`),
  (text) => oneBlock(`description: ${quoted(text)}, depends_on: [${quoted(text)}]`),
  (text) => `${head}${block(quoted(text))}outputs:\n  o: { value: ${quoted(`\${${text}}`)} }\n`,
  (text) => `${head}${block('a')}outputs:\n  o: { value: ${quoted(`{{ ${text} }}`)} }\n`,
  (text) =>
    `name: w\ninputs: { x: { type: str, pattern: ${quoted(text)}, default: ${quoted(text)} } }\n${quoted(text)}: 1\nblocks: []\n`,
  (text) => `digraph g {${text}`,
  (text) => oneStage(`prompt=${quoted(text)}, label=${quoted(text)}, class=${quoted(text)}, timeout=${quoted(text)}`),
  (text) => oneStage(`shape=parallelogram, tool_command=${quoted(text)}, at_most=${quoted(text)}`),
  (text) => pipeline(`start -> a; a [shape=diamond]; a -> end [condition=${quoted(text)}, label=${quoted(text)}];`),
  (text) =>
    pipeline(`graph [goal=${quoted(text)}, params=${quoted(text)}, model_stylesheet=${quoted(text)}]; start -> end;`),
];

function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  return process.cpuUsage(before).user / 1_000;
}

test(
  'P6 the CPU time of texts made of random pieces, again and again, goes with their size',
  { timeout: 1_200_000 },
  () => {
    const random = createSeededRandom(Number(process.env['CAIRN_SEED'] ?? 1));
    const some = (count: number): string => Array.from({ length: count }, () => random.pick(pieces)).join('');
    for (let round = 0; round < scale(8, 1_000); round += 1) {
      const context = random.pick(contexts);
      const [first, again, last] = [some(random.integer(3)), some(1 + random.integer(3)), some(random.integer(3))];
      const costOf = (size: number): number => {
        const text = context(first + again.repeat(Math.ceil(size / again.length)) + last);
        return cpuMs(() => readAndConvert(text));
      };
      const one = Math.max(4, costOf(8_000));
      // Others use the machine too: what seems to be slow is read again.
      const isSlow = costOf(64_000) > 24 * one && costOf(64_000) > 24 * Math.max(one, costOf(8_000));
      expect([round, contexts.indexOf(context), first, again, last, isSlow]).toEqual([
        round,
        contexts.indexOf(context),
        first,
        again,
        last,
        false,
      ]);
    }
  },
);

test('P6 a text that takes too long is refused by name; other work goes on meanwhile, and the next text is read', async () => {
  await foreign.check('name: w\nblocks: []\n');
  let turns = 0;
  let isOver = false;
  const turn = (): void => {
    turns += 1;
    if (!isOver) setTimeout(turn, 1);
  };
  turn();
  const refused = await foreign.convert(chain(8_000), 'yaml').catch((error: unknown) => error);
  isOver = true;
  expect(refused).toMatchObject({ code: 'TEXT_TOO_COSTLY', data: { limit: '0.4 s of CPU time' } });
  expect(turns).toBeGreaterThan(50);
  expect((await foreign.check('name: w\nblocks: []\n')).violations.length).toBeGreaterThan(0);
  expect((await foreign.convert(chain(3), 'yaml')).text).toContain('blocks:');
});

test('P6 what a text is told in the thread is what it is told here, and faults come back by their names', async () => {
  const text = head + block('a', '    condition: "${blocks.b.succeeded}"\n') + block('b');
  const { workflow, violations } = dialect.checkWorkflow(text, { ...dialect.options, origin: 'inline' });
  const { graph: _, checkpoint: __, effect: ___, ...description } = workflow ?? ({} as NonNullable<typeof workflow>);
  expect(await foreign.check(text)).toEqual({ workflow: workflow === undefined ? undefined : description, violations });
  await expect(foreign.convert('name: w\n', 'dot')).rejects.toMatchObject({ code: 'GRAPH_INVALID' });
  await expect(foreign.convert(chain(2), 'dot')).rejects.toMatchObject({ code: 'USAGE_INVALID' });
});

test('P6 texts wait in a queue with an end', async () => {
  const requests = Array.from({ length: 40 }, () =>
    foreign.check(chain(100)).then(
      () => 'read',
      ({ code }: { code: string }) => code,
    ),
  );
  const answers = await Promise.all(requests);
  expect(answers.filter((answer) => answer === 'read')).toHaveLength(17);
  expect(answers.filter((answer) => answer === 'READER_BUSY')).toHaveLength(23);
});

test('P6 over MCP a costly text is refused and other calls are answered before', { timeout: 60_000 }, async () => {
  const workspace = createWorkspace();
  try {
    const { call } = await (await serveHere(workspace, { allow: ['inline'] })).connect();
    const order: string[] = [];
    const costly = Promise.all(
      [
        call('convert_workflow', { text: chain(40_000), to: 'yaml' }),
        ...(isProving ? [call('execute_inline_workflow', { workflow_yaml: chain(40_000) })] : []),
      ].map(async (asked) => {
        const answer = JSON.stringify(await asked);
        order.push('costly');
        return answer;
      }),
    );
    for (let i = 0; i < 5; i += 1) {
      await call('list_runs', {});
      order.push('quick');
    }
    for (const said of await costly) expect(said).toContain('TEXT_TOO_COSTLY');
    expect(order.lastIndexOf('quick')).toBeLessThan(order.indexOf('costly'));
  } finally {
    await workspace.remove();
  }
});

test.skipIf(!isProving)(
  'P6 over HTTP a costly text is a 413 with its name (two seconds of CPU: npm run prove)',
  { timeout: 60_000 },
  async () => {
    const token = 'token-of-ann-0123456789';
    const app = await openApp({ cwd, storeUrl: 'runs.db' });
    const handler = createHandler({
      app,
      authorize: bearerTokens([{ token, principal: 'ann', kind: 'person', scopes: ['read'] }]),
    });
    try {
      const body = JSON.stringify({ text: chain(40_000) });
      const response = await handler(
        new Request('http://127.0.0.1/v1/workflows/check', {
          method: 'POST',
          body,
          headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        }),
      );
      expect([response.status, await response.json()]).toMatchObject([413, { code: 'TEXT_TOO_COSTLY' }]);
    } finally {
      handler.close();
      await app.close();
    }
  },
);
