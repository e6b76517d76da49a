import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Reducer } from '../../graph/graph.ts';
import { compileChannels } from './run-reducer.ts';
import { admitValue, type Admitted } from '../values/admit.ts';
import { BlobRef } from '../values/value-codec.ts';
import { applyDelta, DeltaBuilder, type Op } from '../delta.ts';
import { Frame, previewUpdates, type AdmittedUpdates, type AppliedUpdates } from '../frame.ts';
import type { FrameTree } from '../tree.ts';

const limits = { valueBytes: 1_000_000, valueDepth: 100 };
const admit = (value: unknown): Admitted => admitValue(value, [], limits);

/** A frame that takes scratch updates as plain values, and tells the ops each made. */
class Bench {
  readonly tree: FrameTree;
  readonly frame: Frame;
  readonly #delta = new DeltaBuilder();

  constructor(reducers: Readonly<Record<string, Reducer>>, scratch: Record<string, unknown> = {}) {
    this.tree = { input: null, channels: { scratch, artifacts: {}, diagnostics: {} }, nodes: {} };
    this.frame = new Frame(this.tree, ['frame'], this.#delta, compileChannels(reducers), new Map());
  }

  apply(scratch: Readonly<Record<string, unknown>>): AppliedUpdates {
    return this.frame.applyUpdates(updatesOf(scratch));
  }

  applyAll(updates: readonly unknown[], key = 'c'): unknown {
    for (const update of updates) this.apply({ [key]: update });
    return this.get(key);
  }

  get(key = 'c'): unknown {
    return this.frame.plainState().scratch[key];
  }

  takeOps(): readonly Op[] {
    return JSON.parse(this.#delta.take()) as readonly Op[];
  }
}

function updatesOf(scratch: Readonly<Record<string, unknown>>): AdmittedUpdates {
  return { scratch: Object.fromEntries(Object.entries(scratch).map(([key, value]) => [key, admit(value)])) };
}

const reduceAll = (reducer: Reducer, updates: readonly unknown[]): unknown =>
  new Bench({ 'scratch.c': reducer }).applyAll(updates);

const at = ['frame', 'channels', 'scratch', 'c'];

describe('E5 named reducers', () => {
  test.each<readonly [Reducer & string, readonly unknown[], unknown]>([
    ['last', [1, 2, 3], 3],
    ['first', [1, 2, 3], 1],
    ['first', [undefined, 2], undefined],
    ['first', [null, 2], null],
    ['append', [[1], 2, [3, 4], []], [1, 2, 3, 4]],
    ['append', ['a', 'b'], ['a', 'b']],
    ['append', [[], [[1]]], [[1]]],
    ['merge', [{ a: { b: 1 } }, { a: { c: [2] } }, { a: { c: [3] }, d: 4 }], { a: { b: 1, c: [3] }, d: 4 }],
    ['union', [[1, 1, { a: 1, b: 2 }], { b: 2, a: 1 }, [2, 1, 3], new Set([3, 4])], [1, { a: 1, b: 2 }, 2, 3, 4]],
    ['union', [new Set([1, 2]), new Set([2, 3])], new Set([1, 2, 3])],
    ['sum', [1, 2, 3.5], 6.5],
    ['sum', [1n, 2n], 3n],
    ['min', [3, 1, 2], 1],
    ['max', [3n, 5n, 4n], 5n],
    ['max', [new Date(1), new Date(3), new Date(2)], new Date(3)],
    ['avg', [1, 2, 6], 3],
    ['longest', ['ab', 'c', 'abc', 'xyz'], 'abc'],
    ['longest', [[1], [2, 3], 'abc'], 'abc'],
  ])('E5 %s gives what it says (%#)', (reducer, updates, expected) => {
    expect(reduceAll(reducer, updates)).toStrictEqual(expected);
  });

  test.each<readonly [Reducer & string, readonly unknown[]]>([
    ['sum', ['a']],
    ['sum', [1, 2n]],
    ['min', [1, 'a']],
    ['max', [1, new Date(1)]],
    ['avg', [1, 2n]],
    ['merge', [{ a: 1 }, [1]]],
    ['longest', [1]],
  ])('E5 %s refuses an update of the wrong kind and changes nothing (%#)', (reducer, updates) => {
    const bench = new Bench({ 'scratch.c': reducer });
    bench.applyAll(updates.slice(0, -1));
    bench.takeOps();
    const before = bench.frame.versionOf('scratch');
    const run = (): unknown => bench.apply({ other: 1, c: updates.at(-1), more: 2 });
    expect(run).toThrow(expect.objectContaining({ code: 'REDUCER_FAILED' }));
    expect(run).toThrow(/scratch\.c/);
    expect([bench.frame.versionOf('scratch'), bench.takeOps()]).toEqual([before, []]);
  });

  test('E5 append and union refuse a channel that is no list', () => {
    for (const reducer of ['append', 'union', 'merge', 'sum', 'avg', 'min', 'longest'] as const) {
      const bench = new Bench({ 'scratch.c': reducer }, { c: true });
      expect(() => bench.apply({ c: reducer === 'merge' ? {} : 1 })).toThrow(
        expect.objectContaining({ code: 'REDUCER_FAILED' }),
      );
    }
    const text = new Bench({ 'scratch.c': 'append' }, { c: '' });
    expect(() => text.apply({ c: 1 })).toThrow(/cannot append a number to a text/);
  });

  test('E5 append, union, sum and max do not depend on how updates are grouped', () => {
    const numbers = fc.array(fc.array(fc.integer({ min: -5, max: 5 }), { maxLength: 4 }), { maxLength: 5 });
    fc.assert(
      fc.property(numbers, (groups) => {
        for (const reducer of ['append', 'union'] as const) {
          expect(reduceAll(reducer, groups) ?? []).toEqual(reduceAll(reducer, [groups.flat()]));
        }
        for (const reducer of ['sum', 'max', 'min'] as const) {
          const partial = groups.filter((group) => group.length > 0).map((group) => reduceAll(reducer, group));
          expect(reduceAll(reducer, partial)).toEqual(reduceAll(reducer, groups.flat()));
        }
      }),
    );
  });

  test('E5 avg is the true mean of all updates, across a reload', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -1_000, max: 1_000 }), { minLength: 1, maxLength: 30 }), (updates) => {
        const bench = new Bench({ 'scratch.c': 'avg' });
        bench.applyAll(updates);
        const mean = updates.reduce((sum, value) => sum + value, 0) / updates.length;
        expect(bench.get()).toBeCloseTo(mean, 9);
        const loaded = new Frame(
          structuredClone(bench.tree),
          ['frame'],
          new DeltaBuilder(),
          compileChannels({ 'scratch.c': 'avg' }),
          new Map(),
        );
        loaded.applyUpdates(updatesOf({ c: 10 }));
        expect(loaded.plainState().scratch['c']).toBeCloseTo((mean * updates.length + 10) / (updates.length + 1), 9);
      }),
    );
  });

  test('E5 deep merge is associative', () => {
    const { value: objects } = fc.letrec<{ value: Record<string, unknown> }>((tie) => ({
      value: fc.dictionary(
        fc.constantFrom('a', 'b', '$', '__proto__'),
        fc.oneof({ maxDepth: 3 }, fc.integer(), tie('value')),
        { maxKeys: 3 },
      ),
    }));
    const merge = (...updates: readonly unknown[]): unknown => reduceAll('merge', updates);
    fc.assert(
      fc.property(objects, objects, objects, (a, b, c) => {
        // Not so where an object is replaced and merged again: a number between two objects.
        fc.pre(!hasMixedKinds([a, b, c]));
        expect(merge(merge(a, b), c)).toStrictEqual(merge(a, merge(b, c)));
      }),
    );
  });
});

function hasMixedKinds(objects: readonly unknown[]): boolean {
  const plain = objects.filter((object) => typeof object === 'object' && object !== null) as Record<string, unknown>[];
  if (plain.length !== objects.length) return plain.length > 0;
  const names = new Set(plain.flatMap(Object.keys));
  return [...names].some((name) =>
    hasMixedKinds(plain.filter((object) => Object.hasOwn(object, name)).map((object) => object[name])),
  );
}

describe('C4 what a reducer writes', () => {
  const opsOf = (reducer: Reducer, start: unknown, update: unknown): readonly Op[] => {
    const bench = new Bench({ 'scratch.c': reducer });
    if (start !== undefined) bench.apply({ c: start });
    bench.takeOps();
    bench.apply({ c: update });
    return bench.takeOps();
  };

  test('C4 a delta never repeats unchanged values', () => {
    expect(opsOf('append', [1, 2], [3])).toEqual([['a', at, [3]]]);
    expect(opsOf('append', [1, 2], 3)).toEqual([['a', at, [3]]]);
    expect(opsOf('append', [1, 2], [])).toEqual([]);
    expect(opsOf('union', [1, 2], [2, 3])).toEqual([['a', at, [3]]]);
    expect(opsOf('union', [1, 2], [2])).toEqual([]);
    expect(opsOf('first', 1, 2)).toEqual([]);
    expect(opsOf('merge', { a: { b: 1, c: 2 } }, { a: { c: 3 } })).toEqual([['s', [...at, 'a', 'c'], 3]]);
    expect(opsOf('merge', { a: 1 }, {})).toEqual([]);
    const text = new Bench({ 'scratch.c': 'append', 'scratch.$': 'append' }, { c: 'ab', $: 'ab' });
    text.apply({ c: 'c"' });
    expect(text.takeOps()).toEqual([['t', at, 'c"']]);
    text.apply({ $: 'c' });
    expect(text.takeOps()).toEqual([['s', ['frame', 'channels', 'scratch', '$'], { $: 'text', v: 'abc' }]]);
    expect(text.get('$')).toBe('abc');
  });

  test('C4 a custom reducer that returns what it was given and more is an append', () => {
    const add = (current: unknown, update: unknown): unknown => [...((current ?? []) as unknown[]), update];
    const custom: Reducer = { name: 'add', reduce: add };
    expect(opsOf(custom, { id: 1 }, { id: 2 })).toEqual([['a', at, [{ id: 2 }]]]);
    const bench = new Bench({ 'scratch.c': custom }, { c: [{ id: 0 }] });
    expect(bench.applyAll([{ id: 1 }, { id: 2 }])).toEqual([{ id: 0 }, { id: 1 }, { id: 2 }]);
    expect(bench.takeOps()).toEqual([
      ['a', at, [{ id: 1 }]],
      ['a', at, [{ id: 2 }]],
    ]);
    expect(opsOf({ name: 'keep', reduce: (current, update) => current ?? update }, 1, 2)).toEqual([]);
    expect(opsOf({ name: 'rev', reduce: (c, u) => [u, ...((c ?? []) as unknown[])] }, 1, 2)).toEqual([
      ['s', at, [2, 1]],
    ]);
  });

  test('C5 a list that will be written inside is never a reference to a blob; one item of it may be', () => {
    const blob = new BlobRef('ab'.repeat(32), 9);
    const moved = (value: unknown): Admitted => ({ ...admit(value), json: blob.json });
    const bench = new Bench({ 'scratch.c': 'append', 'scratch.m': 'merge', 'scratch.l': 'last' });
    const apply = (key: string, value: unknown): readonly Op[] => {
      bench.frame.applyUpdates({ scratch: { [key]: moved(value) } });
      return bench.takeOps();
    };
    expect(apply('c', [1])).toEqual([['s', at, [1]]]);
    expect(apply('c', [2, 3])).toEqual([['a', at, [2, 3]]]);
    const reference = { $: 'blob', hash: blob.hash, sizeBytes: 9 };
    expect(apply('c', { big: 1 })).toEqual([['a', at, [reference]]]);
    expect(apply('m', { big: 1 })[0]?.[2]).toEqual({ big: 1 });
    expect(apply('l', { big: 1 })[0]?.[2]).toEqual(reference);
    expect(apply('plain', { big: 1 })[0]?.[2]).toEqual(reference);
  });

  test('X2 an update that the delta does not tell is reported', () => {
    const isTransformed = (reducer: Reducer, start: unknown, update: unknown): boolean => {
      const bench = new Bench({ 'scratch.c': reducer });
      if (start !== undefined) bench.apply({ c: start });
      return bench.apply({ c: update }).isTransformed;
    };
    for (const [reducer, start, update] of [
      ['last', 1, 2],
      ['append', [1], [2]],
      ['append', [1], 2],
      ['append', undefined, 2],
      ['sum', undefined, 2],
      ['max', 1, 2],
    ] as const)
      expect(isTransformed(reducer, start, update)).toBe(false);
    for (const [reducer, start, update] of [
      ['first', 1, 2],
      ['sum', 1, 2],
      ['avg', 1, 2],
      ['max', 2, 1],
      ['union', [1], [1, 2]],
      ['merge', { a: 1 }, { b: 1 }],
    ] as const)
      expect(isTransformed(reducer, start, update)).toBe(true);
    const add: Reducer = { name: 'add', reduce: (current, update) => [...((current ?? []) as unknown[]), update] };
    expect(isTransformed(add, [1], 2)).toBe(true);
    expect(new Bench({}).apply({ c: 1 }).isTransformed).toBe(false);
  });
});

describe('E5 reducers below the top', () => {
  const reducers: Readonly<Record<string, Reducer>> = { 'scratch.a.items': 'append', 'scratch.a.stats.n': 'sum' };

  test('E5 an update is walked key by key; what has no reducer is replaced and reported', () => {
    const bench = new Bench(reducers);
    const first = { a: { items: [1], stats: { n: 1, at: 'x' }, other: { deep: 1 } } };
    expect(bench.apply(first)).toEqual({ plainWrites: ['scratch.a.stats.at', 'scratch.a.other'], isTransformed: true });
    expect(bench.takeOps()).toEqual([['s', ['frame', 'channels', 'scratch', 'a'], first.a]]);
    expect(bench.apply({ a: { items: 2, stats: { n: 2 } } })).toEqual({ plainWrites: [], isTransformed: true });
    const top = ['frame', 'channels', 'scratch', 'a'];
    expect(bench.takeOps()).toEqual([
      ['a', [...top, 'items'], [2]],
      ['s', [...top, 'stats', 'n'], 3],
    ]);
    expect(bench.get('a')).toEqual({ items: [1, 2], stats: { n: 3, at: 'x' }, other: { deep: 1 } });
    expect(bench.apply({ a: 'gone' }).plainWrites).toEqual(['scratch.a']);
    expect(bench.apply({ a: { items: [9] } }).plainWrites).toEqual([]);
    expect(bench.get('a')).toEqual({ items: [9] });
  });

  test('E5 what would be written is known without writing it', () => {
    const bench = new Bench({ ...reducers, 'scratch.sum': 'sum' });
    const updates = { a: { items: [1], x: 1, stats: { y: 1 } }, sum: 1, b: { c: 1 } };
    const before = JSON.stringify(bench.tree);
    const preview = previewUpdates(bench.frame, updatesOf(updates));
    expect(preview).toEqual(['scratch.a.x', 'scratch.a.stats.y', 'scratch.b']);
    expect([JSON.stringify(bench.tree), bench.takeOps()]).toEqual([before, []]);
    expect(bench.apply(updates).plainWrites).toEqual(preview);
  });

  test('E5 unknown places are refused', () => {
    const bench = new Bench({});
    const refused = expect.objectContaining({ code: 'STATE_UNKNOWN_CHANNEL' }) as Error;
    expect(() => bench.frame.applyUpdates({ outputs: { a: admit(1) } })).toThrow(refused);
    expect(() => previewUpdates(bench.frame, { __proto__x: {} })).toThrow(refused);
    for (const path of ['scratch', 'outputs.a', '__proto__.a', ''])
      expect(() => compileChannels({ [path]: 'last' })).toThrow(refused);
    expect(() => compileChannels({ 'scratch.a': 'toString' as 'last' })).toThrow(/toString/);
  });
});

describe('G6 custom reducers', () => {
  test.each<readonly [string, () => unknown, RegExp]>([
    [
      'throws',
      () => {
        throw new Error('boom');
      },
      /boom/,
    ],
    [
      'throws no error',
      () => {
        throw 'plain';
      },
      /plain/,
    ],
    ['returns a promise', () => Promise.resolve(1), /Promise/],
    ['returns what cannot be stored', () => ({ f: () => 1 }), /cannot be stored/],
  ])('G6 one that %s fails by name', (_name, reduce, reason) => {
    const bench = new Bench({ 'scratch.c': { name: 'mine', reduce } });
    expect(() => bench.apply({ c: 1 })).toThrow(reason);
    expect(() => bench.apply({ c: 1 })).toThrow(
      expect.objectContaining({ code: 'REDUCER_FAILED', data: expect.objectContaining({ channel: 'scratch.c' }) }),
    );
    expect(bench.takeOps()).toEqual([]);
  });

  test('G6 one sees frozen values and undefined at first, and what it returns is private', () => {
    const seen: unknown[] = [];
    const made: unknown[][] = [];
    const reduce = (current: unknown, update: unknown): unknown => {
      seen.push(current, Object.isFrozen(update));
      made.push([update]);
      return made.at(-1);
    };
    const bench = new Bench({ 'scratch.c': { name: 'mine', reduce } });
    bench.apply({ c: { a: 1 } });
    bench.apply({ c: { a: 2 } });
    expect(seen).toEqual([undefined, true, [{ a: 1 }], true]);
    expect(Object.isFrozen(seen[2])).toBe(true);
    made[1]?.push('later');
    const loaded = new Bench({ 'scratch.c': { name: 'mine', reduce } }, { c: [{ loaded: 1 }] });
    loaded.apply({ c: 1 });
    expect(Object.isFrozen((seen[4] as unknown[])[0])).toBe(true);
    expect(bench.get()).toEqual([{ a: 2 }]);
  });

  test('C4 ops of reducers give the same tree when they are applied', () => {
    const bench = new Bench({ 'scratch.c': 'append', 'scratch.a.n': 'avg' });
    const shadow = structuredClone({ frame: bench.tree });
    bench.applyAll([[1], [2]]);
    bench.apply({ a: { n: 1 } });
    bench.apply({ a: { n: 4 } });
    applyDelta(shadow, bench.takeOps());
    expect(shadow.frame).toEqual(bench.tree);
  });
});
