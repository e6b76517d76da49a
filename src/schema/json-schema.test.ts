import { describe, expect, test } from 'vitest';
import { schemaDefect, schemaFault, schemaFaults, type Schema } from './json-schema.ts';

const tree: Schema = {
  $ref: '#/$defs/node',
  $defs: {
    node: {
      type: 'object',
      required: ['name'],
      properties: { name: { type: 'string' }, inner: { type: 'array', items: { $ref: '#/$defs/node' } } },
    },
  },
};

describe('W3 what fits a schema', () => {
  test.each<[string, Schema, unknown]>([
    ['several types', { type: ['string', 'null'] }, null],
    ['a whole number is a number', { type: 'number' }, 3],
    ['one of oneOf', { oneOf: [{ type: 'string' }, { type: 'integer' }] }, 3],
    ['other properties', { additionalProperties: { type: 'integer' } }, { a: 1, b: 2 }],
    ['names of properties', { propertyNames: { enum: ['a', 'b'] } }, { a: 1, b: 2 }],
    ['few enough properties', { minProperties: 1, maxProperties: 2 }, { a: 1, b: 2 }],
    ['items that differ', { uniqueItems: true }, [1, '1', { a: 1 }, { a: 2 }]],
    ['decimal multiples', { multipleOf: 0.01 }, 0.07],
    ['not', { not: { type: 'string' } }, 3],
    ['first items and the rest', { prefixItems: [{ type: 'string' }], items: { type: 'integer' } }, ['a', 1, 2]],
    ['no more than the first items', { prefixItems: [{ type: 'string' }], items: false }, ['a']],
    ['a format, which is a note', { type: 'string', format: 'email' }, 'nobody'],
    ['references, again and again', tree, { name: 'a', inner: [{ name: 'b', inner: [] }] }],
    ['anything for true', { properties: { a: true } }, { a: 1 }],
  ])('W3 %s', (_, schema, value) => {
    expect(schemaDefect(schema)).toBeUndefined();
    expect(schemaFault(schema, value, 'answer')).toBeUndefined();
  });

  test.each<[Schema, unknown, string]>([
    [{ type: ['string', 'null'] }, 3, 'answer is integer, not string or null'],
    [{ oneOf: [{ type: 'number' }, { type: 'integer' }] }, 3, 'answer fits 2 of the forms of which it must fit one'],
    [{ oneOf: [{ type: 'string' }] }, 3, 'answer fits none of the forms of which it must fit one'],
    [{ anyOf: [{ type: 'string' }] }, 3, 'answer fits none of the allowed forms'],
    [{ allOf: [{ type: 'string' }, { maxLength: 1 }] }, 'ab', 'answer is longer than 1'],
    [{ not: { type: 'string' } }, 'x', 'answer has a form that is not allowed'],
    [{ additionalProperties: { type: 'integer' } }, { a: 'x' }, 'answer.a is string, not integer'],
    [{ properties: { a: {} }, additionalProperties: false }, { b: 1 }, 'answer.b is not expected'],
    [{ properties: { a: false } }, { a: 1 }, 'answer.a is not allowed'],
    [{ propertyNames: { pattern: '^a$' } }, { a: 1, b: 1 }, 'the name of answer.b does not match ^a$'],
    [{ minProperties: 1 }, {}, 'answer has fewer than 1 properties'],
    [{ maxProperties: 1 }, { a: 1, b: 2 }, 'answer has more than 1 properties'],
    [{ uniqueItems: true }, [{ a: 1 }, { a: 1 }], 'answer has an item twice'],
    [{ multipleOf: 2 }, 3, 'answer is no multiple of 2'],
    [{ prefixItems: [{ type: 'string' }], items: false }, ['a', 1], 'answer[1] is not allowed'],
    [{ const: { a: 1 } }, 1, 'answer is not {"a":1}'],
    [{ enum: ['a', 'b'] }, 'c', 'answer is none of ["a","b"]'],
    [{ pattern: '^a' }, 'b', 'answer does not match ^a'],
    [tree, { name: 'a', inner: [{ name: 'b', inner: [{}] }] }, 'answer.inner[0].inner[0].name is missing'],
    [{ required: ['toString'] }, {}, 'answer.toString is missing'],
  ])('W3 %j refuses %j', (schema, value, fault) => {
    expect(schemaDefect(schema)).toBeUndefined();
    expect(schemaFault(schema, value, 'answer')).toBe(fault);
  });

  test('W3 all faults are told if asked for, each once', () => {
    const schema = {
      type: 'object',
      required: ['a', 'b'],
      properties: { c: { type: 'string', minLength: 3, pattern: '^x' }, d: { items: { minimum: 1, multipleOf: 2 } } },
    };
    expect(schemaFaults(schema, { c: 'y', d: [2, -1] }, 'v')).toEqual([
      'v.a is missing',
      'v.b is missing',
      'v.c is shorter than 3',
      'v.c does not match ^x',
      'v.d[1] is below 1',
      'v.d[1] is no multiple of 2',
    ]);
    expect(schemaFaults(schema, { a: 1, b: 2 }, 'v')).toEqual([]);
  });
});

describe('W3 what no value could be checked against', () => {
  test.each<[unknown, string]>([
    ['text', 'the schema is no schema'],
    [{ minLenght: 3 }, 'the schema has the keyword "minLenght", which is not known'],
    [
      { properties: { a: { patternProperties: {} } }, if: {} },
      'properties.a has the keyword "patternProperties", which is not known; the schema has the keyword "if", which is not known',
    ],
    [{ type: 'text' }, 'type is none of null, boolean, object, array, number, string, integer'],
    [{ type: [] }, 'type is none of null, boolean, object, array, number, string, integer'],
    [{ enum: 'a' }, 'enum is no list of values'],
    [{ required: 'a' }, 'required is no list of names'],
    [{ properties: [] }, 'properties is no object of schemas'],
    [{ anyOf: [] }, 'anyOf is no list of schemas'],
    [{ anyOf: [{}, 3] }, 'anyOf[1] is no schema'],
    [{ items: [{ type: 'string' }] }, 'items is no schema'],
    [{ minLength: -1 }, 'minLength is no count'],
    [{ minimum: '1' }, 'minimum is no number'],
    [{ multipleOf: 0 }, 'multipleOf is no number above 0'],
    [{ uniqueItems: 1 }, 'uniqueItems is neither true nor false'],
    [{ pattern: 7 }, 'pattern is no text'],
    [{ $ref: 'https://example.org/s.json' }, '$ref leads out of the schema: only local references are followed'],
    [{ $ref: '#/$defs/none' }, '$ref leads nowhere: #/$defs/none'],
    [{ $ref: '#' }, '$ref leads back to itself: #'],
    [
      {
        $defs: { a: { allOf: [{ $ref: '#/$defs/b' }] }, b: { $ref: '#/$defs/a' } },
        properties: { x: { $ref: '#/$defs/a' } },
      },
      '$defs.a.allOf[0].$ref leads back to itself: #/$defs/b; $defs.b.$ref leads back to itself: #/$defs/a',
    ],
  ])('W3 %j', (schema, defect) => {
    expect(schemaDefect(schema)).toBe(defect);
  });

  test('W3 a pattern that is none is named with the reason', () => {
    expect(schemaDefect({ properties: { a: { pattern: '(' } } })).toMatch(
      /^properties\.a\.pattern is no regular expression: /,
    );
    expect(schemaDefect(undefined)).toBeUndefined();
  });

  test('W3 a schema that leads back to itself is a fault, not an endless check', () => {
    expect(schemaFault({ $ref: '#' }, 1, 'answer')).toBe('answer cannot be checked: # leads back to itself');
  });

  test('W3 keys of a value that objects inherit are keys like any other', () => {
    const value = JSON.parse('{"__proto__": "x", "constructor": 1}') as object;
    expect(schemaFaults({ additionalProperties: { type: 'integer' } }, value, 'v')).toEqual([
      'v.__proto__ is string, not integer',
    ]);
  });
});

test('W3 a value whose pattern takes ages elsewhere is checked', () => {
  const schema = { type: 'string', pattern: '^(a+)+$' };
  expect(schemaFault(schema, 'aaaa', 'name')).toBeUndefined();
  expect(schemaFault(schema, `${'a'.repeat(50)}!`, 'name')).toBe('name does not match ^(a+)+$');
  const looksBack = { pattern: String.raw`^(a+)+\1$` };
  expect(schemaFault(looksBack, `${'a'.repeat(50)}!`, 'name')).toMatch(
    /^name cannot be checked: .* could take too long/,
  );
});

test('W3 a schema that takes ages on a value does not fit, and says so', () => {
  const levels = Array.from({ length: 40 }, (_, level) => {
    const next = { $ref: `#/$defs/l${level + 1}` };
    return [`l${level}`, level === 39 ? {} : { allOf: [next, next] }] as const;
  });
  const schema = { $defs: Object.fromEntries(levels), $ref: '#/$defs/l0' };
  expect(schemaFault(schema, 1, 'answer')).toBe('answer cannot be checked: it takes over 5,000,000 steps');
  expect(schemaFaults(schema, 1, 'answer')).toEqual(['answer cannot be checked: it takes over 5,000,000 steps']);
});
