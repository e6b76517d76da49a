/** Real files. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import * as fc from 'fast-check';
import { parse } from 'yaml';
import type { Inputs } from '../../../graph/contracts/node-type.ts';
import { failBlock, runBlock } from '../../../../test/support/run-block.ts';
import { outlineText, summarize, writeOutline, writeYamlListing } from './read-file.ts';
import { readFiles } from './read-files.ts';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'cairn-read-')));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const write = (folder: string, files: Readonly<Record<string, string | Buffer>>): void => {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
};
const folderWith = (files: Readonly<Record<string, string | Buffer>>): string => {
  const folder = mkdtempSync(join(root, 'case-'));
  write(folder, files);
  return folder;
};
const pathsOf = (output: Inputs): string[] => (output['files'] as { path: string }[]).map(({ path }) => path);

test('B21 one path gives the text as it is', async () => {
  const base = folderWith({ 'a.txt': 'one\ntwo\n' });
  expect(await runBlock(readFiles, { path: 'a.txt', base_path: base })).toEqual({
    content: 'one\ntwo\n',
    files: [{ path: 'a.txt', content: 'one\ntwo\n', size_bytes: 8 }],
    total_files: 1,
    total_size_kb: 0.01,
    skipped_files: [],
    patterns_matched: 1,
  });
});

test('B21 lines are counted from 1, and both ends are in it', async () => {
  const path = join(folderWith({ 'a.txt': 'one\ntwo\nthree\nfour' }), 'a.txt');
  const read = async (lines: Inputs): Promise<unknown> => (await runBlock(readFiles, { path, ...lines }))['content'];
  expect(await read({ line_start: 2, line_end: '3' })).toBe('two\nthree\n');
  expect(await read({ line_start: 4 })).toBe('four');
  expect(await read({ line_end: 1 })).toBe('one\n');
  expect(await read({ line_start: 9 })).toBe('');
});

test('B21 a path that cannot be read is a failure', async () => {
  const base = folderWith({ large: 'x'.repeat(2_000), binary: Buffer.from([0, 255]), 'deep/er': '' });
  for (const [path, code] of [
    ['absent', 'ENOENT'],
    ['large', 'FILE_TOO_LARGE'],
    ['binary', 'ENCODING'],
    ['deep', 'NOT_A_FILE'],
  ])
    expect(await failBlock(readFiles, { path, base_path: base, max_file_size_kb: 1 })).toMatchObject({ code });
});

test('B22 patterns find files, sorted, and several are told as one YAML text', async () => {
  const base = folderWith({
    'b.ts': 'b',
    'src/a.ts': 'a\n',
    'src/deep/c.tsx': 'c',
    'src/d.md': 'd',
    '.hidden.ts': 'h',
  });
  const output = await runBlock(readFiles, { patterns: '["**/*.{ts,tsx}", "./b.*"]', base_path: base });
  expect(pathsOf(output)).toEqual(['b.ts', 'src/a.ts', 'src/deep/c.tsx']);
  expect(parse(output['content'] as string)).toEqual({
    files: [
      { path: 'b.ts', content: 'b' },
      { path: 'src/a.ts', content: 'a\n' },
      { path: 'src/deep/c.tsx', content: 'c' },
    ],
  });
  expect(output).toMatchObject({ total_files: 3, patterns_matched: 3 });
});

test('B22 what is too large or no text is told of, and so are files over max_files', async () => {
  const base = folderWith({ a: 'a', b: 'x'.repeat(2_000), c: Buffer.from([255, 254]), d: 'd', e: 'e', f: 'f' });
  const output = await runBlock(readFiles, { patterns: ['*'], base_path: base, max_file_size_kb: 1, max_files: '4' });
  expect(pathsOf(output)).toEqual(['a', 'd']);
  expect(output['skipped_files']).toEqual([
    { path: 'b', reason: 'too_large', details: expect.any(String) },
    { path: 'c', reason: 'binary', details: expect.any(String) },
    { path: 'e', reason: 'max_files', details: 'this and 1 more' },
  ]);
});

test('B22 patterns that find nothing are a failure', async () => {
  const base = folderWith({ a: 'a' });
  expect(await failBlock(readFiles, { patterns: ['*.ts'], base_path: base })).toMatchObject({ code: 'NO_FILES' });
  expect(await failBlock(readFiles, { patterns: ['*'], base_path: join(base, 'absent') })).toMatchObject({
    code: 'NO_FILES',
  });
});

test.each(['+(a*)b', '(a*)+b', '*a*a*a*a*a*a*a*a*a*a*a*a*a*b'])(
  'B22 the pattern %s, which takes ages on some names, is given up',
  async (pattern) => {
    const base = folderWith({ [`${'a'.repeat(60)}!`]: 'a' });
    const failure = await failBlock(readFiles, { patterns: [pattern], base_path: base });
    expect(failure.code).toBe('INPUT_INVALID');
    expect(failure.message).toContain('take over 1000 ms');
  },
);

test('B22 media are base64', async () => {
  const base = folderWith({ 'p.png': Buffer.from([1, 2, 3]) });
  expect(await runBlock(readFiles, { path: 'p.png', base_path: base })).toMatchObject({
    content: 'AQID',
    files: [{ encoding: 'base64' }],
  });
});

test('B23 what is installed, built, ignored or excluded is left out', async () => {
  const base = folderWith({
    '.gitignore': 'secret*\n/only-top\nsub/kept/\n',
    'sub/.gitignore': '!secret-but-kept\nlocal\n',
    'sub/kept/.gitignore': '!*\n',
    'a.txt': '',
    'only-top': '',
    'sub/only-top': '',
    'secret.txt': '',
    'sub/secret-but-kept': '',
    'sub/local': '',
    'sub/kept/x': '',
    'node_modules/x/a.txt': '',
    'build/a.txt': '',
    'x.log': '',
    'skip/a.txt': '',
    'b.skip': '',
  });
  mkdirSync(join(base, '.git'));
  const inputs = { patterns: ['**'], base_path: base, exclude_patterns: ['skip/', '*.skip'] };
  expect(pathsOf(await runBlock(readFiles, inputs))).toEqual(['a.txt', 'sub/only-top', 'sub/secret-but-kept']);
  const all = pathsOf(await runBlock(readFiles, { ...inputs, respect_gitignore: 'false' }));
  expect(all).toContain('secret.txt');
  expect(all).not.toContain('node_modules/x/a.txt');
  const below = { patterns: ['**'], base_path: join(base, 'sub') };
  expect(pathsOf(await runBlock(readFiles, below))).toEqual(['only-top', 'secret-but-kept']);
});

test('B23 nothing outside of base_path is found, over links or patterns', async () => {
  const outside = folderWith({ 'theirs.txt': 'theirs' });
  const base = folderWith({ 'mine.txt': 'mine' });
  symlinkSync(outside, join(base, 'linked'));
  symlinkSync(join(outside, 'theirs.txt'), join(base, 'link.txt'));
  for (const pattern of ['**', '**/*.txt', '*/*.txt', 'linked/theirs.txt', '{..,.}/**', '*.txt', '@(..|.)/*/*'])
    for (const path of pathsOf(await runBlock(readFiles, { patterns: [pattern, 'mine.txt'], base_path: base })))
      expect(path).toBe('mine.txt');
  for (const pattern of ['../**', '/etc/*', 'a/../../b'])
    expect(readFiles.check?.({ patterns: [pattern] })).toMatchObject([{ input: 'patterns' }]);
});

test('B3 it asks for the path or the folder, and for none that is not known yet', () => {
  const base = folderWith({ a: '' });
  symlinkSync('/etc', join(base, 'etc'));
  expect(readFiles.needs?.({ path: 'etc/passwd', base_path: base })).toEqual([
    { kind: 'fs', path: join(base, 'etc/passwd') },
    { kind: 'fs', path: '/etc/passwd' },
  ]);
  expect(readFiles.needs?.({ patterns: ['*'], base_path: base })).toEqual([{ kind: 'fs', path: base }]);
  expect(readFiles.needs?.({ patterns: ['*'] })).toEqual([{ kind: 'fs', path: process.cwd() }]);
  expect(readFiles.needs?.({ patterns: ['*'] }, ['base_path'])).toEqual([{ kind: 'fs', path: undefined }]);
});

test('G9 inputs that contradict each other are refused by name', () => {
  expect(readFiles.check?.({ path: 'a', patterns: ['b'] })).toMatchObject([{ input: 'patterns' }]);
  expect(readFiles.check?.({ path: 'a', line_start: 1, mode: 'outline' })).toMatchObject([{ input: 'line_start' }]);
  expect(readFiles.check?.({ path: 'a', line_start: 3, line_end: 2 })).toMatchObject([{ input: 'line_end' }]);
  expect(readFiles.check?.({ patterns: Array.from({ length: 51 }, () => 'a') })).toMatchObject([{ input: 'patterns' }]);
  expect(readFiles.check?.({ path: 'a', max_files: 0, mode: 'x' })).toHaveLength(2);
});

const markdown = '# One\n\ntext\n\n```sh\n# no heading\n```\n\n## Two ##\n### Three\n#none\n';
const code = `import x from 'x';

export class Shop {
  static async open(): void {
    const inner = 1;
  }
  class Inner {
    def method(self):
  }
}
export const limit = 5;
fn main() {
`;

test('B24 an outline has the headings of Markdown, and what looks like a declaration elsewhere', () => {
  expect(writeOutline(outlineText(markdown, 'a.md'))).toBe(
    '1: # One\n9:   ## Two\n10:     ### Three'.replaceAll(/#+ /g, ''),
  );
  expect(writeOutline(outlineText(code, 'a.ts'))).toBe(
    [
      '3: export class Shop',
      '7:   class Inner',
      '8:     def method(self)',
      '11: export const limit = 5;',
      '12: fn main()',
    ].join('\n'),
  );
});

test('B24 a summary has the size, the beginning and the outermost sections', () => {
  expect(summarize('# T\nAbout this.\n\n## A\n### a\n## B\n', 't.md')).toBe(
    '6 lines\n\n# T\nAbout this.\n\n1: T\n4:   A\n6:   B',
  );
  expect(summarize('', 't.txt')).toBe('0 lines');
});

test('B24 the outline of one file comes with its sections', async () => {
  const base = folderWith({ 'a.md': markdown });
  expect(await runBlock(readFiles, { path: 'a.md', base_path: base, mode: 'outline' })).toMatchObject({
    content: '1: One\n9:   Two\n10:     Three',
    sections: [{ title: 'One', level: 1, line: 1 }, {}, { level: 3 }],
    total_sections: 3,
    max_depth: 3,
  });
});

test('B22 whatever texts are listed, YAML gives them back', () => {
  const content = fc.oneof(
    fc.string({
      unit: fc.constantFrom('a', ' ', '\n', '\t', '\r', '#', ':', '-', '"', "'", '\\', '\u0085', '\u2028', '🪨'),
    }),
    fc.string({ unit: fc.integer({ max: 0xffff, min: 0 }).map((code) => String.fromCharCode(code)) }),
  );
  fc.assert(
    fc.property(fc.array(fc.record({ path: content, content }), { minLength: 1, maxLength: 4 }), (files) => {
      expect(parse(writeYamlListing(files))).toEqual({ files });
    }),
  );
});
