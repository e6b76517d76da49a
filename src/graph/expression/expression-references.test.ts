import { describe, expect, it } from 'vitest';
import { ExpressionError, parseExpression } from './expression.ts';
import { FieldReader, jsonText, plainValue, renderText } from './expression-meter.ts';

const pathsOf = (text: string): readonly string[] =>
  parseExpression(text).references.map(({ name, path, start, end }) => {
    const steps = path.map(({ key, isBracket }) => (isBracket ? `[${String(key)}]` : `.${String(key)}`));
    return `${name}${steps.join('')}@${start}-${end}`;
  });

const refusal = (act: () => unknown): ExpressionError => {
  try {
    act();
  } catch (error) {
    if (error instanceof ExpressionError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
};

describe('references of an expression', () => {
  it.each([
    ['a.b["c"][0].d', ['a.b[c][0].d@0-13']],
    ['a[b.c].d', ['a[undefined].d@0-8', 'b.c@2-5']],
    ['size(a) + b.size()', ['a@5-6', 'b@10-11']],
    ['l.map(x, x.y + z).filter(y, y > a)', ['l@0-1', 'z@15-16', 'a@32-33']],
    ['x || l.all(x, x)', ['x@0-1', 'l@5-6']],
    [
      '[a, {b: c}, d ? e : f, !g, -h]',
      ['a@1-2', 'b@5-6', 'c@8-9', 'd@12-13', 'e@16-17', 'f@20-21', 'g@24-25', 'h@28-29'],
    ],
    ['1 + 2', []],
  ])('T3 %s', (text, paths) => {
    expect(pathsOf(text)).toEqual(paths);
  });

  it('T6 an error says which path leads to nothing, and where', () => {
    const parsed = parseExpression('1 + a.b.c');
    const error = refusal(() => parsed.evaluate({ a: {} }));
    expect(error.absent).toMatchObject({ name: 'a', path: [{ key: 'b' }] });
    expect(error.offset).toBe(6);
    expect(refusal(() => parsed.evaluate({ a: { b: { c: 'x' } } })).absent).toBeUndefined();
    expect(refusal(() => parsed.evaluate({})).absent).toMatchObject({ name: 'a', path: [] });
  });

  it('T4 names that every object has are no keys', () => {
    for (const text of ['a.constructor', 'a.__proto__', 'a["toString"]', 'a.hasOwnProperty']) {
      expect(refusal(() => parseExpression(text).evaluate({ a: {} })).absent).toBeDefined();
      expect(parseExpression(`has_(${text})`).evaluate({ a: {} })).toBe(false);
    }
  });
});

describe('values of expressions', () => {
  it('T2 fields are read when they are asked for', () => {
    const asked: (string | number)[] = [];
    const reader = new FieldReader(
      (key) => {
        asked.push(key);
        return key === 'x' ? 1 : undefined;
      },
      () => ({ x: 1 }),
    );
    expect(parseExpression('a.x + 1').evaluate({ a: reader })).toBe(2);
    expect(refusal(() => parseExpression('a[7]').evaluate({ a: reader })).absent).toBeDefined();
    expect(asked).toEqual(['x', 7]);
    expect(parseExpression('[a]').evaluate({ a: reader })).toEqual([{ x: 1 }]);
    expect(parseExpression('json(a)').evaluate({ a: reader })).toBe('{"x":1}');
  });

  it('T2 plain data is shared, not copied', () => {
    const data = { list: [1, { a: 'b' }], at: new Date(0), none: null };
    expect(plainValue(data)).toBe(data);
    expect(plainValue({ n: 1n, rest: data })).toEqual({ n: 1, rest: data });
    expect(plainValue([2n ** 60n])).toEqual([2n ** 60n]);
  });

  it('T2 text of values that JSON has no word for', () => {
    expect(jsonText({ m: new Map([['a', 1n]]), s: new Set([2n ** 60n]), d: new Date(0), u: undefined })).toBe(
      '{"m":{"a":1},"s":["1152921504606846976"],"d":"1970-01-01T00:00:00.000Z"}',
    );
    expect(jsonText(new Error('x'))).toBe('{"name":"Error","message":"x","code":null,"data":null}');
    expect(jsonText(undefined)).toBe('null');
    expect([Number.NaN, -0, 1e21, true, null, undefined].map(renderText)).toEqual([
      'NaN',
      '0',
      '1e+21',
      'true',
      '',
      '',
    ]);
  });
});
