/** Blame over histories written by hand, against a model that remembers who wrote what. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { applyModelOp, ModelHistory, type ModelOp } from '../../../test/history/model-history.ts';
import type { RunRow } from '../../ports/store.ts';
import { pruneRun } from '../retention/prune.ts';
import { blameValue, type BlamedPart } from './blame.ts';

const scratch = (...path: readonly string[]): readonly string[] => ['frame', 'channels', 'scratch', ...path];

/** A node writes, and ends in the same checkpoint. */
const visit = (node: string, ...ops: readonly ModelOp[]): readonly ModelOp[] => [
  ...ops,
  ['s', ['frame', 'nodes', node], { status: 'completed', fired: [] }],
];
const settle = (node: string, more: object = {}) => [{ kind: 'settle' as const, node: [node], ...more }];

async function blame(history: ModelHistory, row: RunRow, path: string, seq = row.head): Promise<readonly BlamedPart[]> {
  return (await blameValue(history, { run: row, seq }, path.split('.'))).parts;
}

const short = (parts: readonly BlamedPart[]): readonly string[] =>
  parts.map(({ path, range, seq, node = [], value }) => {
    const where = range === undefined ? '' : `[${range.from}-${range.to})`;
    return `${path.join('.')}${where} ${seq} ${node.join('/')} ${JSON.stringify(value)}`;
  });

test('N10 each part of an object, each appended item and each piece of a text has its writer, with visit and attempt', async () => {
  const history = new ModelHistory();
  const run = await history.start();
  await run.commit(visit('a', ['s', scratch('plan'), { title: 'x', by: { name: 'y', age: 1 } }]), settle('a'));
  await run.commit(
    visit('b', ['s', scratch('plan', 'by', 'age'), 2], ['s', scratch('log'), ['one']], ['s', scratch('text'), 'He']),
    settle('b', { visit: 3, attempt: 2 }),
  );
  await run.commit(
    [
      ...visit('c', ['a', scratch('log'), ['two', 'three']], ['t', scratch('text'), 'llo']),
      ...visit('d', ['a', scratch('log'), ['four']]),
    ],
    [...settle('c'), ...settle('d')],
  );
  const row = await run.row();
  expect(short(await blame(history, row, 'scratch.plan'))).toEqual([
    'scratch.plan.title 1 a "x"',
    'scratch.plan.by.name 1 a "y"',
    'scratch.plan.by.age 2 b 2',
  ]);
  const [age] = await blame(history, row, 'scratch.plan.by.age');
  expect(age).toMatchObject({ kind: 'settle', node: ['b'], visit: 3, attempt: 2, at: 1_002, runId: 'run' });
  expect(short(await blame(history, row, 'scratch.log'))).toEqual([
    'scratch.log[0-1) 2 b ["one"]',
    'scratch.log[1-3) 3 c ["two","three"]',
    'scratch.log[3-4) 3 d ["four"]',
  ]);
  expect(short(await blame(history, row, 'scratch.log.2'))).toEqual(['scratch.log.2 3 c "three"']);
  expect(short(await blame(history, row, 'scratch.log.-4'))).toEqual(['scratch.log.-4 2 b "one"']);
  expect(short(await blame(history, row, 'scratch.text'))).toEqual([
    'scratch.text[0-2) 2 b "He"',
    'scratch.text[2-5) 3 c "llo"',
  ]);
  expect(short(await blame(history, row, 'scratch.plan', 1))).toEqual([
    'scratch.plan 1 a {"title":"x","by":{"name":"y","age":1}}',
  ]);
  expect(short(await blame(history, row, 'input'))).toEqual(['input 0  null']);
  await expect(blame(history, row, 'scratch.nothing')).rejects.toMatchObject({ code: 'USAGE_INVALID' });
});

test('N10 of a fork, what an ancestor wrote is named with its run, and what the fork was given with the fork', async () => {
  const history = new ModelHistory();
  const run = await history.start('first');
  await run.commit(visit('a', ['s', scratch('kept'), 1], ['s', scratch('patched'), 1]), settle('a'));
  await run.commit(visit('b', ['s', scratch('kept'), 2]), settle('b'));
  const fork = await history.fork(run, 1, 'second', [['s', scratch('patched'), 7]]);
  const row = await fork.row();
  const [kept] = await blame(history, row, 'scratch.kept');
  expect(kept).toMatchObject({ runId: 'first', seq: 1, node: ['a'], value: 1 });
  const [patched] = await blame(history, row, 'scratch.patched');
  expect(patched).toMatchObject({ runId: 'second', seq: 2, kind: 'fork', value: 7 });
  expect(patched?.node).toBeUndefined();
});

test('N10 what was pruned is told as such: the span, or that nothing before is kept', async () => {
  const history = new ModelHistory();
  const run = await history.start();
  for (const value of [1, 2, 3, 4])
    await run.commit(visit('a', ['s', scratch(`v${value}`), value]), [
      ...settle('a', { visit: value }),
      { kind: 'pause' },
    ]);
  const { store, blobs } = history;
  await pruneRun(store, blobs, run.claim, await run.row(), { keepEvery: 4, keepLast: 1 });
  const folded = await run.row();
  expect(await blame(history, folded, 'scratch.v2')).toMatchObject([
    { seq: 3, kind: 'fold', within: { after: 0, upTo: 3 }, value: 2 },
  ]);
  expect((await blame(history, folded, 'scratch.v2'))[0]?.node).toBeUndefined();
  await pruneRun(store, blobs, run.claim, folded, { keepLast: 1 });
  expect(await blame(history, await run.row(), 'scratch.v1')).toMatchObject([
    { seq: 4, kind: 'fold', within: { upTo: 4 }, value: 1 },
  ]);
});

const keys = ['a', 'b', 'c'] as const;
type Leaf = readonly [path: string, seq: number];

/** Leaves of a value; characters of texts and items of lists are leaves. */
function leavesOf(value: unknown, path: readonly (string | number)[], offset = 0): readonly string[] {
  if (typeof value === 'string') return Array.from(value, (_, index) => [...path, index + offset].join('.'));
  if (Array.isArray(value)) return value.map((_, index) => [...path, index + offset].join('.'));
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, [...path, key]));
  return [path.join('.')];
}

/** Replays ops forward and notes the seq of each leaf: what blame must find from the other end. */
class Model {
  readonly leaves = new Map<string, number>();
  #value: Record<string, unknown> = {};

  get value(): Record<string, unknown> {
    return this.#value;
  }

  /** The op as it fits the value; undefined: it does not. */
  fit([kind, path, value]: readonly ['s' | 'd' | 'a', readonly string[], unknown]): ModelOp | undefined {
    let holder: unknown = this.#value;
    for (const key of path.slice(0, -1)) holder = (holder as Record<string, unknown> | undefined)?.[key];
    if (typeof holder !== 'object' || holder === null || Array.isArray(holder)) return undefined;
    const last = (holder as Record<string, unknown>)[path.at(-1) as string];
    if (kind === 's') return ['s', scratch('v', ...path), value];
    if (kind === 'd') return last === undefined ? undefined : ['d', scratch('v', ...path)];
    if (Array.isArray(last)) return ['a', scratch('v', ...path), [value]];
    return typeof last === 'string' ? ['t', scratch('v', ...path), 'xy'] : undefined;
  }

  apply(op: ModelOp, value: Record<string, unknown>, seq: number): void {
    const path = op[1].slice(4);
    const prefix = path.join('.');
    const at = path.reduce<unknown>((holder, key) => (holder as Record<string, unknown>)[key], value);
    const isGrown = op[0] === 'a' || op[0] === 't';
    if (!isGrown)
      for (const leaf of this.leaves.keys())
        if (leaf === prefix || leaf.startsWith(`${prefix}.`)) this.leaves.delete(leaf);
    if (op[0] !== 'd') for (const leaf of leavesOf(at, path)) if (!this.leaves.has(leaf)) this.leaves.set(leaf, seq);
    this.#value = value;
  }
}

const anyValue = fc.oneof(
  fc.integer({ min: 0, max: 9 }),
  fc.constant(['i']),
  fc.constant('text'),
  fc.constant({ a: { b: 1 }, c: [1, 2] }),
);
const anyOps = fc.array(
  fc.tuple(
    fc.constantFrom('s' as const, 's' as const, 'a' as const, 'a' as const, 'd' as const),
    fc.array(fc.constantFrom(...keys), { minLength: 1, maxLength: 2 }),
    anyValue,
  ),
  { maxLength: 25 },
);

test('N10 going back from the newest finds what remembering from the first would have', async () => {
  let grown = 0;
  await fc.assert(
    fc.asyncProperty(anyOps, fc.integer({ min: 1, max: 3 }), async (drawn, each) => {
      const history = new ModelHistory();
      const run = await history.start();
      await run.commit([['s', scratch('v'), {}]]);
      const model = new Model();
      for (let from = 0; from < drawn.length; from += each) {
        const ops: ModelOp[] = [];
        for (const one of drawn.slice(from, from + each)) {
          const op = model.fit(one);
          if (op === undefined) continue;
          ops.push(op);
          const next = ops.reduce((tree, each) => applyModelOp(tree, each), run.state);
          const value = (next as never as { frame: { channels: { scratch: { v: Record<string, unknown> } } } }).frame
            .channels.scratch.v;
          model.apply(op, value, run.head + 1);
        }
        await run.commit(ops);
      }
      const parts = await blame(history, await run.row(), 'scratch.v');
      const told = parts.flatMap(({ path, range, value, seq }) =>
        leavesOf(value, path.slice(2), range?.from).map((leaf): Leaf => [leaf, seq]),
      );
      grown += parts.filter(({ range }) => range !== undefined).length;
      expect(Object.fromEntries(told)).toEqual(Object.fromEntries(model.leaves));
      expect(told).toHaveLength(model.leaves.size);
    }),
    { numRuns: 400 },
  );
  expect(grown).toBeGreaterThan(10);
});
