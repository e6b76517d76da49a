import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { keySeedOf, makeKeySeed } from './stored-meta.ts';

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
  const seed = await makeKeySeed(store, 'default', 'r');
  await store.setIdentity('copy');
  expect(await makeKeySeed(store, 'default', 'r')).not.toBe(seed);
  await bench.engine.answer('r', waits[0]?.waitId ?? '', 'yes');
  await resumeToRest(bench.engine, 'r', asks);
  const run = await store.readRun({ tenant: 'default', runId: 'r' });
  expect(run && keySeedOf(run)).toBe(seed.split('.')[0]);
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
  const seed = await makeKeySeed(createMemoryStore(), 'default', 'r');
  expect(keySeedOf(rowWith({ keySeed: seed }))).toBe(seed.split('.')[0]);
  const other = seed.startsWith('A') ? 'B' : 'A';
  for (const damaged of [`${other}${seed.slice(1)}`, seed.split('.')[0], `${seed.slice(0, -1)}${other}`])
    expect(() => keySeedOf(rowWith({ keySeed: damaged }))).toThrow(
      expect.objectContaining({ code: 'CHECKPOINT_CORRUPT' }),
    );
});
