/** The table of what each dialect can say: its words are those of the code, and no word of YAML is missing from it. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { builtInBlocks } from '../src/app/workflows/built-in-blocks.ts';
import { blockFields, workflowFields } from '../src/dialects/yaml/file/format.ts';
import { attributeRules } from '../src/dialects/dot/model/attributes.ts';

const root = join(import.meta.dirname, '..');
const page = readFileSync(join(root, 'docs/guide/dialects.md'), 'utf8');
const rows = (page.split('## One in another')[0] ?? '')
  .split('\n')
  .filter((line) => line.startsWith('|') && !/^\| (?:feature|---)/u.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()));

const blocks = builtInBlocks();
const sources = [
  'dialects/code',
  'dialects/flow',
  'graph/contracts',
  'nodes',
  'agents',
  'sandboxes',
  'plans',
  'app',
].flatMap((folder) =>
  readdirSync(join(root, 'src', folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => readFileSync(join(root, 'src', folder, name), 'utf8')),
);
const code = sources.join('\n');
const inputsOf = blocks.flatMap(({ inputs }) => Object.keys(inputs));
const yamlWords = new Set([
  ...Object.keys(workflowFields),
  ...Object.keys(blockFields),
  ...blocks.map(({ name }) => name),
  ...inputsOf,
  // Of a dependency, and what a configuration defines.
  'required',
  'defineBlock',
]);
const dotWords = new Set([
  ...Object.values(attributeRules).flatMap((rules) => [...rules.keys()]),
  'secret',
  'sandboxNode',
]);

const wordsIn = (cell: string): readonly string[] =>
  [...cell.matchAll(/`([^`]+)`/gu)].map(([, word]) => word as string);
const isInCode = (word: string): boolean =>
  new RegExp(`\\b${(word.split('.').at(-1) as string).replaceAll('$', '\\$')}\\b`, 'u').test(code);

describe('P6 the table of dialects', () => {
  test.each(rows.map(([, feature = '', typescript = '', yaml = '', dot = '']) => ({ feature, typescript, yaml, dot })))(
    '$feature',
    ({ typescript, yaml, dot }) => {
      const unknown = [
        ...wordsIn(typescript).filter((word) => !isInCode(word)),
        ...wordsIn(yaml).filter((word) => !yamlWords.has(word)),
        ...wordsIn(dot).filter((word) => !dotWords.has(word)),
      ];
      expect(unknown).toEqual([]);
      const silent = [typescript, yaml, dot].filter((cell) => wordsIn(cell).length === 0 && !cell.startsWith('no: '));
      expect(silent).toEqual([]);
    },
  );

  test('names every field of a workflow and of a block in YAML, and every block', () => {
    const told = new Set(rows.flatMap(([, , , yaml = '']) => wordsIn(yaml)));
    // What only names or describes needs no row, and neither does an older name (`limits`).
    const plain = ['name', 'description', 'author', 'tags', 'blocks', 'id', 'type', 'limits'];
    const fields = [...Object.keys(workflowFields), ...Object.keys(blockFields), ...blocks.map(({ name }) => name)];
    expect(fields.filter((word) => !told.has(word) && !plain.includes(word))).toEqual([]);
  });
});
