/**
 * Paths that are written to leave a granted folder. The oracle is the file system: whatever a block said, nothing outside of the folder
 * may have been read, made, changed or removed.
 */
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import * as fc from 'fast-check';
import type { Inputs, Need, NodeType } from '../../src/graph/contracts/node-type.ts';
import { parsePermissions, refusalOf } from '../../src/graph/permissions/permissions.ts';
import { createFile } from '../../src/nodes/blocks/files/render-template.ts';
import { editFile } from '../../src/nodes/blocks/files/edit-file.ts';
import { mergeJsonState, readJsonState, writeJsonState } from '../../src/nodes/blocks/files/json-state.ts';
import { readFile } from '../../src/nodes/blocks/files/read-file.ts';
import { readFiles } from '../../src/nodes/blocks/files/read-files.ts';
import { sqlBlock } from '../../src/nodes/blocks/sql.ts';
import { connectStdio, createWorkspace } from '../mcp/mcp-kit.ts';
import { createBlockContext } from '../support/run-block.ts';
import { scale } from '../support/scale.ts';

let top = '';
beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'cairn-escape-')));
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

const secret = 'what stands outside';

/** A granted folder `scratch` between others, with links in it that lead inside, outside, and to nothing outside. */
function layOut(): string {
  const base = mkdtempSync(join(top, 'case-'));
  for (const folder of ['scratch/a', 'workflows', 'scratch-2', 'Scratch'])
    mkdirSync(join(base, folder), { recursive: true });
  for (const place of ['workflows/w.json', 'scratch-2/w.json', 'scratch\\a', 'w.json'])
    writeFileSync(join(base, place), JSON.stringify({ secret }));
  writeFileSync(join(base, 'scratch/a/w.json'), '{"own":true}');
  const links = { in: 'a', out: '../workflows', up: '..', gone: '../new', file: '../w.json', 'gone.db': '../new.db' };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(base, 'scratch', name));
  return base;
}

/** Everything but the granted folder's content: names, kinds and bytes. */
function outside(base: string): readonly string[] {
  const seen: string[] = [];
  const walk = (below: string): void => {
    for (const name of readdirSync(join(base, below)).sort()) {
      const place = join(below, name);
      const found = lstatSync(join(base, place));
      const what = found.isFile()
        ? readFileSync(join(base, place), 'utf8')
        : found.isSymbolicLink()
          ? readlinkSync(join(base, place))
          : '';
      seen.push(`${place} ${found.mode} ${what}`);
      if (found.isDirectory() && place !== 'scratch') walk(place);
    }
  };
  walk('');
  return seen;
}

const isGrantedIn = (base: string): ((need: Need) => boolean) => {
  const { permissions } = parsePermissions([`fs=${join(base, 'scratch')}`]);
  return (need) => refusalOf(need, permissions) === undefined;
};

const uses = (path: string): readonly (readonly [NodeType, Inputs])[] => [
  [readFile, { path }],
  [readFiles, { path }],
  [readFiles, { patterns: ['**/*', path], base_path: path }],
  [readJsonState, { path }],
  [createFile, { path, content: '{"written":1}' }],
  [createFile, { path, content: '{"written":1}', overwrite: false }],
  [
    editFile,
    { path, operations: [{ type: 'replace_lines', start: 1, end: 1, content: 'x' }], create_if_missing: true },
  ],
  [writeJsonState, { path, data: { written: 1 } }],
  [mergeJsonState, { path, updates: { written: 1 } }],
];

/** What a dialect does before and in an attempt. */
async function use(
  type: NodeType,
  inputs: Inputs,
  isGranted: (need: Need) => boolean,
  isJudged: boolean,
): Promise<string> {
  if (isJudged && type.needs?.(inputs).every(isGranted) === false) return 'PERMISSION_DENIED';
  try {
    return JSON.stringify(await type.run(createBlockContext(inputs, { isGranted })));
  } catch (error) {
    return `${(error as { readonly code?: string }).code ?? ''} ${(error as Error).message}`;
  }
}

const part = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom('..', '.', 'a', 'in', 'out', 'up', 'gone', 'file', 'gone.db', 'w.json', 'new'),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom('scratch', 'workflows', 'scratch-2', 'Scratch', 'SCRATCH', 'scratch\u0301', 'ｓcratch'),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '..\\',
      'a\\..\\..\\scratch',
      '%2e%2e',
      '..%2f',
      '. .',
      '...',
      'a:b',
      '..:',
      '\0',
      'a\0b',
      '~',
      '..\u2044',
      '．．',
    ),
  },
  {
    weight: 1,
    arbitrary: fc.string({ unit: fc.constantFrom('\\', '.', ':', '%', 'a', ' '), minLength: 1, maxLength: 6 }),
  },
);
const way = fc.tuple(
  fc.constantFrom('scratch', 'scratch', 'scratch', 'workflows', '', 'scratch\\a'),
  fc.array(fc.tuple(fc.constantFrom('/', '/', '/', '\\', '//'), part), { minLength: 1, maxLength: 7 }),
);
const pathOf = (base: string, [first, rest]: typeof way extends fc.Arbitrary<infer T> ? T : never): string =>
  `${base}/${first}${rest.map(([separator, name]) => separator + name).join('')}`;

test(
  'Y6 no path of random parts, links and separators reads or writes outside of the granted folder',
  { timeout: 1_200_000 },
  async () => {
    let [done, refused] = [0, 0];
    await fc.assert(
      fc.asyncProperty(way, fc.nat(), fc.boolean(), async (steps, pick, isJudged) => {
        const base = layOut();
        try {
          const before = outside(base);
          const all = uses(pathOf(base, steps));
          const [type, inputs] = all[pick % all.length] as (typeof all)[number];
          const said = await use(type, inputs, isGrantedIn(base), isJudged);
          if (said.startsWith('{')) done += 1;
          else refused += 1;
          expect(said).not.toContain(secret);
          expect(outside(base)).toEqual(before);
        } finally {
          rmSync(base, { recursive: true, force: true });
        }
      }),
      {
        numRuns: scale(300, 20_000),
        examples: [
          [
            [
              'workflows',
              [
                ['/', 'a\\..\\..\\scratch'],
                ['/', 'pwned.yaml'],
              ],
            ],
            4,
            true,
          ],
          [
            [
              'workflows',
              [
                ['/', 'a\\..\\..\\scratch'],
                ['/', 'pwned.yaml'],
              ],
            ],
            4,
            false,
          ],
          [['scratch\\a', []], 0, true],
          [
            [
              'scratch',
              [
                ['/', 'gone'],
                ['/', 'x'],
              ],
            ],
            4,
            true,
          ],
        ],
      },
    );
    // It was a contest: both came about.
    expect(Math.min(done, refused)).toBeGreaterThan(20);
  },
);

test('Y6 a database of Sql is opened in the granted folder only, whatever separators and links its path has', async () => {
  const base = layOut();
  const before = outside(base);
  const isGranted = isGrantedIn(base);
  const write = 'create table if not exists t (x)';
  const inside = ['scratch/a.db', 'scratch/in/b.db', 'scratch/a\\..\\c.db', 'scratch/new/d.db'];
  const escapes = [
    'workflows/a\\..\\..\\scratch/p.db',
    'scratch\\a',
    'scratch\\a\\b.db',
    'scratch/out/p.db',
    'scratch/up/p.db',
    'scratch/gone/p.db',
    'scratch/gone.db',
    'scratch/file',
    'scratch-2/p.db',
    'SCRATCH/p.db',
  ];
  for (const isJudged of [true, false])
    for (const sql of [write, 'select 1 as one'])
      for (const path of escapes) {
        const said = await use(sqlBlock, { engine: 'sqlite', path: join(base, path), sql }, isGranted, isJudged);
        expect([path, said.split(' ')[0]]).toEqual([path, 'PERMISSION_DENIED']);
        expect(outside(base)).toEqual(before);
      }
  for (const path of inside)
    expect(await use(sqlBlock, { engine: 'sqlite', path: join(base, path), sql: write }, isGranted, true)).toMatch(
      /^\{/,
    );
  symlinkSync('../w.json', join(base, 'scratch/a.db-journal'));
  const linked = { engine: 'sqlite', path: join(base, 'scratch/a.db'), sql: 'create table u (x)' };
  expect(await use(sqlBlock, linked, isGranted, true)).toMatch(/^PATH_REFUSED/);
});

test('Y6 a client of the server that is granted one folder cannot write a workflow into another by backslashes', async () => {
  const workspace = createWorkspace();
  try {
    const scratch = join(workspace.folder, 'scratch');
    mkdirSync(scratch);
    const { call } = await connectStdio(workspace, {}, ['--allow', `inline,fs=${scratch}`]);
    const path = `${workspace.folder}/workflows/a\\..\\..\\scratch/pwned.yaml`;
    const text = (to: string): string =>
      `name: w\ndescription: d\ninputs: { to: {} }\nblocks: [{ id: a, type: CreateFile, inputs: { path: ${to}, content: x } }]\n`;
    const literal = await call('execute_inline_workflow', { workflow_yaml: text(`'${path}'`), inputs: { to: path } });
    expect(JSON.stringify(literal)).toContain('CreateFile is not allowed here');
    const computed = await call('execute_inline_workflow', { workflow_yaml: text("'${to}'"), inputs: { to: path } });
    expect(JSON.stringify(computed)).toContain('CreateFile is not allowed here');
    expect(readdirSync(join(workspace.folder, 'workflows'))).toEqual([]);
    const own = { to: join(scratch, 'b\\c') };
    expect(await call('execute_inline_workflow', { workflow_yaml: text("'${to}'"), inputs: own })).not.toHaveProperty(
      'isError',
    );
    expect(readdirSync(scratch)).toEqual(['b\\c']);
  } finally {
    await workspace.remove();
  }
});
