/** The modules are imported by Node itself, in a process of its own, as the command line does it. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const makeGraph = `const makeGraph = (id: string): { graph: object } => ({ graph: { id, nodeIndex: new Map() } });`;
const modules: Readonly<Record<string, string>> = {
  'one.ts': `${makeGraph}\nexport const only = makeGraph('one');`,
  'several.ts': `${makeGraph}\nexport const first = makeGraph('first');\nexport const second = makeGraph('second');`,
  'preferred.ts': `${makeGraph}\nexport const other = makeGraph('other');\nexport const workflow = makeGraph('workflow');`,
  'uncompiled.ts': `${makeGraph}\nexport const draft = { toGraph: (): object => makeGraph('draft').graph };`,
  'beside.ts': `${makeGraph}\nexport const part = { toGraph: (): object => { throw new Error('built'); } };\nexport const whole = makeGraph('whole');`,
  'empty.ts': 'export const graph = {};',
  'broken.ts': 'export const graph = 1;\nconst = 2;',
  'throwing.ts': `const value = JSON.parse('{}') as { list: unknown[] };\n\nexport const length = value.list.length;`,
  'misused.ts': `import { humanNode } from ${JSON.stringify(join(import.meta.dirname, '../../nodes/builders.ts'))};\n\nexport const node = humanNode({ ask: 'Go on?' } as never);`,
  'missing-import.ts': `import 'no-such-package-anywhere';`,
  'later.ts': `await Promise.resolve();\n${makeGraph}\nexport const graph = makeGraph('later');`,
  'note.md': '# no module',
};

const folder = mkdtempSync(join(tmpdir(), 'cairn-graphs-'));
beforeAll(() => {
  for (const [name, text] of Object.entries(modules)) writeFileSync(join(folder, name), text);
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Reply {
  readonly id?: string;
  readonly exportName?: string;
  readonly source?: string;
  readonly code?: string;
  readonly message?: string;
  readonly hint?: string;
}

/** Loads several modules at once, since a process costs more than a module. */
function load(requests: readonly (readonly [file: string, exportName?: string])[]): readonly Reply[] {
  const module = JSON.stringify(join(import.meta.dirname, 'load-graph-module.ts'));
  const code = `
    import { loadGraphModule } from ${module};
    const replies = [];
    for (const [file, exportName] of ${JSON.stringify(requests)}) {
      try {
        const { graph, ...rest } = await loadGraphModule(${JSON.stringify(folder)}, file, exportName);
        replies.push({ id: graph.id, ...rest });
      } catch (error) {
        replies.push({ code: error.code, message: error.message, hint: error.hint });
      }
    }
    console.log(JSON.stringify(replies));`;
  const { stdout, stderr } = spawnSync('node', ['--input-type=module', '-e', code], { encoding: 'utf8' });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as readonly Reply[];
}

test('P6 a module gives its graph, or says what is wrong and where', () => {
  const replies = load([
    ['one.ts'],
    ['later.ts'],
    ['./preferred.ts'],
    ['preferred.ts', 'other'],
    ['uncompiled.ts'],
    ['beside.ts'],
    ['several.ts'],
    ['several.ts', 'third'],
    ['empty.ts'],
    ['broken.ts'],
    ['throwing.ts'],
    ['misused.ts'],
    ['missing-import.ts'],
    ['nowhere.ts'],
    ['.'],
    ['note.md'],
  ]);
  expect(replies.slice(0, 6)).toMatchObject([
    { id: 'one', exportName: 'only', source: 'one.ts' },
    { id: 'later' },
    { id: 'workflow', exportName: 'workflow', source: 'preferred.ts' },
    { id: 'other', exportName: 'other' },
    // Not compiled: the command compiles it over its own store. Where something is compiled, that is meant.
    { id: 'draft', exportName: 'draft' },
    { id: 'whole', exportName: 'whole' },
  ]);
  expect(replies.slice(6).map(({ code, message }) => `${code}: ${message}`)).toEqual([
    'USAGE_INVALID: several.ts exports several graphs: first, second',
    'GRAPH_PARSE: cannot read several.ts: it exports no graph third, but first, second',
    'GRAPH_PARSE: cannot read empty.ts: it exports no graph, workflow or flow',
    expect.stringMatching(/^GRAPH_PARSE: cannot read broken\.ts:2: /),
    expect.stringMatching(/^GRAPH_PARSE: cannot read throwing\.ts:3: TypeError: Cannot read/),
    expect.stringMatching(/^CONFIG_INVALID: bad configuration at misused\.ts:3: humanNode knows no option "ask"; /),
    expect.stringMatching(/^GRAPH_PARSE: cannot read missing-import\.ts: .*no-such-package-anywhere/),
    'GRAPH_PARSE: cannot read nowhere.ts: there is no such file',
    'GRAPH_PARSE: cannot read .: it is not a file',
    expect.stringMatching(
      /^GRAPH_PARSE: cannot read note\.md: a workflow ends with \.yaml or \.yml, a module with \.ts/,
    ),
  ]);
  expect(replies[6]?.hint).toBe('Name one of them: --export first');
});
