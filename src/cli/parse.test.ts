import { expect, test } from 'vitest';
import { CairnError } from '../errors.ts';
import type { Fields } from '../operations/contract/operation.ts';
import { parseArguments } from './parse.ts';

const fields: Fields = {
  run: { type: 'text', description: '', isRequired: true, isPositional: true },
  wait: { type: 'text', description: '', isPositional: true },
  value: { type: 'value', description: '', isRequired: true, isPositional: true },
  runId: { type: 'text', description: '' },
  limit: { type: 'integer', description: '' },
  status: { type: 'texts', description: '', choices: ['paused', 'failed'] },
  set: { type: 'assignments', description: '' },
  resume: { type: 'flag', description: '' },
};

const valuesOf = (...args: readonly string[]): unknown => parseArguments(fields, args).values;

function faultOf(...args: readonly string[]): string {
  try {
    parseArguments(fields, args);
  } catch (error) {
    if (CairnError.is(error, 'USAGE_INVALID')) return `${error.message} | ${error.hint}`;
    throw error;
  }
  return 'none';
}

test('H1 the optional place in the middle is empty when there are too few', () => {
  expect(valuesOf('r', 'yes')).toEqual({ run: 'r', value: 'yes' });
  expect(valuesOf('r', 'w', 'yes')).toEqual({ run: 'r', wait: 'w', value: 'yes' });
});

test('H1 a value is JSON where it parses as such, else text', () => {
  expect(valuesOf('r', '{"a":[1,null]}')).toEqual({ run: 'r', value: { a: [1, null] } });
  expect(valuesOf('r', '1.2.0')).toEqual({ run: 'r', value: '1.2.0' });
  expect(valuesOf('r', 'true')).toEqual({ run: 'r', value: true });
});

test('H1 a negative number is a value, not an option', () => {
  expect(valuesOf('r', '-12.5')).toEqual({ run: 'r', value: -12.5 });
  expect(valuesOf('r', '--', '--limit')).toEqual({ run: 'r', value: '--limit' });
});

test('H1 the text of a value is kept as it was typed', () => {
  expect(parseArguments(fields, ['r', '007']).texts).toMatchObject({ value: ['007'] });
});

test('H1 assignments keep every = after the first, and any key', () => {
  const parsed = parseArguments(fields, [
    'r',
    'v',
    '--set',
    'a.b=c=d',
    '--set',
    '__proto__={"x":1}',
    '--set',
    'e=',
  ]).values;
  expect(Object.entries(parsed['set'] as object)).toEqual([
    ['a.b', 'c=d'],
    ['__proto__', { x: 1 }],
    ['e', ''],
  ]);
  expect(({} as Record<string, unknown>)['x']).toBeUndefined();
});

test('H1 options are given in kebab case, lists with commas or again', () => {
  expect(valuesOf('r', 'v', '--run-id', 'x', '--status=paused,failed', '--status', 'paused', '--resume')).toEqual({
    run: 'r',
    value: 'v',
    runId: 'x',
    status: ['paused', 'failed', 'paused'],
    resume: true,
  });
});

test.each([
  [['r', 'v', '--limt', '3'], 'unknown option --limt | Did you mean --limit?'],
  [['r', 'v', '--zzzzzz'], 'unknown option --zzzzzz | Run the command with --help.'],
  [['r', 'v', '-x'], 'unknown option -x | Run the command with --help.'],
  [['r', 'v', '--limit', 'many'], '--limit takes a whole number, not "many" | Run the command with --help.'],
  [['r', 'v', '--limit'], '--limit needs a value | Run the command with --help.'],
  [['r', 'v', '--resume=1'], '--resume takes no value | Run the command with --help.'],
  [['r', 'v', '--status', 'pasued'], '--status cannot be "pasued" | Did you mean paused?'],
  [['r', 'v', '--set', 'x'], '--set takes name=value, not "x" | Run the command with --help.'],
  [['r'], 'VALUE is missing | Run the command with --help.'],
  [[], 'RUN is missing | Run the command with --help.'],
  [['r', 'w', 'v', 'x'], 'unexpected "x" | Run the command with --help.'],
  [['r', 'w', 'v', 'tier=gold'], 'unexpected "tier=gold" | Write --set tier=gold'],
])('P6 %j is refused with the way out', (args, fault) => {
  expect(faultOf(...args)).toBe(fault);
});

test('H1 --help needs nothing else', () => {
  expect(valuesOf('--help')).toEqual({ help: true });
  expect(valuesOf('-h')).toEqual({ help: true });
});
