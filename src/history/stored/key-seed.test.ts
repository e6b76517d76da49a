import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import type { RunRow } from '../../ports/store.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { keySeedOf, makeKeySeed } from './key-seed.ts';

/** A node and a step of an effect, each telling under which key it ran. */
const keys: string[] = [];
const graph = graphOf(
  'g',
  [
    node('pay', 'external', (ctx: NodeContext) => void keys.push(ctx.idempotencyKey)),
    node('composed', 'read', (ctx: NodeContext) =>
      ctx.step('mail', { effect: 'external' }, (step) => void keys.push(step.idempotencyKey)),
    ),
  ],
  edges('> pay', 'pay > composed', 'composed >'),
);

async function keysOf(identity: string | undefined, tenant: string): Promise<readonly string[]> {
  keys.length = 0;
  const store = createMemoryStore(identity === undefined ? {} : { identity });
  await runToRest(createBench({ store, tenant }).engine, graph, {}, 'order-7');
  return [...keys];
}

test('X1 equal run ids in two stores or two tenants give a receiver different keys, and in one the same', async () => {
  const shop = await keysOf('shop-prod', 'a');
  expect(await keysOf('shop-prod', 'a')).toEqual(shop);
  const others = [...(await keysOf('shop-staging', 'a')), ...(await keysOf('shop-prod', 'b'))];
  expect(new Set([...shop, ...others]).size).toBe(6);
});

test('X1 a store that gets another identity sends keys of its own for later runs only', async () => {
  const store = createMemoryStore({ identity: 'prod' });
  const bench = createBench({ store });
  const asks = graphOf(
    'g',
    [
      node('q', 'human', (ctx: NodeContext) => ctx.ask({ prompt: 'Pay?' })),
      node('pay', 'external', (ctx: NodeContext) => void keys.push(ctx.idempotencyKey)),
    ],
    edges('> q', 'q > pay', 'pay >'),
  );
  const { waits } = await runToRest(bench.engine, asks, {}, 'r');
  const seedOf = async (): Promise<string | undefined> => {
    const row = await store.readRun({ tenant: 'default', runId: 'r' });
    return row && keySeedOf(row);
  };
  const seed = await seedOf();
  await store.setIdentity('copy');
  await bench.engine.answer('r', waits[0]?.waitId ?? '', 'yes');
  await resumeToRest(bench.engine, 'r', asks);
  expect(await seedOf()).toBe(seed);
  const [one, other] = [createMemoryStore({ identity: 'prod' }), createMemoryStore({ identity: 'copy' })];
  expect(await makeKeySeed(one, 'default', 'r', 'b')).not.toBe(await makeKeySeed(other, 'default', 'r', 'b'));
});

test('X1 a run that is begun under the id of one that was removed sends other keys, and one that is moved keeps its own', async () => {
  const bench = createBench();
  const key = { tenant: 'default', runId: 'order-7' };
  const begin = async (): Promise<readonly string[]> => {
    keys.length = 0;
    await runToRest(bench.engine, graph, {}, key.runId);
    return [...keys];
  };
  const first = await begin();
  const row = await bench.store.readRun(key);
  await bench.store.removeRun(key);
  bench.clock.timeMs += 1;
  const second = await begin();
  expect(new Set([...first, ...second]).size).toBe(4);
  const again = await bench.store.readRun(key);
  expect(row && again && [keySeedOf(row) === keySeedOf(again)]).toEqual([false]);
  // A fork, too, may be made under the id of one that was removed.
  const forks: string[] = [];
  for (let time = 1; time <= 2; time += 1) {
    await bench.engine.fork({ runId: key.runId, seq: 0 }, { runId: 'fork' });
    const fork = { tenant: 'default', runId: 'fork' };
    forks.push(keySeedOf((await bench.store.readRun(fork)) as RunRow));
    await bench.store.removeRun(fork);
    bench.clock.timeMs += 1;
  }
  expect(new Set(forks).size).toBe(2);
});

const rowWith = (meta: object): Parameters<typeof keySeedOf>[0] => ({
  runId: 'r',
  key: '00',
  meta: new TextEncoder().encode(JSON.stringify(meta)),
});

test('X1 a run from before there were seeds derives its keys from its id', () => {
  expect(keySeedOf(rowWith({ graphHash: 'h' }))).toBe('r');
});

test('C6 a damaged seed is told, since other keys would send effects again', async () => {
  const seed = await makeKeySeed(createMemoryStore(), 'default', 'r', 'b');
  expect(keySeedOf(rowWith({ keySeed: seed }))).toBe(seed.split('.')[0]);
  const other = seed.startsWith('A') ? 'B' : 'A';
  for (const damaged of [`${other}${seed.slice(1)}`, seed.split('.')[0], `${seed.slice(0, -1)}${other}`])
    expect(() => keySeedOf(rowWith({ keySeed: damaged }))).toThrow(
      expect.objectContaining({ code: 'CHECKPOINT_CORRUPT' }),
    );
});
