import { expect, test } from 'vitest';
import { readAnswer } from './read-answer.ts';

const choices = ['Deploy', { value: 'stop', label: 'Stop it' }, { value: { retry: true }, label: 'Try again' }, 3];
const asked = (schema: object): { readonly schema: object } => ({ schema });

test.each<[what: string, wait: Parameters<typeof readAnswer>[0], text: string, meant: unknown]>([
  ['a choice by its value', { choices }, 'stop', 'stop'],
  ['a choice by its label', { choices }, 'Stop it', 'stop'],
  ['a choice by its label, spaces around', { choices }, ' Try again\n', { retry: true }],
  ['a choice by its value as JSON', { choices }, '{"retry":true}', { retry: true }],
  ['a number among choices', { choices }, '3', 3],
  ['what is no choice', { choices }, 'maybe', 'maybe'],
  ['a text where texts are asked for', asked({ type: 'string' }), '42', '42'],
  ['a text where texts are asked for too', asked({ type: ['number', 'string'] }), '{"a": 1}', '{"a": 1}'],
  ['a number where numbers are', asked({ type: 'number' }), '1.50', 1.5],
  ['an object where objects are', asked({ type: 'object' }), '{"a": 1}', { a: 1 }],
  ['no number where numbers are', asked({ type: 'integer' }), 'many', 'many'],
  ['what an enum of texts has', asked({ enum: ['1', '2'] }), '1', '1'],
  ['what an enum of numbers has', asked({ enum: [1, 2] }), '1', 1],
  ['a text that one of several schemas takes', asked({ anyOf: [{ type: 'string' }, { type: 'null' }] }), '42', '42'],
  ['a number, without a schema', {}, '42', 42],
  ['a list, without a schema', {}, '[1, "a"]', [1, 'a']],
  ['a text, without a schema', {}, 'yes', 'yes'],
  ['a text in quotes, without a schema', {}, '"42"', '42'],
  ['a version, without a schema', {}, '1.0', '1.0'],
  ['a telephone number, without a schema', {}, '007', '007'],
  ['a number too long to be one, without a schema', {}, '12345678901234567890', '12345678901234567890'],
])('W3 %s', (_, wait, text, meant) => {
  expect(readAnswer(wait, text)).toEqual(meant);
});
