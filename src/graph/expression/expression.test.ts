import { describe, expect, it } from 'vitest';
import { thrown } from '../../../test/support/thrown.ts';
import { functionChoice, functionCondition, sourceOf } from '../condition.ts';
import { compileExpression, compileQuestion, parseExpression } from './expression.ts';
import type { ConditionScope } from '../graph.ts';

const nullKeyed = (entries: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.assign(Object.create(null) as Record<string, unknown>, entries);

const scope = (
  parts: { output?: unknown; error?: Error; scratch?: Readonly<Record<string, unknown>> } = {},
): ConditionScope => ({
  outcome: { status: parts.error === undefined ? 'completed' : 'failed', output: parts.output, error: parts.error },
  state: {
    input: { topic: 'tea' },
    scratch: nullKeyed(parts.scratch ?? {}),
    artifacts: nullKeyed({ draft: 'x' }),
    diagnostics: nullKeyed({}),
    outputs: nullKeyed({ 'a b': 1 }),
    failures: {},
  },
});

const holds = (text: string, parts: Parameters<typeof scope>[0] = {}): boolean =>
  compileExpression(text).evaluate(scope(parts));

describe('compileExpression', () => {
  it.each([
    ['output == 3', { output: 3 }],
    ['output >= 3 && output < 3.5', { output: 3 }],
    ['scratch.n + 1 == 3', { scratch: { n: 2 } }],
    ['1 + scratch.n == 3 && 3 == 1 + scratch.n && scratch.n + 1 != 4', { scratch: { n: 2 } }],
    ['1 + 0.5 > 1 && 2 > 1.5 && 1.5 < 2 && 1 + 1.0 == 2', {}],
    ['size(scratch.list) + scratch.n >= 4 && scratch.n == size(scratch.list)', { scratch: { n: 2, list: [1, 2] } }],
    ['scratch.n * 2 == 4 && scratch.n - 1 == 1 && scratch.n / 4 == 0.5', { scratch: { n: 2 } }],
    ['scratch.n % 2 == 1', { scratch: { n: 7 } }],
    ['scratch.big == 5 && scratch.big + 1 > 5', { scratch: { big: 5n } }],
    ['size(scratch.list) == 2 && 1 in scratch.list', { scratch: { list: [1, 2] } }],
    ['scratch.list[0] == "a"', { scratch: { list: ['a'] } }],
    ['!has(scratch.missing)', {}],
    ['outputs["a b"] == 1', {}],
    ['input.topic == "tea" && artifacts.draft.startsWith("x")', {}],
    ['outcome.status == "completed" && error == null', {}],
    ['output == null', {}],
    ['scratch.when < timestamp("2024-01-01T00:00:00Z")', { scratch: { when: new Date(0) } }],
    ['scratch.list.exists(x, x > 1) && scratch.list.map(x, x * 2) == [2, 4]', { scratch: { list: [1, 2] } }],
    ['scratch.?missing.orValue(1) == 1', {}],
    ['size(scratch) == 2 && !has(scratch.gone)', { scratch: { gone: undefined, n: 1 } }],
    ['1 in scratch.list && size(scratch.lost) == 1', { scratch: { list: [undefined, 1], lost: [new Error('lost')] } }],
  ])('G6 %s holds', (text, parts) => {
    expect(holds(text, parts)).toBe(true);
  });

  it('G6 an expression sees an error as a map', () => {
    const error = Object.assign(new Error('too many'), { code: 'RATE', data: { status: 429 } });
    expect(holds('error.code == "RATE" && error.data.status == 429 && error.message.contains("many")', { error })).toBe(
      true,
    );
    expect(holds('outcome.status == "failed" && outcome.error.name == "Error"', { error })).toBe(true);
  });

  it('G6 only the variables that an expression names are read', () => {
    const whole = scope({ scratch: { n: 1 } });
    const read: string[] = [];
    const state = new Proxy(whole.state, {
      get: (target, key) => {
        read.push(String(key));
        return Reflect.get(target, key) as unknown;
      },
    });
    expect(compileExpression('scratch.n == 1').evaluate({ ...whole, state })).toBe(true);
    expect([...new Set(read)]).toEqual(['scratch']);
  });

  it.each([
    ['output ==', 1, 10],
    ['output == 1\n  && (', 2, 7],
    ['topic == 1', 1, 1],
    ['"a" + 1 == 2', 1, 1],
    ['1 + 1', 1, 1],
    ['', 1, 1],
  ])('G6 %j is refused when compiled, with its place', (text, line, column) => {
    const error = thrown(() => compileExpression(text, 'flow.yaml:7'));
    expect(error.code).toBe('CONDITION_SYNTAX');
    expect(error.data).toMatchObject({ condition: text, line, column, place: 'flow.yaml:7' });
    expect(error.message).toContain('flow.yaml:7');
  });

  it.each(['output', 'scratch.n', 'scratch.missing == 1', 'scratch.constructor == 1', 'scratch.n + "a" == "1a"'])(
    'G6 %s fails when evaluated, and says which condition',
    (text) => {
      const error = thrown(() => holds(text, { output: 3, scratch: { n: 0 } }));
      expect(error.code).toBe('CONDITION_FAILED');
      expect(error.message).toContain(text);
    },
  );
});

describe('patterns in expressions', () => {
  it('T4 a pattern that takes ages elsewhere is answered; one that looks back is given up, and named', () => {
    const name = `${'a'.repeat(50)}!`;
    expect(holds("scratch.name.matches('^(a+)+$')", { scratch: { name } })).toBe(false);
    const error = thrown(() => holds(String.raw`scratch.name.matches(r'^(a+)+\1$')`, { scratch: { name } }));
    expect(error.message).toContain(String.raw`^(a+)+\1$ could take too long on a text of 51 characters`);
    expect(holds("['ab'].exists(x, x.matches('b$') && 'matches' == 'matches')", {})).toBe(true);
  });

  it('T4 a value is one part of a URL, whatever it holds', () => {
    const path = parseExpression("'http://api/items/' + urlencode(id) + '/end'");
    for (const id of ['a/b?c#d', '../admin', '%2e%2e', ' \r\nHost: x', 'é😀', '@x', 5, true]) {
      const url = new URL(String(path.evaluate({ id })));
      expect(url.href.split('/')).toHaveLength(6);
      expect(decodeURIComponent(url.pathname.split('/')[2] ?? '')).toBe(String(id));
    }
    expect(() => path.evaluate({ id: '..' })).toThrow('can be no part of a URL');
    expect(() => path.evaluate({ id: '\ud800' })).toThrow('lone surrogate');
  });

  it('T4 faults of a call are told in the words of its author', () => {
    expect(() => parseExpression("5.matches('x')")).toThrow("no matching overload for 'int.matches(string)'");
    expect(() => parseExpression("'a'.matches('(')").evaluate({})).toThrow(/Invalid regular expression/);
  });
});

describe('function conditions', () => {
  it('G6 a function must return true or false', () => {
    const truthy = functionCondition((() => 1) as unknown as () => boolean, { text: 'truthy' });
    expect(thrown(() => truthy.evaluate(scope())).message).toContain('truthy gives number');
    const late = functionCondition((() => Promise.resolve(true)) as unknown as () => boolean);
    expect(thrown(() => late.evaluate(scope())).message).toContain('a promise');
  });

  it('G1 a function is known by its name, version and source', () => {
    const isGood = ({ outcome }: ConditionScope): boolean => outcome.output === 1;
    const condition = functionCondition(isGood, { version: '2' });
    expect(condition).toMatchObject({ text: 'isGood', version: '2' });
    expect(condition.evaluate(scope({ output: 1 }))).toBe(true);
    expect(sourceOf(condition.evaluate)).toContain('outcome.output === 1');
    const choice = functionChoice(() => ['left', 'right'], { text: 'side' });
    expect(choice.choose(scope())).toEqual(['left', 'right']);
    expect(choice).toMatchObject({ text: 'side' });
  });
});

describe('what people write who know another language', () => {
  it.each([
    ['scratch.a = 1', 'Compare with ==.'],
    ['scratch["a=b"] === "x = y"', 'Compare with ==.'],
    ['scratch.a !== 1', 'Compare with !=.'],
    ['scratch.a <> 1', 'Compare with !=.'],
    ['scratch.a == 1 and scratch.b == 2', 'Write && for and.'],
    ['scratch.a == "and" or true', 'Write || for or.'],
    ['not scratch.a', 'Write ! for not.'],
    ['scratch.a & true', 'Write && for and.'],
    ['scratch.a is null', 'Compare with ==.'],
    ['scratch.a == None', 'Write null.'],
    ['scratch.a == True', 'Write true and false.'],
    ['${scratch.a} == 1', 'Write names as they are, without ${ and }.'],
    ['a == 1', 'There are outcome, output, error, input, scratch, artifacts, diagnostics, outputs; a key of the scratch state is written scratch.KEY.'], // prettier-ignore
    ['scratch.a ==', 'Correct the expression.'],
  ])('G6 P6 %s is refused with what is written here', (text, hint) => {
    expect(thrown(() => compileExpression(text))).toMatchObject({ code: 'CONDITION_SYNTAX', hint });
  });

  it('G6 N11 a question about a state names its own variables', () => {
    expect(thrown(() => compileQuestion('a == 1'))).toMatchObject({
      hint: expect.stringMatching(/^There are status, .*, failures; /) as string,
    });
  });
});
