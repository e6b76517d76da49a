import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMemoryBlobs } from '../../blobs/memory-blobs.ts';
import { applyDelta } from '../../state/delta.ts';
import { FoldedOps } from './folded-ops.ts';

type Tree = Record<string, unknown>;
type Op = readonly [string, readonly string[], unknown?];

/** Turns random numbers into an op that fits the tree, somewhere in it. */
function opFor(tree: Tree, [turn, pick, kind, value]: readonly [number, number, number, unknown]): Op {
  const path: string[] = [];
  let holder = tree;
  for (let depth = 0; depth < turn % 3; depth++) {
    const inner = Object.keys(holder).filter((key) => isObject(holder[key]));
    const key = inner[pick % inner.length];
    if (key === undefined) break;
    path.push(key);
    holder = holder[key] as Tree;
  }
  const key = ['a', 'b', 'c', 'd'][pick % 4] as string;
  const current = holder[key];
  if (kind % 4 === 0 && Object.hasOwn(holder, key)) return ['d', [...path, key]];
  if (kind % 2 === 0 && Array.isArray(current)) return ['a', [...path, key], [value]];
  if (kind % 2 === 0 && typeof current === 'string') return ['t', [...path, key], '+'];
  return ['s', [...path, key], structuredClone(value)];
}

const isObject = (value: unknown): value is Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const anyTree: fc.Arbitrary<Tree> = fc.letrec<{ tree: Tree; value: unknown }>((tie) => ({
  tree: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), tie('value'), { maxKeys: 4, noNullPrototype: true }),
  value: fc.oneof({ maxDepth: 3 }, fc.integer(), fc.string(), fc.array(fc.integer(), { maxLength: 2 }), tie('tree')),
})).tree;
const anyChoice = fc.tuple(
  fc.nat(),
  fc.nat(),
  fc.nat(),
  fc.oneof(fc.integer(), fc.string(), fc.array(fc.integer()), anyTree),
);

test('C8 the ops of a span and their fold lead to the same tree, keys in order', async () => {
  let saved = 0;
  await fc.assert(
    fc.asyncProperty(anyTree, fc.array(anyChoice, { maxLength: 30 }), async (before, choices) => {
      const tree = structuredClone(before);
      const folded = new FoldedOps(before, createMemoryBlobs(), 'default');
      for (const choice of choices) {
        const op = opFor(tree, choice);
        await folded.add(structuredClone(op));
        applyDelta(tree, [structuredClone(op)]);
      }
      const ops = folded.take();
      saved += choices.length - ops.length;
      const again = structuredClone(before);
      applyDelta(again, ops);
      expect(JSON.stringify(again)).toBe(JSON.stringify(tree));
    }),
    { numRuns: 1_000 },
  );
  expect(saved).toBeGreaterThan(1_000);
}, 30_000);

async function fold(before: Tree, ops: readonly Op[]): Promise<readonly Op[]> {
  const folded = new FoldedOps(before, createMemoryBlobs(), 'default');
  for (const op of ops) await folded.add(op);
  return folded.take();
}

test('C8 nothing is written that is overwritten within the span', async () => {
  const counting = Array.from({ length: 100 }, (_, n): Op => ['s', ['n'], n]);
  expect(await fold({ n: 0 }, counting)).toEqual([['s', ['n'], 99]]);
  expect(
    await fold({ l: [1] }, [
      ['a', ['l'], [2]],
      ['a', ['l'], [3]],
    ]),
  ).toEqual([['a', ['l'], [2, 3]]]);
  expect(
    await fold({ t: 'a' }, [
      ['t', ['t'], 'b'],
      ['t', ['t'], 'c'],
    ]),
  ).toEqual([['t', ['t'], 'bc']]);
  expect(
    await fold({}, [
      ['s', ['x'], {}],
      ['s', ['x', 'y'], 1],
      ['d', ['x']],
    ]),
  ).toEqual([]);
  expect(
    await fold({ x: 1 }, [
      ['s', ['x'], 2],
      ['d', ['x']],
    ]),
  ).toEqual([['d', ['x']]]);
});

test('C5 a value kept as a blob is read when a span grows it', async () => {
  const blobs = createMemoryBlobs();
  const hash = await blobs.put({ tenant: 'default', runId: 'run' }, Buffer.from('["large"]'));
  const blob = { $: 'blob', hash, sizeBytes: 9 };
  const folded = new FoldedOps({ kept: blob }, blobs, 'default');
  for (const op of [
    ['s', ['l'], blob],
    ['a', ['l'], [2]],
    ['a', ['kept'], [3]],
  ])
    await folded.add(op);
  expect(folded.take()).toEqual([
    ['s', ['l'], ['large', 2]],
    ['a', ['kept'], [3]],
  ]);
});
