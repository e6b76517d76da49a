import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, runToRest, testIds } from '../../../test/engine-kit.ts';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import { defineLimit } from '../../graph/limit.ts';
import { limitModels } from '../../models/limit/limit-models.ts';
import type { Models } from '../../ports/model.ts';
import { createMemoryStore } from '../../stores/memory/memory-store.ts';
import { createVirtualClock } from '../../ports/virtual-clock.ts';

const usage = { inputTokens: 3, outputTokens: 4 };
const call = { model: 'acme:large', messages: [{ role: 'user' as const, content: 'hi' }] };

test('FL11 calls of models keep the limit of their provider over all engines, and its word to wait holds for all', async () => {
  defineLimit('acme', { concurrency: 1, tokensPerMinute: 60_000 });
  const clock = createVirtualClock({ isAutomatic: true });
  const store = createMemoryStore({ now: clock.now });
  let [now, most, calls] = [0, 0, 0];
  const begunAt: number[] = [];
  const models: Models = {
    generate: async () => {
      calls += 1;
      begunAt.push(clock.now());
      most = Math.max(most, (now += 1));
      await new Promise((resolve) => setImmediate(resolve));
      now -= 1;
      if (calls === 1) throw new NodeFailure('busy', { applied: 'no', retryAfterMs: 30_000 });
      return { content: [{ type: 'text', text: 'yes' }], finishReason: 'stop', usage } as never;
    },
  };
  const ask = node('ask', 'external', (ctx) => ctx.models.generate(call).then(() => 1), {
    idempotent: true,
    retry: { attempts: 2, delayMs: 1 },
  });
  const graph = graphOf('ask', [ask], edges('> ask', 'ask >'));
  const engines = ['one', 'two'].map(
    (name) => createBench({ store, clock, ids: testIds(name), models: limitModels(models) }).engine,
  );
  const runs = [0, 1, 2, 3].map((index) => runToRest(engines[index % 2] as (typeof engines)[number], graph));
  // The first one waits for its next attempt as a run.
  const statuses = (await Promise.all(runs)).map(({ status }) => status);
  expect(statuses.sort()).toEqual(['completed', 'completed', 'completed', 'paused']);
  expect([calls, most]).toEqual([4, 1]);
  expect((begunAt[1] ?? 0) - (begunAt[0] ?? 0)).toBeGreaterThanOrEqual(29_000);
});

test('FL11 so do the calls of models of a program that know of no limits, and one that fails gives its place back', async () => {
  defineLimit('own-models', { concurrency: 1 });
  const clock = createVirtualClock({ isAutomatic: true });
  const store = createMemoryStore({ now: clock.now });
  let [now, most, calls] = [0, 0, 0];
  const models: Models = {
    generate: async () => {
      calls += 1;
      most = Math.max(most, (now += 1));
      await new Promise((resolve) => setImmediate(resolve));
      now -= 1;
      if (calls === 2) throw new NodeFailure('no', { applied: 'no' });
      return { content: [{ type: 'text', text: 'yes' }], finishReason: 'stop', usage } as never;
    },
  };
  const own = { ...call, model: 'own-models:small' };
  const ask = node('ask', 'external', (ctx) => ctx.models.generate(own).then(() => 1), { idempotent: true });
  const graph = graphOf('own', [ask], edges('> ask', 'ask >'));
  const engines = ['one', 'two'].map(
    (name) => createBench({ store, clock, ids: testIds(name), models, findGraph: () => graph }).engine,
  );
  const runs = [0, 1, 2, 3].map((index) => runToRest(engines[index % 2] as (typeof engines)[number], graph));
  const statuses = (await Promise.all(runs)).map(({ status }) => status);
  expect(statuses.sort()).toEqual(['completed', 'completed', 'completed', 'failed']);
  expect([calls, most]).toEqual([4, 1]);
});
