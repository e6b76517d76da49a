import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { thrown } from '../../../../test/support/thrown.ts';
import { parseCondition } from './parse-condition.ts';
import type { BlockView, Names, Scope } from './template.ts';

const names: Names = {
  inputs: ['n', 's', 'flag', 'list'],
  blocks: ['run_tests', 'confirm', 'a', 'b', 'skipped'],
  fieldsOf: () => undefined,
  secrets: ['TOKEN'],
  hasEach: false,
};
const blocks: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  run_tests: { exit_code: 0, stdout: "it's \"ok\" == 'yes'" },
  confirm: { confirmed: true },
  a: { x: 'yes' },
  b: { y: false },
};
const scopeOf = (inputs: Readonly<Record<string, unknown>> = {}): Scope => ({
  inputs: { n: 5, s: 'abc', flag: true, list: [1, 2], ...inputs },
  block: (id): BlockView => {
    const output = blocks[id];
    return { status: output === undefined ? 'skipped' : 'completed', output, error: undefined };
  },
  metadata: {},
  each: undefined,
});

const holds = (text: string, inputs: Readonly<Record<string, unknown>> = {}): boolean => {
  const { template, faults } = parseCondition(text, names);
  expect(faults).toEqual([]);
  return template.evaluate(scopeOf(inputs));
};

describe('T5 conditions', () => {
  it.each([
    '${run_tests.exit_code} == 0',
    '${confirm.confirmed} == true',
    "${a.x} == 'yes' and not ${b.y}",
    '${a.x} == "yes" and ${b.y} == False',
    'inputs.n > 3',
    "'${inputs.s}' == 'abc'",
    '"${inputs.s}-${n}" == "abc-5"',
    '3 < ${inputs.n} < 6',
    '${inputs.n} in [4, 5]',
    '1 in ${inputs.list}',
    '${flag}',
    'flag',
    'true',
    '${n > 3 and n < 6}',
    "${confirm.confirmed and a.x == 'yes'}",
    '(${n} > 3) and (${n} < 6)',
    '${run_tests.succeeded} and not ${skipped.succeeded}',
    'skipped.skipped',
    'true or ${skipped.field} == 1',
    'not has(skipped.field)',
    '${n} == 5\n  and ${flag}',
  ])('T5 %s holds', (text) => {
    expect(holds(text)).toBe(true);
  });

  it('T5 a value cannot change what a condition says', () => {
    for (const s of ["x' or true or '", '" or true or "', "' == ''", '${flag}', 'true', ') or (true', '\\', "'"]) {
      expect(holds("${s} == 'abc'", { s })).toBe(false);
      expect(holds("'${s}' == 'abc'", { s })).toBe(false);
      expect(holds('"${s}" == "abc" or "${s}" in ["abc"]', { s })).toBe(false);
      expect(holds('\'${s}\' == s and "${s}" == ${s}', { s })).toBe(true);
    }
    expect(holds("${run_tests.stdout} == 'x'")).toBe(false);
    const { template } = parseCondition("'<${s}>' == '<' + s + '>' and ${s} == s and not (${s} != \"${s}\")", names);
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (s) => template.evaluate(scopeOf({ s }))));
  });

  it.each([
    ['${n}', 'gives a number'],
    ['s', 'gives a string'],
    ['${list}', 'gives a list'],
    ['default(skipped.x, None)', 'gives null'],
    ['a.outputs', 'gives a map'],
  ])('T5 %s is not true or false: the error names text and type', (text, reason) => {
    const error = thrown(() => holds(text));
    expect(error.code).toBe('EXPRESSION_FAILED');
    expect(error.message).toContain(text);
    expect(error.message).toContain(reason);
  });

  it('T6 reading what a skipped block would have left is REFERENCE_ABSENT', () => {
    expect(thrown(() => holds('${skipped.confirmed} == true')).data).toMatchObject({
      text: '${skipped.confirmed} == true',
      block: 'skipped',
      field: 'confirmed',
      status: 'was skipped',
    });
  });

  it.each([
    ['', 0, 'empty'],
    ['   ', 0, 'empty'],
    ['1 + 1', 0, 'gives int'],
    ["'yes'", 0, 'gives string'],
    ['"${s}"', 0, 'gives string'],
    ['${secrets.TOKEN}', 2, 'part of an expression'],
    ['${secrets.TOKEN} == "x"', 2, 'part of an expression'],
    ['${a.x} == yes', 10, 'no input or block "yes"'],
    ['${a.x} = "yes"', 7, 'single ='],
    ['${a.x == "yes"', 0, '${ is not closed'],
    ['${zz.x} == 1', 2, 'no input or block "zz"'],
    ['each.key == "a"', 0, 'only in a block with for_each'],
    ['$${s} == 1', 0, 'no part of an expression'],
  ])('T5 %j is a fault', (text, offset, message) => {
    const { faults } = parseCondition(text, names);
    expect(faults).toHaveLength(1);
    expect(faults[0]?.message).toContain(message);
    expect(faults[0]?.offset).toBe(offset);
  });

  it('T5 a word that nobody knows may be text without quotes', () => {
    expect(parseCondition('${a.x} == yes', names).faults[0]?.fix).toContain("'yes' in quotes");
  });

  it('T5 a condition says what it names, and whether it is fixed', () => {
    expect(parseCondition('${a.x} == s and "${b.y}" != ""', names).template.named).toEqual({
      inputs: ['s'],
      blocks: ['a', 'b'],
      secrets: [],
      usesEach: false,
    });
    expect(parseCondition('1 < 2', names).template.isLiteral).toBe(true);
    expect(parseCondition('n < 2', names).template.isLiteral).toBe(false);
  });
});
