/** What is read and written is what was granted, though links on the way change meanwhile (B3). */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Inputs, Need, NodeType } from '../../../graph/contracts/node-type.ts';
import { whilePathFlips } from '../../../../test/support/flipping-path.ts';
import { createFakeContext } from '../../../testing/node-suite/fake-context.ts';
import { createFile } from './render-template.ts';
import { editFile } from './edit-file.ts';
import { mergeJsonState, readJsonState, writeJsonState } from './json-state.ts';
import { readFile } from './read-file.ts';
import { readFiles } from './read-files.ts';

let folder = '';
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'cairn-places-')));
  for (const name of ['granted', 'granted/inner', 'outside']) mkdirSync(join(folder, name));
  writeFileSync(join(folder, 'outside/x.json'), '{"secret":true}');
  writeFileSync(join(folder, 'granted/inner/x.json'), '{"own":true}');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const isGranted = (need: Need): boolean =>
  need.kind === 'fs' && need.path !== undefined && `${need.path}/`.startsWith(`${join(folder, 'granted')}/`);

async function use(type: NodeType, inputs: Inputs): Promise<string> {
  try {
    return JSON.stringify(await type.run({ ...createFakeContext(), inputs, fileOutputs: [], isGranted }));
  } catch (error) {
    return (error as { readonly code?: string }).code ?? String(error);
  }
}

const uses = (path: string): readonly (readonly [NodeType, Inputs])[] => [
  [readFile, { path }],
  [readFiles, { path }],
  [readJsonState, { path }],
  [createFile, { path, content: '{"written":true}' }],
  [editFile, { path, operations: [{ type: 'replace_text', old_text: 'true', new_text: 'false' }] }],
  [writeJsonState, { path, data: { written: true } }],
  [mergeJsonState, { path, updates: { written: true } }],
];

test('B3 a link that leads out of what is granted is refused when it is used, one that stays inside is followed', async () => {
  symlinkSync(join(folder, 'outside'), join(folder, 'granted/out'));
  symlinkSync(join(folder, 'granted/inner'), join(folder, 'granted/in'));
  for (const [type, inputs] of uses(join(folder, 'granted/out/x.json')))
    expect(await use(type, inputs)).toBe('PERMISSION_DENIED');
  for (const [type, inputs] of uses(join(folder, 'granted/in/x.json'))) expect(await use(type, inputs)).toMatch(/^\{/);
  const made = { path: join(folder, 'granted/out/a/b/c'), content: 'x' };
  expect(await use(createFile, made)).toBe('PERMISSION_DENIED');
  expect(readdirSync(join(folder, 'outside'))).toEqual(['x.json']);
  expect(readFileSync(join(folder, 'outside/x.json'), 'utf8')).toBe('{"secret":true}');
  expect(await use(createFile, { path: join(folder, 'granted/in/a/b/c'), content: 'x' })).toMatch(/^\{/);
  expect(readFileSync(join(folder, 'granted/inner/a/b/c'), 'utf8')).toBe('x');
});

test('B3 a process that flips a link gets no read and no write outside', async () => {
  const link = join(folder, 'granted/link');
  const seen = new Map<string, number>();
  const places = { path: link, inside: join(folder, 'granted/inner'), outside: join(folder, 'outside') };
  await whilePathFlips(places, 'link', async () => {
    for (let round = 0; round < 60; round += 1) {
      const made = { path: join(link, `new-${round}/deep/file`), content: 'x' };
      for (const [type, inputs] of [...uses(join(link, 'x.json')), [createFile, made] as const]) {
        const said = await use(type, inputs);
        expect(said).not.toContain('secret');
        const what = said.startsWith('{') ? 'done' : said;
        seen.set(what, (seen.get(what) ?? 0) + 1);
      }
    }
  });
  expect(readdirSync(join(folder, 'outside'))).toEqual(['x.json']);
  expect(readFileSync(join(folder, 'outside/x.json'), 'utf8')).toBe('{"secret":true}');
  // It was a contest: both came about.
  expect(seen.get('done')).toBeGreaterThan(0);
  expect(seen.get('PERMISSION_DENIED')).toBeGreaterThan(0);
}, 60_000);
