import { describe, expect, it } from 'vitest';
import { thrown } from '../../../../test/support/thrown.ts';
import { names, scope } from '../../../../test/text-scope.ts';
import { parseText } from './parse-text.ts';
import type { TextFault } from './template.ts';

const valueOf = (text: string): unknown => {
  const { template, faults } = parseText(text, names);
  expect(faults.filter(({ severity }) => severity !== 'warning')).toEqual([]);
  return template.evaluate(scope);
};
const faultsOf = (text: string): readonly TextFault[] => parseText(text, names).faults;
describe('T4 the language', () => {
  it.each([
    ['${n > 3 and n < 6}', true],
    ['${n > 3 && not (n > 6)}', true],
    ['${not n == 5 or n == 5}', true],
    ['${not not true}', true],
    ['${n in list}', false],
    ['${2 in list and n not in list}', true],
    ['${"x" in config or "host" in config}', true],
    ['${"nn" in name}', true],
    ['${3 < n < 6 <= 6}', true],
    ['${True and not False and None == null}', true],
    ['${n == 5.0 and 5 == n and n != 4}', true],
    ['${1 + n * 2 - 3 % 2}', 10],
    ['${-n}', -5],
    ['${n > 3 ? "big" : "small"}', 'big'],
    [
      '${default(missing, "d")} ${default(config.zz.k, 1)} ${default(config.nothing, 2)} ${default(name, 3)}',
      'd 1 2 Ann',
    ],
    [
      '${has(missing)} ${has(config.host)} ${has(config.zz.k)} ${has(list[7])} ${has(config.nothing)}',
      'false true false false false',
    ],
    ['${json(list)} ${json(name)} ${json(config.ports)}', '[1,2,3] "Ann" [80,443]'],
    ['${lower(name)} ${upper(name)} ${trim(" a ")}', 'ann ANN a'],
    ['${join(list, "-")} ${split("a,b", ",")[1]}', '1-2-3 b'],
    ['${keys(config)}', ['host', 'ports', 'in', 'nothing']],
    ["${values({'a': 1})}", [1]],
    ['${range(3)} ${range(n)}', '[0,1,2] [0,1,2,3,4]'],
    ['${string(n)} ${int("7") + 1} ${double("1.5")} ${string(true)}', '5 8 1.5 true'],
    [
      '${name.contains("n")} ${name.startsWith("A")} ${name.endsWith("x")} ${name.matches("^A.*n$")}',
      'true true false true',
    ],
    ['${list.all(x, x > 0)} ${list.exists(x, x > 2)} ${list.filter(x, x != 2)}', 'true true [1,3]'],
    ['${list + [n]}', [1, 2, 3, 5]],
    ['${n == "5"} ${missing == null}', 'false true'],
  ])('T4 %s', (text, value) => {
    expect(valueOf(text)).toEqual(value);
  });

  it.each([
    ['${', 0, 'not closed'],
    ['a ${name', 2, 'not closed'],
    ['${"a}', 2, 'a string is not closed'],
    ['${(name}', 7, 'closes nothing'],
    ['${}', 0, 'names nothing'],
    ['${ }', 0, 'names nothing'],
    ['${name | upper}', 7, 'no filters'],
    ['${name = 1}', 7, 'single ='],
    ['${name & n}', 7, 'single &'],
    ['${name // n}', 7, 'no comments'],
    ['${n ** 2}', 4, 'no operator'],
    ['${name @ n}', 7, 'no part of an expression'],
    ['${n and}', 4, 'and stands between'],
    ['${or n}', 2, 'or stands between'],
    ['${not}', 2, 'stands before'],
    ['${n not 5}', 4, 'in the middle'],
    ['${1 == n == 1}', 9, 'which comes first'],
    ['${1 +}', 4, 'cannot be read'],
    ['${name n}', 7, 'side by side'],
    ['${1 2}', 4, 'side by side'],
    ['${true name}', 7, 'side by side'],
    ['${"" "a"}', 5, 'side by side'],
    ['${name if n else 3}', 7, 'side by side'],
    ['${(n) name}', 6, 'side by side'],
    ['${name..x}', 7, 'cannot be read'],
    ['${"a" + 1}', 2, 'no such overload'],
    ['${size(1, 2, 3)}', 2, 'overload'],
    ['${secrets.TOKEN + "x"}', 2, 'part of an expression'],
    ['${raw(name)}', 2, 'for commands'],
    [`\${${'('.repeat(300)}`, 101, 'nested deeper'],
  ])('T4 %s is a fault', (text, offset, message) => {
    const [fault] = faultsOf(text);
    expect(fault?.message).toContain(message);
    expect(fault?.offset).toBe(offset);
    expect(thrown(() => parseText(text, names).template.evaluate(scope)).code).toBe('EXPRESSION_FAILED');
  });
});

describe('T6 what is absent', () => {
  it.each([
    ['${skipped.stdout}', 'skipped', 'stdout', 'was skipped'],
    ['a ${blocks.failed.exit_code} b', 'failed', 'exit_code', 'failed'],
    ['${blocks.failed.outputs}', 'failed', 'outputs', 'failed'],
    ['${skipped.outputs.stdout}', 'skipped', 'outputs', 'was skipped'],
    ['${each_item["b"].f}', 'each_item', '["b"].f', 'failed'],
    ['${each_item.iterations[2].f}', 'each_item', 'iterations[2].f', 'was skipped'],
  ])('T6 %s is REFERENCE_ABSENT, and says which block, and why', (text, block, field, status) => {
    const error = thrown(() => valueOf(text));
    expect(error.code).toBe('REFERENCE_ABSENT');
    expect(error.data).toMatchObject({ block, field, status });
    expect(error.hint).toContain(`blocks.${block}.succeeded`);
  });

  it.each([
    ['${default(skipped.stdout, "none")}', 'none'],
    ['${has(skipped.stdout)}', false],
    ['${skipped.succeeded and skipped.stdout == "x"}', false],
    ['${skipped.skipped or skipped.stdout == "x"}', true],
    ['${skipped.succeeded ? skipped.stdout : "none"}', 'none'],
    ['${default(failed.error.message, "")}', 'node failed failed: x'],
  ])('T6 %s asks without reading', (text, value) => {
    expect(valueOf(text)).toEqual(value);
  });

  it.each([
    ['${config.hots}', 'config has no "hots"; it has host, ports, in, nothing, perhaps host is meant'],
    ['${inputs.config.zz.y}', 'inputs.config has no "zz"'],
    ['${call.zz}', 'call has no "zz"; it has success, outputs'],
    ['${list[9]}', 'list has no 9'],
    ['${name.first}', 'name has no "first"'],
    ['${each_item["zz"].f}', 'each_item has no "zz"'],
    ['${name + 1}', 'no such overload'],
    ['${range(1000000)}', 'whole number from 0'],
    ['${abs(name)}', "abs(string)'"],
  ])('T6 %s is EXPRESSION_FAILED, and says what there is', (text, reason) => {
    const error = thrown(() => valueOf(text));
    expect(error.code).toBe('EXPRESSION_FAILED');
    expect(error.message).toContain(reason);
    expect(error.message).not.toContain('v_');
  });
});
