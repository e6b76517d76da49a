import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CairnError } from '../../errors.ts';
import { SecretReference } from '../../graph/secret-reference.ts';
import { parseCommand } from './parse-command.ts';
import { parseCondition } from './parse-condition.ts';
import { parseText } from './parse-text.ts';
import type { BlockView, Names, Scope, TextFault } from './text-contract.ts';

const fields: Readonly<Record<string, readonly string[]>> = {
  build: ['exit_code', 'stdout'],
  skipped: ['exit_code', 'stdout'],
  failed: ['exit_code'],
  'run-tests': ['exit_code'],
  each_item: ['iterations', 'count', 'count_failed', 'count_skipped'],
};

const names: Names = {
  inputs: ['name', 'n', 'namespace', 'type', 'a-b', 'config', 'list', 'missing', 'build_n', 'build'],
  blocks: ['build_', 'build', 'skipped', 'failed', 'run-tests', 'each_item', 'call', 'other'],
  fieldsOf: (block) => fields[block],
  secrets: ['TOKEN', 'API_KEY'],
  hasEach: true,
};

const completed = (output: Readonly<Record<string, unknown>>): BlockView => ({
  status: 'completed',
  output,
  error: undefined,
});
const blocks: Readonly<Record<string, BlockView>> = {
  build: completed({ exit_code: 0, stdout: 'done' }),
  'run-tests': completed({ exit_code: 2 }),
  call: completed({ success: true, outputs: { r: 5, success: 'inner' } }),
  other: completed({ bytes: new Uint8Array([1]), at: new Date(0), big: 9n, none: null, url: new URL('http://a/b') }),
  skipped: { status: 'skipped', output: undefined, error: undefined },
  failed: {
    status: 'failed',
    output: undefined,
    error: new CairnError('NODE_FAILED', { node: 'failed', reason: 'x' }),
  },
  each_item: completed({
    iterations: [
      { key: 'a', status: 'completed', outputs: { f: 1, 'g-h': 2 } },
      { key: 'b', status: 'failed', error: new Error('bad') },
      { key: 'c', status: 'skipped' },
    ],
    count: 3,
    count_failed: 1,
    count_skipped: 1,
  }),
};
const scope: Scope = {
  inputs: {
    name: 'Ann',
    n: 5,
    namespace: 'prod',
    type: 'app',
    'a-b': 'dash',
    config: { host: 'h', ports: [80, 443], in: 'kept', nothing: null },
    list: [1, 2, 3],
    build: 'input',
    build_n: 1,
  },
  block: (id) => blocks[id] ?? { status: 'skipped', output: undefined, error: undefined },
  metadata: { workflow_name: 'w', run_id: 'r', started_at: '2024-01-01T00:00:00.000Z' },
  each: { key: 'k', value: { id: 7 }, index: 1, count: 2 },
};

const valueOf = (text: string): unknown => {
  const { template, faults } = parseText(text, names);
  expect(faults.filter(({ severity }) => severity !== 'warning')).toEqual([]);
  return template.evaluate(scope);
};
const faultsOf = (text: string, given: Names = names): readonly TextFault[] => parseText(text, given).faults;
const thrown = (act: () => unknown): CairnError => {
  try {
    act();
  } catch (error) {
    if (CairnError.is(error)) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
};

describe('T1 where references stand', () => {
  it.each([
    ['plain', 'plain'],
    ['$', '$'],
    ['costs $5, {x}', 'costs $5, {x}'],
    ['$${name}', '${name}'],
    ['a $${name} ${name}', 'a ${name} Ann'],
    ['$$${name}', '$${name}'],
    ['$${${name}', '${Ann'],
    ['${name}${name}', 'AnnAnn'],
    ["${'}'}", '}'],
    ['${"a}b{" + name}', 'a}b{Ann'],
    ["${{'a': 1}.a}", 1],
    ["${'it\\'s ' + name}", "it's Ann"],
    ["${'''triple ' quote'''}", "triple ' quote"],
    ["${'<${name}>'}", '<Ann>'],
    ["${'<${config['host']}>'}", '<h>'],
    ["${'$${name}'}", '${name}'],
    ['${ name }', 'Ann'],
    ['${\n  name\n}', 'Ann'],
    ['${(${n}) + 1}', 6],
  ])('T1 %j', (text, value) => {
    expect(valueOf(text)).toEqual(value);
  });

  it('T1 a text without references is itself, and is known to be', () => {
    expect(parseText('plain', names)).toMatchObject({ faults: [], isReference: false, template: { isLiteral: true } });
    expect(parseText('$${x}', names).template.isLiteral).toBe(true);
    expect(parseText('${1 + 1}', names).template.isLiteral).toBe(true);
    expect(parseText('${name}', names)).toMatchObject({ isReference: true, template: { isLiteral: false } });
    expect(parseText('${name} ', names)).toMatchObject({ isReference: false, template: { isLiteral: false } });
  });
});

describe('T2 what a text gives', () => {
  it.each([
    ['${n}', 5],
    ['${n + 1}', 6],
    ['${n / 2}', 2.5],
    ['${size(list)}', 3],
    ['${list}', [1, 2, 3]],
    ['${list.map(x, x * 2)}', [2, 4, 6]],
    ['${config}', { host: 'h', ports: [80, 443], in: 'kept', nothing: null }],
    ["${{'n': n, 'l': [1]}}", { n: 5, l: [1] }],
    ['${other.at}', new Date(0)],
    ['${other.big}', 9n],
    ['${other.none}', null],
    ['${n > 3}', true],
    ['n=${n}', 'n=5'],
    ['${1 < 2} ${None}.', 'true .'],
    ['c=${config}', 'c={"host":"h","ports":[80,443],"in":"kept","nothing":null}'],
    ['l=${list}', 'l=[1,2,3]'],
    ['at ${other.at}', 'at 1970-01-01T00:00:00.000Z'],
    ['${other.big}!', '9!'],
    ['${1.5}|${2.0}|${10 / 4}', '1.5|2|2'],
    ['<${other.url}>', '<http://a/b>'],
    ['<${missing}>', '<>'],
  ])('T2 %j', (text, value) => {
    expect(valueOf(text)).toEqual(value);
  });

  it('T2 what is read is given as it is, shared; what is computed is plain data', () => {
    expect(valueOf('${config}')).toBe(scope.inputs['config']);
    expect(valueOf('${default(config, {})}')).toBe(scope.inputs['config']);
    expect(valueOf('${9007199254740993}')).toBe(9007199254740993n);
  });

  it('T2 bytes have no text', () => {
    expect(valueOf('${other.bytes}')).toEqual(new Uint8Array([1]));
    expect(thrown(() => valueOf('b=${other.bytes}'))).toMatchObject({ code: 'EXPRESSION_FAILED' });
    expect(thrown(() => valueOf('${json([other.bytes])}')).message).toContain('bytes have no text');
    expect(thrown(() => valueOf('${duration("1h")}')).message).toContain('Duration');
  });
});

describe('T3 names', () => {
  it.each([
    ['${inputs.name} ${name}', 'Ann Ann'],
    ['${inputs["a-b"]} ${inputs.a-b} ${a-b}', 'dash dash dash'],
    ['${n - 1}|${n-1}', '4|4'],
    ['${namespace} ${type}', 'prod app'],
    ['${config.host}:${config.ports[1]}', 'h:443'],
    ['${config["in"]} ${config.in}', 'kept kept'],
    ['${config.ports[n - 5]}', 80],
    ['${blocks.build.exit_code} ${blocks.build.outputs.stdout}', '0 done'],
    ['${run-tests.exit_code}${blocks.run-tests.exit_code}${blocks["run-tests"].outputs["exit_code"]}', '222'],
    ['${blocks.build.outputs}', { exit_code: 0, stdout: 'done' }],
    [
      '${blocks.build.succeeded} ${blocks.build.failed} ${blocks.build.skipped} ${blocks.build.status}',
      'true false false completed',
    ],
    ['${blocks.build.error}', null],
    ['${failed.failed} ${failed.status} ${failed.error.code}', 'true failed NODE_FAILED'],
    ['${skipped.skipped} ${skipped.status} ${skipped.succeeded}', 'true skipped false'],
    ['${metadata.workflow_name} ${metadata.run_id} ${metadata.started_at}', 'w r 2024-01-01T00:00:00.000Z'],
    ['${each.key} ${each.value.id} ${each.index}/${each.count}', 'k 7 1/2'],
    ['${call.outputs.r} ${call.r} ${call.success} ${call.outputs.success}', '5 5 true inner'],
    ['${call.outputs}', { r: 5, success: 'inner' }],
    ['${each_item.count} ${each_item.outputs.count_failed}', '3 1'],
    ['${each_item.iterations[0].f} ${each_item.iterations[0].outputs.f} ${each_item.iterations[0].key}', '1 1 a'],
    ['${blocks.each_item["a"].f} ${blocks.each_item["a"]["g-h"]} ${blocks.each_item[0].status}', '1 2 completed'],
    ['${blocks.each_item.outputs.iterations[1].status} ${each_item["b"].error.message}', 'failed bad'],
    ['${each_item.iterations.filter(i, i.succeeded).map(i, i.f)}', [1]],
    ['${each_item.iterations.map(i, i.key)}', ['a', 'b', 'c']],
    ['${each_item.iterations.filter(i, i.skipped)}', [{ key: 'c', status: 'skipped' }]],
    ['${size(inputs.list)} ${list.exists(name, name == 2)}', '3 true'],
  ])('T3 %s', (text, value) => {
    expect(valueOf(text)).toEqual(value);
  });

  it('T3 a text says what it names', () => {
    const named = (text: string): unknown => parseText(text, names).template.named;
    const none = { inputs: [], blocks: [], secrets: [], usesEach: false };
    expect(named('${name} ${inputs.n} ${name}')).toEqual({ ...none, inputs: ['name', 'n'] });
    expect(named('${skipped.stdout} ${blocks["failed"].exit_code}')).toEqual({
      ...none,
      blocks: ['skipped', 'failed'],
    });
    expect(named('${list.map(n, n + each.index)}')).toEqual({ ...none, inputs: ['list'], usesEach: true });
    expect(named('${list[config.n]}')).toEqual({ ...none, inputs: ['list', 'config'] });
    expect(named('${inputs[each.key]}')).toEqual({ ...none, inputs: names.inputs, usesEach: true });
    expect(named('${default(skipped.stdout, secrets_)}')).toEqual({ ...none, blocks: ['skipped'] });
  });

  it('T3 an input comes before a block of its name, with a warning', () => {
    expect(valueOf('${build}')).toBe('input');
    expect(faultsOf('a ${build}')).toMatchObject([{ severity: 'warning', offset: 4, rule: 'T3' }]);
    expect(faultsOf('${blocks.build.stdout}')).toEqual([]);
  });

  it.each([
    ['${nam}', 2, 'no input or block "nam"', 'write name'],
    ['x ${inputs.nam}', 4, 'no input "nam"', 'write inputs.name'],
    ['${inputs["nmae"]}', 2, 'no input "nmae"', 'inputs["name"]'],
    ['${blocks.skiped.stdout}', 2, 'no block "skiped"', 'write blocks.skipped'],
    ['${skiped.stdout}', 2, 'no input or block "skiped"', 'write skipped.stdout'],
    ['${input.name}', 2, 'no input or block "input"', 'write inputs.name'],
    ['${skipped.stdot}', 2, 'no field of skipped: "stdot"', 'write stdout'],
    ['${skipped.outputs.exit}', 2, 'no field of skipped: "exit"', 'exit_code'],
    ['${each_item.f}', 2, 'no field of each_item: "f"', 'iterations'],
    ['${skipped}', 2, 'skipped is a block, not a value', 'skipped.outputs'],
    ['${json(blocks.failed)}', 7, 'is a block', 'name a field'],
    ['${blocks}', 2, 'which block', 'blocks.ID.field'],
    ['${blocks[name].x}', 2, 'which block', 'blocks.ID.field'],
    ['${metadata.run}', 2, 'no field of metadata: "run"', 'metadata.run_id'],
    ['${metadata}', 2, 'metadata is no value', 'run_id'],
    ['${each.val}', 2, 'no field of each: "val"', 'each.value'],
    ['${has(nam.x)}', 6, 'no input or block "nam"', 'write name'],
    ['${size(x)}', 7, 'no input or block "x"', 'quotes'],
    ['${sise(list)}', 2, 'no function sise', 'write size(…)'],
    ['${secrets.TOKE}', 2, 'secret "TOKE" is not declared', '${secrets.TOKEN}'],
  ])('T3 %s is a fault', (text, offset, message, fix) => {
    const [fault, ...others] = faultsOf(text);
    expect(others).toEqual([]);
    expect(fault?.offset).toBe(offset);
    expect(fault?.message).toContain(message);
    expect(fault?.fix).toContain(fix);
  });

  it('T3 each is known only where there is one', () => {
    expect(faultsOf('${each.key}', { ...names, hasEach: false })[0]?.message).toContain(
      'only in a block with for_each',
    );
  });

  it('T3 all faults of a text are found, each with its place', () => {
    expect(faultsOf('${aa1} ${name} ${bb1.x} ${1 +}').map(({ offset }) => offset)).toEqual([2, 17, 28]);
  });
});

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
    ['${upper(n)}', "upper(double)'"],
  ])('T6 %s is EXPRESSION_FAILED, and says what there is', (text, reason) => {
    const error = thrown(() => valueOf(text));
    expect(error.code).toBe('EXPRESSION_FAILED');
    expect(error.message).toContain(reason);
    expect(error.message).not.toContain('v_');
  });
});

describe('T10 secrets', () => {
  it('T10 a text with secrets is a reference, filled in by whoever runs the block', () => {
    const whole = valueOf('${secrets.TOKEN}') as SecretReference;
    expect(whole).toBeInstanceOf(SecretReference);
    expect(whole.parts).toEqual([{ secret: 'TOKEN' }]);
    const text = valueOf('Bearer ${secrets["TOKEN"]} for ${name}') as SecretReference;
    expect(text.parts).toEqual(['Bearer ', { secret: 'TOKEN' }, ' for ', 'Ann']);
    expect(text.fill((name) => `<${name}>`)).toBe('Bearer <TOKEN> for Ann');
    expect(parseText('${secrets.TOKEN}${secrets.API_KEY}', names).template.named.secrets).toEqual(['TOKEN', 'API_KEY']);
  });
});

describe('T11 forms of other versions', () => {
  it.each([
    ['{{inputs.x}}', 'write ${inputs.x}'],
    ['a {{ blocks.b.outputs.c }} d', 'write ${blocks.b.outputs.c}'],
    ['{{secrets.T | default("x")}}', '${secrets.T | default("x")}'],
    ['{{tmp}}/x', 'no such thing'],
    ['{% if inputs.x %}a{% endif %}', 'condition of the block'],
  ])('T11 %s is a fault by name', (text, fix) => {
    expect(faultsOf(text)[0]?.fix).toContain(fix);
    expect(parseCommand(text, names).faults[0]?.rule).toBe('T11');
    expect(parseCondition(text, names).faults[0]?.rule).toBe('T11');
  });

  it.each(['{{.Names}}', '{{ range .Items }}', '{{}}', '{% x %}', '{{name}}', '100 %}', '{{{a: 1}}}'])(
    'T11 %s is text',
    (text) => {
      expect(valueOf(text)).toBe(text);
    },
  );
});

describe('fuzzed texts', () => {
  const soup = fc
    .array(
      fc.oneof(
        fc.constantFrom(
          '${',
          '}',
          '$${',
          '$',
          '{',
          '(',
          ')',
          '[',
          ']',
          "'",
          '"',
          '\\',
          '.',
          ',',
          '?',
          ':',
          '-',
          '//',
          '\n',
        ),
        fc.constantFrom(
          'and',
          ' or ',
          ' not ',
          ' in ',
          '==',
          '<',
          '!',
          '+',
          '|',
          '=',
          '`',
          '<<E\n',
          '\nE\n',
          '#',
          ';',
          '$((',
        ),
        fc.constantFrom(
          'name',
          'inputs',
          'blocks',
          'skipped',
          'each',
          'secrets',
          'n',
          'list',
          'size',
          'has',
          'default',
          '1',
          '0x',
        ),
        fc.constantFrom('{{', '}}', '{%', 'raw(', 'case a in ', ' esac', 'constructor', '__proto__', '\0', '\ud800'),
        fc.string({ maxLength: 3 }),
      ),
      { maxLength: 25 },
    )
    .map((parts) => parts.join(''));

  it('P6 no text crashes a parser, and what evaluates at all gives a value or a typed error', () => {
    fc.assert(
      fc.property(soup, (text) => {
        for (const parse of [parseText, parseCommand, parseCondition]) {
          const { template, faults } = parse(text, names);
          for (const { offset } of faults) expect(offset >= 0 && offset <= text.length).toBe(true);
          try {
            template.evaluate(scope);
          } catch (error) {
            if (!CairnError.is(error)) throw error;
            expect(['EXPRESSION_FAILED', 'REFERENCE_ABSENT']).toContain(error.code);
          }
        }
      }),
      { numRuns: 3000 },
    );
  });
});
