import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CairnError } from '../../../errors.ts';
import { SecretReference } from '../../../graph/secret-reference.ts';
import { thrown } from '../../../../test/support/thrown.ts';
import { names, scope } from '../../../../test/text-scope.ts';
import { parseCommand } from '../shell/parse-command.ts';
import { parseCondition } from './parse-condition.ts';
import { parseText } from './parse-text.ts';
import type { Names, TextFault } from './template.ts';

const valueOf = (text: string): unknown => {
  const { template, faults } = parseText(text, names);
  expect(faults.filter(({ severity }) => severity !== 'warning')).toEqual([]);
  return template.evaluate(scope);
};
const faultsOf = (text: string, given: Names = names): readonly TextFault[] => parseText(text, given).faults;
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
    expect(parseText('plain', names)).toMatchObject({ faults: [], template: { isLiteral: true } });
    expect(parseText('$${x}', names).template.isLiteral).toBe(true);
    expect(parseText('${1 + 1}', names).template.isLiteral).toBe(true);
    expect(parseText('${name}', names)).toMatchObject({ template: { isLiteral: false } });
    expect(parseText('${name} ', names)).toMatchObject({ template: { isLiteral: false } });
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

  it('T3 warnings, however many, leave a text as it is', () => {
    expect(valueOf('${build}'.repeat(150))).toBe('input'.repeat(150));
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

describe('T11 texts of other forms, once those that are ours are translated', () => {
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
            if (!CairnError.is(error, 'EXPRESSION_FAILED') && !CairnError.is(error, 'REFERENCE_ABSENT')) throw error;
          }
        }
      }),
      { numRuns: 3000 },
    );
  });
});
