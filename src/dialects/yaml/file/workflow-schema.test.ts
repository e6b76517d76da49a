/** The JSON Schema and the checker say the same of a file's format. */
import { readdirSync, readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { types, faultsOf } from '../../../../test/yaml-kit.ts';
import { createNodeTypes } from '../../../nodes/blocks/index.ts';
import { namespaces } from '../expression/resolve-names.ts';
import { workflowSchema } from '../index.ts';
import { reservedIds } from './format.ts';

const fits = new Ajv2020({ strict: true }).compile(workflowSchema(types));

const head = 'name: w\ndescription: d\n';
const good: readonly string[] = [
  `${head}blocks: [{ id: a, type: Note }]`,
  `${head}inputs: { x: { type: int, default: 1, minimum: 0, enum: [1, 2] } }\nblocks: [{ id: a, type: Note, inputs: { size: "\${x}", text: hi, mode: a } }]`,
  `${head}version: 1.0\ntags: [a]\nauthor:\nsecrets: [K]\nlimits: { concurrency: 3 }\ncheckpoint: { enabled: true }\nblocks: [{ id: a, type: Note, inputs: { token: "\${secrets.K}" } }]`,
  `${head}blocks: [{ id: a, type: Ask, inputs: { prompt: p } }, { id: b, type: Note, inputs: , depends_on: [{ block: a, required: false }], condition: true }]\noutputs: { a: "\${a.answer}", b: { value: [1], type: list }, c: 3 }`,
  `${head}blocks: [{ id: a, type: Effect, for_each: [1], for_each_mode: sequential, continue-on-error: true, retry: { attempts: 2 }, timeout: 5m, on_in_doubt: fail, outputs: { f: { type: str, path: x } } }]`,
  `${head}blocks: [{ id: a, type: Note, inputs: { size: "{{ inputs.x }}" } }, { id: b, type: Note }]\ninputs: { x: { type: json } }`,
  `${head}secrets: { K: , L: { description: l } }\nblocks: [{ id: a, type: Workflow, inputs: { workflow: "\${metadata.workflow_name}", inputs: { x: 1 }, timeout: 30s } }]`,
];
const bad: readonly string[] = [
  'blocks: [{ id: a, type: Note }]',
  `${head}blocks: []`,
  `${head}blocks: [{ id: a-b, type: Note }]`,
  `${head}blocks: [{ id: a, type: Nope }]`,
  `${head}blocks: [{ id: a, type: Note }, { id: a, type: Note }]`,
  `${head}blocks: [{ id: each, type: Note }]`,
  `${head}blocks: [{ id: __a, type: Note }]`,
  `${head}blocks: [{ id: a, type: Note, when: x }]`,
  `${head}blocks: [{ id: a, type: Note, inputs: { nope: 1 } }]`,
  `${head}blocks: [{ id: a, type: Note, inputs: { size: -1 } }]`,
  `${head}blocks: [{ id: a, type: Note, inputs: { size: x } }]`,
  `${head}blocks: [{ id: a, type: Note, inputs: { mode: c } }]`,
  `${head}blocks: [{ id: a, type: Ask }]`,
  `${head}blocks: [{ id: a, type: Ask, inputs: { } }]`,
  `${head}blocks: [{ id: a, type: Note, depends_on: b }]`,
  `${head}blocks: [{ id: a, type: Note, outputs: { f: { type: str, path: x } } }]`,
  `${head}blocks: [{ id: a, type: Effect, outputs: { f: { type: str } } }]`,
  `${head}blocks: [{ id: a, type: Note, retry: 0 }]`,
  `${head}blocks: [{ id: a, type: Note, timeout: soon }]`,
  `${head}blocks: [{ id: a, type: Note, timeout: 0.0s }]`,
  `${head}blocks: [{ id: a, type: Note, retry: { attempts: 2, delay: 0ms } }]`,
  `${head}blocks: [{ id: a, type: Note, max_parallel: 1001, for_each: [] }]`,
  `${head}blocks: [{ id: a, type: Note }]\noutputs: { x: { type: str } }`,
  `${head}blocks: [{ id: a, type: Note }]\ninputs: { x: { type: strng } }`,
  `${head}blocks: [{ id: a, type: Note }]\nflush_memory_on_complete: true`,
];

test.each(good)('Y2 the schema and the checker take %s', (text) => {
  expect([fits(parse(text)), fits.errors]).toEqual([true, null]);
  expect(faultsOf(text)).toEqual([]);
});

test.each(bad)('Y2 the schema and the checker refuse %s', (text) => {
  expect(fits(parse(text))).toBe(false);
  expect(faultsOf(text)).not.toEqual([]);
});

test('Y4 no id of a block is one of the words that texts begin with', () => {
  expect(namespaces.filter((name) => !reservedIds.includes(name))).toEqual([]);
});

test('Y2 the schema of the built-in blocks is one, and describes every field', () => {
  const schema = workflowSchema(createNodeTypes());
  const isValid = new Ajv2020({ strict: true, allErrors: true }).compile(schema);
  const undescribed: string[] = [];
  let fields = 0;
  const visit = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, item] of Object.entries(value)) {
      const isField = path.endsWith('/properties') && !path.includes('/if/');
      if (isField) fields += 1;
      if (isField && (item as { description?: string }).description === undefined && item !== false)
        undescribed.push(`${path}/${key}`);
      visit(item, `${path}/${key}`);
    }
  };
  visit({ properties: schema['properties'], $defs: schema['$defs'] }, '');
  expect(fields).toBeGreaterThan(100);
  expect(undescribed.filter((path) => !/schema|anyOf|items|oneOf|properties\/properties/.test(path))).toEqual([]);
  const examples = new URL('../../../../examples/workflows/', import.meta.url);
  const names = readdirSync(examples).filter((file) => file.endsWith('.yaml'));
  expect(names).toContain('release-checklist.yaml');
  for (const name of names) {
    const data: unknown = parse(readFileSync(new URL(name, examples), 'utf8'));
    expect([name, isValid(data), isValid.errors]).toEqual([name, true, null]);
  }
});
