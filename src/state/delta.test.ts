import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { keys, stateValues } from '../../test/state/arbitrary-value.ts';
import { admitValue } from './values/admit.ts';
import { applyDelta, DeltaBuilder, pathJson, reviveTree } from './delta.ts';
import { readPath } from './values/path.ts';

const limits = { valueBytes: 1_000_000, valueDepth: 100 };
const apply = (root: object, builder: DeltaBuilder): void =>
  applyDelta(root, JSON.parse(builder.take()) as readonly unknown[]);

describe('C4 delta', () => {
  test('C4 ops set, delete and append', () => {
    const root = { list: [1], text: 'a', gone: 1, deep: { a: {} } };
    const delta = new DeltaBuilder();
    expect(delta.isEmpty).toBe(true);
    delta.set(pathJson(['deep', 'a', 'b']), '{"c":1}');
    delta.append(pathJson(['list']), '[2,[3]]');
    delta.text(pathJson(['text']), '"b\\n"');
    delta.delete(pathJson(['gone']));
    expect([delta.isEmpty, delta.bytes]).toEqual([false, 89]);
    apply(root, delta);
    expect(root).toEqual({ list: [1, 2, [3]], text: 'ab\n', deep: { a: { b: { c: 1 } } } });
    expect([delta.isEmpty, delta.bytes, delta.take()]).toEqual([true, 0, '[]']);
  });

  test('C4 any value under any key is found again after folding', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(keys, keys, stateValues), { maxLength: 6 }), (writes) => {
        const root = {};
        const delta = new DeltaBuilder();
        const expected = new Map<string, readonly [string, string, unknown]>();
        for (const [outer] of writes) delta.set(pathJson([outer]), '{}');
        for (const [outer, inner, value] of writes) {
          delta.set(pathJson([outer, inner]), admitValue(value, [], limits).json);
          expected.set(JSON.stringify([outer, inner]), [outer, inner, value]);
        }
        const text = delta.take();
        applyDelta(root, JSON.parse(text) as readonly unknown[]);
        reviveTree(root, text.includes('"$":'));
        for (const [outer, inner, value] of expected.values()) {
          expect(isDeepStrictEqual(readPath(root, [outer, inner], 'nothing'), value)).toBe(true);
        }
      }),
    );
  });

  test('C4 ops on __proto__ stay on the object', () => {
    const root = {};
    applyDelta(root, [
      ['s', ['__proto__'], { a: {} }],
      ['s', ['__proto__', 'a', '__proto__'], { isAdmin: true }],
      ['s', ['__proto__', '__proto__'], 1],
      ['d', ['__proto__', '__proto__']],
    ]);
    expect(JSON.stringify(root)).toBe('{"__proto__":{"a":{"__proto__":{"isAdmin":true}}}}');
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
    applyDelta(root, [['d', ['__proto__']]]);
    expect(Object.keys(root)).toEqual([]);
  });

  test.each([
    ['a parent that is not there', ['s', ['x', 'y'], 1]],
    ['an inherited parent', ['s', ['constructor', 'y'], 1]],
    ['a delete of nothing', ['d', ['x']]],
    ['an append to nothing', ['a', ['x'], [1]]],
    ['an append to text', ['a', ['text'], [1]]],
    ['an append of no list', ['a', ['list'], 1]],
    ['a text to a list', ['t', ['list'], 'x']],
    ['a text that is none', ['t', ['text'], 1]],
    ['a place in a list', ['s', ['list', '0'], 1]],
    ['a place in a text', ['s', ['text', '0'], 1]],
    ['no path', ['s', [], 1]],
    ['no path at all', ['d']],
    ['no value', ['s', ['list']]],
    ['an unknown op', ['x', ['list'], 1]],
    ['no op', null],
  ])('C6 %s is refused', (_name, op) => {
    const root = { list: [1], text: 'a' };
    expect(() => applyDelta(root, [op])).toThrow(TypeError);
    expect(root).toEqual({ list: [1], text: 'a' });
  });
});
