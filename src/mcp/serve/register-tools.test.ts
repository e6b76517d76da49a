import * as sdk from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { toolList } from '../tools/tool-list.ts';
import { compiledWhenUsed } from './register-tools.ts';

test('P6 a schema of a tool is compiled once, when something is first held against it', async () => {
  let count = 0;
  const counted: Pick<typeof sdk, 'fromJsonSchema'> = {
    fromJsonSchema: (schema) => {
      count += 1;
      return sdk.fromJsonSchema(schema);
    },
  };
  const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
  const { '~standard': standard } = compiledWhenUsed(counted, schema);
  expect(standard.jsonSchema.input({ target: 'draft-2020-12' })).toEqual(schema);
  expect(count).toBe(0);
  expect(await standard.validate({ n: 1 })).toEqual({ value: { n: 1 } });
  expect(await standard.validate({ n: 'one' })).toEqual({ issues: [{ message: expect.stringContaining('number') }] });
  expect(count).toBe(1);
});

test('P6 the schemas of every tool can be compiled', () => {
  for (const { input, required, output } of toolList) {
    sdk.fromJsonSchema({
      type: 'object',
      properties: { ...input },
      required: [...required],
      additionalProperties: false,
    });
    sdk.fromJsonSchema(output);
  }
});
