import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalText, freezeCopy, hashText, hashValue, NotDataError } from './canonical.ts';

const refusal = (act: () => unknown): NotDataError => {
  try {
    act();
  } catch (error) {
    if (error instanceof NotDataError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
};

const nested = (depth: number): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = { a: value };
  return value;
};

/** Shuffles the keys of every object in a value. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, item]) => [key, reversed(item)] as const)
      .reverse(),
  );
}

describe('canonical text', () => {
  it('G1 equal data has one text, whatever the order of its keys', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(canonicalText(reversed(value))).toBe(canonicalText(value));
        expect(canonicalText(freezeCopy(value))).toBe(canonicalText(value));
      }),
    );
  });

  it('G1 different data has different texts', () => {
    const values = [
      0,
      -0,
      '0',
      0n,
      Number.NaN,
      'NaN',
      Infinity,
      null,
      'null',
      true,
      [],
      [[]],
      {},
      [null],
      { a: 1 },
      { a: '1' },
      ['a', 1],
      'a,b',
      ['a', 'b'],
      new Date(0),
      'date(0)',
      new Uint8Array([0]),
      'bytes(AA==)',
      new URL('http://a/'),
      new Map([['a', 1]]),
      [['a', 1]],
      new Set(['a']),
      new Map(),
      new Set(),
      undefined,
      [undefined],
    ];
    expect(new Set(values.map(canonicalText)).size).toBe(values.length);
  });

  it('G1 a property that is undefined is one that is absent, and `__proto__` is a key', () => {
    expect(canonicalText({ a: undefined, b: 1 })).toBe('{"b":1}');
    const odd = JSON.parse('{"__proto__":{"x":1}}') as unknown;
    expect(canonicalText(odd)).toBe('{"__proto__":{"x":1}}');
    expect(canonicalText(freezeCopy(odd))).toBe(canonicalText(odd));
    expect(({} as { x?: number }).x).toBeUndefined();
  });

  it('G1 the hash of a text is SHA-256, the same on every machine', () => {
    expect(hashText('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    expect(hashValue({ b: [1, 'x'], a: null })).toBe(hashText('{"a":null,"b":[1,"x"]}'));
  });

  it('P6 what is no data is refused with its path', () => {
    class Point {
      readonly x = 1;
    }
    expect(refusal(() => canonicalText({ a: [1, { run: () => 1 }] }))).toMatchObject({
      path: 'a.1.run',
      message: 'a function is no data',
    });
    expect(refusal(() => canonicalText([new Point()]))).toMatchObject({
      path: '0',
      message: 'an instance of Point is no data',
    });
    expect(refusal(() => freezeCopy({ s: Symbol('s') })).path).toBe('s');
    expect(refusal(() => freezeCopy({ p: new Point() })).path).toBe('p');
    const cycle: Record<string, unknown> = {};
    cycle['self'] = cycle;
    expect(refusal(() => canonicalText(cycle))).toMatchObject({ path: 'self', message: 'the value contains itself' });
    expect(refusal(() => canonicalText(nested(10_000))).message).toContain('deeper than 500');
    expect(canonicalText(nested(400))).toContain('{"a":1}');
    const twice = { x: 1 };
    expect(canonicalText([twice, twice])).toBe('[{"x":1},{"x":1}]');
  });

  it('G1 a copy is frozen and shares nothing', () => {
    const inner = { list: [1, { deep: true }], when: new Date(5), map: new Map([['k', { v: 1 }]]), set: new Set([1]) };
    const original = { inner, bytes: new Uint8Array([1]), url: new URL('http://a/'), none: null };
    const copy = freezeCopy(original) as typeof original;
    expect(copy).toEqual(original);
    inner.list.push(9);
    inner.when.setTime(0);
    original.bytes[0] = 7;
    expect(copy.inner.list).toHaveLength(2);
    expect(copy.inner.when.getTime()).toBe(5);
    expect(copy.bytes[0]).toBe(1);
    expect(Object.isFrozen(copy.inner.list[1])).toBe(true);
  });
});
