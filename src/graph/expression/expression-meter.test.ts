import { describe, expect, it, test } from 'vitest';
import { shareBudget } from './expression-budget.ts';
import { compileExpression, ExpressionError, parseExpression } from './expression.ts';

const steps = 'it takes over 5,000,000 steps';
const bytes = 'it makes over 64 MiB';

const evaluate = (text: string, values: Readonly<Record<string, unknown>> = {}): unknown =>
  parseExpression(text).evaluate(values);

const large = 'a'.repeat(1_000_000);
const doubled = (list: string, times: number): string => list + '.map(a, [a, a])'.repeat(times);

describe('T13 what an expression may cost is counted', () => {
  it.each<[string, string, Readonly<Record<string, unknown>>?]>([
    ['range(1000).map(a, range(1000).map(b, range(1000)))', bytes],
    ['range(100000).map(a, range(100000))', bytes],
    ['range(100000).exists(a, range(100000).exists(b, b < 0))', steps],
    ['range(100000).exists(a, range(100000).exists(b, 1 / 0 > 0)) || true', steps],
    ['range(100000).all(a, range(100000).exists(b, b < 0) || true)', steps],
    [doubled('[1]', 60), steps],
    [`json(${doubled('[1]', 60)})`, steps],
    [`${doubled('[1]', 60)} == ${doubled('[1]', 60)}`, steps],
    [`l in [${doubled('[1]', 60)}]`, steps, { l: [[0]] }],
    [`'\${x}' + ['a']${'.map(a, a + a)'.repeat(60)}[0]`, bytes],
    ["join(range(100000).map(a, ''), s)", bytes, { s: large }],
    ["range(100000).exists(a, lower(s) == 'x')", steps, { s: large }],
    ['range(100000).exists(a, s != t)', steps, { s: large, t: 'a'.repeat(1_000_000) }],
    ['range(100000).exists(a, s.contains(t))', steps, { s: large, t: `${'a'.repeat(9_000)}b${'a'.repeat(9_000)}` }],
    ['duration(s) == duration(s)', steps, { s: '1'.repeat(100_000) }],
    ["range(100000).map(a, timestamp('2024-01-01T00:00:00Z').getHours('Europe/Berlin'))", steps],
    [
      'range(100000).all(a, m != null)',
      steps,
      { m: Object.fromEntries(Array.from(large.slice(0, 50_000), (_, i) => [`k${i}`, i])) },
    ],
    ["range(100000).all(a, s.matches('^(a+)+$'))", steps, { s: 'a'.repeat(500) }],
    ["range(100000).all(a, s.matches('b?$'))", steps, { s: 'a'.repeat(900) }],
  ])('%s', (text, refusal, values) => {
    const error = ((): unknown => {
      try {
        return evaluate(text ?? '', values);
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toBeInstanceOf(ExpressionError);
    expect((error as Error).message).toBe(refusal);
  });

  it('what people write is far below it', () => {
    const items = Array.from({ length: 20_000 }, (_, id) => ({ id, name: `n${id}`, tags: ['a', 'b'] }));
    expect(evaluate("items.filter(x, 'b' in x.tags && x.id % 2 == 0).map(x, x.name)", { items })).toHaveLength(10_000);
    expect(evaluate('range(1000).filter(a, a in ids)', { ids: items.slice(0, 500).map(({ id }) => id) })).toHaveLength(
      500,
    );
    expect(evaluate('size(json(items)) > 0 && items[size(items) - 1].id == 19999', { items })).toBe(true);
    expect(evaluate("size(split(s, 'b')) == 1 && s + 'b' != s", { s: large })).toBe(true);
  });

  it('conditions of graphs pay too', () => {
    const condition = compileExpression('scratch.n.exists(a, scratch.n.exists(b, b > 9))');
    const state = {
      input: null,
      scratch: { n: Array.from({ length: 5_000 }, () => 1) },
      artifacts: {},
      diagnostics: {},
      outputs: {},
      failures: {},
    };
    const scope = { outcome: { status: 'completed' as const, output: null, error: undefined }, state };
    expect(() => condition.evaluate(scope)).toThrow(steps);
  });

  it('expressions that are computed together share one budget, and those that are not each have theirs', () => {
    const half = parseExpression('range(20000).all(a, range(20).all(b, b >= 0))');
    expect(half.evaluate({})).toBe(true);
    expect(half.evaluate({})).toBe(true);
    shareBudget(() => {
      expect(half.evaluate({})).toBe(true);
      expect(() => half.evaluate({})).toThrow(steps);
      expect(() => evaluate('1 + 1')).toThrow(steps);
    });
  });
});

test('T4 a key `constructor` is a key like any other', () => {
  const o = { constructor: { x: 1 }, y: 2 };
  const l = [{ constructor: 'c' }];
  const values = { o, l, same: [{ constructor: 'c' }] };
  for (const [text, value] of [
    ['o', o],
    ['o.constructor', { x: 1 }],
    ['o["constructor"].x + o.y', 3],
    ['l == same && l[0] in same && l != [1]', true],
    ['size(l) == 1 && size(o) == 2 && "constructor" in o', true],
    ['l.map(x, x.constructor)', ['c']],
    ['[keys(o), values(l[0])]', [['constructor', 'y'], ['c']]],
    ['json([o, l])', '[{"constructor":{"x":1},"y":2},[{"constructor":"c"}]]'],
    ['has_(o.constructor.x) && !has_(o.z) && default(o.z, 5) == 5', true],
  ] as const) {
    expect([text, evaluate(text, values)]).toEqual([text, value]);
  }
  expect(() => evaluate('o.z', values)).toThrow('No such key: z');
  expect(() => parseExpression("{'constructor': 1}")).toThrow('can have no key "constructor"');
});
