import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { objectOf, stateValues } from '../../../test/state/arbitrary-value.ts';
import { canonicalText } from './canonical-text.ts';
import { admitValue } from './admit.ts';
import { diffValues, readPath, setPath } from './diff.ts';

const limits = { valueBytes: 1_000_000, valueDepth: 100 };

describe('H1 diff', () => {
  test('H1 equal values have no differences, whatever the order of keys', () => {
    expect(diffValues({ a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 })).toEqual([]);
    fc.assert(
      fc.property(stateValues, (value) => {
        expect(diffValues(value, admitValue(value, [], limits).value)).toEqual([]);
      }),
    );
  });

  test('H1 values differ exactly when their canonical texts do', () => {
    fc.assert(
      fc.property(stateValues, stateValues, (before, after) => {
        const isSame = canonicalText(before) === canonicalText(after);
        // The order of entries of a Map or a Set is data, and no place differs.
        if (!isSame)
          fc.pre(
            !canonicalText([before, after]).includes('"map"') && !canonicalText([before, after]).includes('"set"'),
          );
        expect(diffValues(before, after).length === 0).toBe(isSame);
      }),
    );
  });

  test('H1 each change is named with its place, the old and the new', () => {
    const before = { title: 'a', gone: 1, same: [1], deep: { list: [1, { x: 1 }] } };
    const after = { title: 'b', same: [1], deep: { list: [1, { x: 2 }] }, fresh: null };
    expect(diffValues(before, after)).toEqual([
      { path: ['title'], kind: 'changed', before: 'a', after: 'b' },
      { path: ['gone'], kind: 'removed', before: 1 },
      { path: ['deep', 'list', '1', 'x'], kind: 'changed', before: 1, after: 2 },
      { path: ['fresh'], kind: 'added', after: null },
    ]);
  });

  test.each([
    [
      'appended',
      [1, 2],
      [1, 2, 3, 4],
      [
        ['2', 'added'],
        ['3', 'added'],
      ],
    ],
    ['put in front', [1, 2], [0, 1, 2], [['0', 'added']]],
    ['taken out', [1, 2, 3], [1, 3], [['1', 'removed']]],
    [
      'taken off the end',
      [1, 2, 3],
      [1],
      [
        ['1', 'removed'],
        ['2', 'removed'],
      ],
    ],
    ['repeated', [1, 1], [1, 1, 1], [['2', 'added']]],
    ['replaced', [1, 2, 3], [1, 9, 3], [['1', 'changed']]],
    [
      'replaced and added',
      [1, 2, 3],
      [1, 8, 9, 3],
      [
        ['1', 'changed'],
        ['2', 'added'],
      ],
    ],
  ])('H1 items %s show as such', (_name, before, after, expected) => {
    expect(diffValues(before, after).map(({ path, kind }) => [path[0], kind])).toEqual(expected);
  });

  test('H1 maps, sets, dates, bytes, errors and numbers are compared by what they hold', () => {
    const at = new Date(0);
    expect(
      diffValues(
        new Map<unknown, unknown>([
          ['a', 1],
          [2, at],
        ]),
        new Map<unknown, unknown>([
          ['a', 2],
          [2, new Date(0)],
        ]),
      ),
    ).toEqual([{ path: ['a'], kind: 'changed', before: 1, after: 2 }]);
    expect(diffValues(new Set(['a', { b: 1 }]), new Set([{ b: 1 }, 'c']))).toEqual([
      { path: ['a'], kind: 'removed', before: 'a' },
      { path: ['c'], kind: 'added', after: 'c' },
    ]);
    const pairs: readonly (readonly [unknown, unknown, number])[] = [
      [at, new Date(1), 1],
      [new Uint8Array([1]), new Uint8Array([1]), 0],
      [new Uint8Array([1]), new Uint8Array([2]), 1],
      [new Error('a'), new Error('b'), 1],
      [new Error('a'), new Error('a'), 0],
      [Number.NaN, Number.NaN, 0],
      [0, -0, 1],
      [{}, [], 1],
      [undefined, null, 1],
      [{ a: undefined }, {}, 1],
    ];
    for (const [before, after, count] of pairs) expect(diffValues(before, after)).toHaveLength(count);
  });
});

describe('H2 paths', () => {
  const value = { list: [{ a: 1 }], map: new Map([['k', { b: 2 }]]), text: 'x' };

  test('H2 reads objects, lists and maps, and nothing that is inherited', () => {
    expect(readPath(value, [])).toBe(value);
    expect(readPath(value, ['list', '0', 'a'])).toBe(1);
    expect(readPath(value, ['map', 'k', 'b'])).toBe(2);
    for (const path of [
      ['list', 'length'],
      ['list', '-1'],
      ['list', '1'],
      ['text', '0'],
      ['constructor'],
      ['__proto__'],
      ['map', 'size'],
      ['map', 'x'],
      ['x', 'y'],
    ])
      expect(readPath(value, path, 'missing')).toBe('missing');
  });

  test('H2 sets a place in a copy and shares the rest', () => {
    const next = setPath(value, ['list', '0', 'b', 'c'], 5) as typeof value;
    expect(next).toEqual({ ...value, list: [{ a: 1, b: { c: 5 } }] });
    expect(next.map).toBe(value.map);
    expect(value.list).toEqual([{ a: 1 }]);
    expect(setPath(value, ['map', 'k'], 1)).toEqual({ ...value, map: new Map([['k', 1]]) });
    expect(setPath([1], ['1'], 2)).toEqual([1, 2]);
    expect(setPath(undefined, ['a'], 2)).toEqual({ a: 2 });
    expect(setPath(1, [], 2)).toBe(2);
    expect(setPath({}, ['__proto__', 'a'], 2)).toStrictEqual(objectOf([['__proto__', { a: 2 }]]));
    for (const path of [
      ['text', 'x'],
      ['list', '2'],
      ['list', 'x'],
    ])
      expect(() => setPath(value, path, 1)).toThrow(TypeError);
  });
});
