/** Stories of long runs: what they cost grows with the run, others get their turn, and they can be printed. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { END, START } from '../../src/graph/graph.ts';
import { outgoingEdges } from '../../src/graph/compile/outgoing-edges.ts';
import { postMortem } from '../../src/history/explain/post-mortem.ts';
import type { EffectClass } from '../../src/graph/contracts/node-contract.ts';
import { nodeIn } from '../../src/history/explain/structures.ts';
import { createBench, graphOf, node, rowOf, runToRest, type Bench } from '../engine-kit.ts';
import { leastCpuRatio } from '../support/cpu-ratio.ts';

/** A ring of nodes that is gone through some times. */
async function runRing(bench: Bench, nodes: number, laps: number, effect: EffectClass = 'read'): Promise<void> {
  const ids = Array.from({ length: nodes }, (_, index) => `n${index}`);
  const last = ids.at(-1) as string;
  let lap = 0;
  const run = (id: string) => () => {
    if (id === last) lap += 1;
    return id;
  };
  const ring = graphOf(
    'ring',
    ids.map((id) => node(id, effect, run(id), { maxVisits: 1e6 })),
    [
      { from: START, to: 'n0' },
      ...ids.slice(1).map((id, index) => ({ from: `n${index}`, to: id })),
      { from: last, to: 'n0', condition: { text: 'again', evaluate: () => lap < laps } },
      { from: last, to: END, condition: { text: 'done', evaluate: () => lap >= laps } },
    ],
  );
  expect((await runToRest(bench.engine, ring, {}, 'r')).status).toBe('completed');
}

test('a story goes through the nodes and edges of its graph once, however many visits it tells', () => {
  let reads = 0;
  const counted = <Value>(value: readonly Value[]): readonly Value[] =>
    new Proxy(value, {
      get(target, name) {
        if (name === Symbol.iterator || name === 'map' || name === 'find' || name === 'flatMap') reads += 1;
        return Reflect.get(target, name) as unknown;
      },
    });
  const ids = Array.from({ length: 100 }, (_, index) => `n${index}`);
  const structure = {
    nodes: counted(ids.map((id) => ({ id }))),
    edges: counted(ids.map((from, index) => ({ key: `e${index}`, from, to: `n${index + 1}` }))),
  } as never;
  for (let visits = 0; visits < 50; visits += 1)
    for (const id of ids) {
      expect(outgoingEdges(structure, id)).toMatchObject([{ from: id }]);
      expect(nodeIn(structure, id)).toEqual({ id });
    }
  expect(reads).toBeLessThan(10);
});

// Many visits of pure nodes are in one checkpoint, others have one each.
test.each(['read', 'pure'] as const)('others get their turn while a long story of %s nodes is read', async (effect) => {
  const bench = createBench();
  await runRing(bench, 20, 60, effect);
  const run = await rowOf(bench, 'r');
  let turns = 0;
  let isOver = false;
  const turn = (): void => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  const place = { store: bench.store, blobs: bench.options.blobs, tenant: 'default', now: () => 0 };
  const story = await postMortem({ ...place, isWorkerDead: () => undefined }, { run, seq: run.head });
  isOver = true;
  expect(story.entries.filter(({ kind }) => kind === 'visit')).toHaveLength(1200);
  expect(turns).toBeGreaterThan(3);
});

test('ten times the run takes at most twelve times the CPU to tell', async () => {
  const teller = async (nodes: number): Promise<() => Promise<unknown>> => {
    const bench = createBench();
    await runRing(bench, nodes, 5, 'pure');
    const run = await rowOf(bench, 'r');
    const place = { store: bench.store, blobs: bench.options.blobs, tenant: 'default', now: () => 0 };
    return async () => postMortem({ ...place, isWorkerDead: () => undefined }, { run, seq: run.head });
  };
  const [small, large] = [await teller(200), await teller(2000)];
  expect(await leastCpuRatio(large, small, { times: 10, bound: 1.2 })).toBeLessThan(1.2);
});

test('a text of more lines than a call takes arguments is printed', () => {
  const screen = join(import.meta.dirname, '../../src/cli/screen.ts');
  const code = `import { openScreen } from ${JSON.stringify(screen)};
    openScreen({}).print('head', Array.from({ length: 400_000 }, (_, index) => 'line ' + index));`;
  const out = execFileSync(process.execPath, ['--input-type=module', '-e', code], { maxBuffer: 1e8, encoding: 'utf8' });
  expect(out.trimEnd().split('\n')).toHaveLength(400_001);
});
