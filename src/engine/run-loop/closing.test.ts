/** The end of what a process does with a run: it comes to rest, or its engine is closed. */
import { describe, expect, test } from 'vitest';
import { CairnError } from '../../errors.ts';
import type { Graph } from '../../graph/graph.ts';
import type { RunHandle } from '../api.ts';
import { createEngine } from '../engine.ts';
import {
  afterCrash,
  changesOf,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  rowOf,
  testIds,
} from '../../../test/engine-kit.ts';
import { killedInEffect, settleDown } from '../../../test/dying-engine.ts';
import { within } from '../../../test/support/awaited.ts';

const never = new Promise<never>(() => {});
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const asking = graphOf('asking', [node('a', 'human', (ctx) => ctx.ask({ prompt: '?' }))], edges('> a', 'a >'));

test('E3 an engine closes while the loop of a long chain rests', async () => {
  const { engine } = createBench();
  const ids = Array.from({ length: 1_500 }, (_, index) => `n${index}`);
  let closing: Promise<void> | undefined;
  const closeSoon = (): void => void setImmediate(() => void (closing = engine.close()));
  const graph = graphOf(
    'g',
    ids.map((id) => node(id, 'pure', () => (id === 'n511' ? closeSoon() : undefined))),
    edges('> n0', ...ids.slice(1).map((id, index) => `n${index} > ${id}`), 'n1499 >'),
    { policies: { checkpoint: 'none' } },
  );
  const handle = await engine.start(graph, {});
  await expect(handle.result()).rejects.toMatchObject({ code: 'STORE_CLOSED' });
  await closing;
});

test('E3 closing withdraws intents that were not started, so that nothing of them is in doubt', async () => {
  const bench = createBench();
  const calls: string[] = [];
  const graph = graphOf(
    'g',
    ['a', 'b'].map((id) => node(id, 'write', () => void calls.push(id))),
    edges('> a', '> b', 'a >', 'b >'),
  );
  const options = { ...bench.options, findGraph: () => graph };
  let engine = createEngine(options);
  let closing: Promise<void> | undefined;
  // Closed while the commit that holds the intents is under way.
  const commit: typeof bench.store.commit = async (given) => {
    closing ??= engine.close();
    await turn();
    return bench.store.commit(given);
  };
  engine = createEngine({ ...options, store: { ...bench.store, commit } });
  const handle = await engine.start(graph, {}, { runId: 'r' });
  await expect(handle.result()).rejects.toMatchObject({ code: 'STORE_CLOSED' });
  await closing;
  expect(calls).toEqual([]);
  const next = createEngine({ ...options, ids: testIds('worker-2') });
  expect(await changesOf(next, 'r')).toEqual(['start', 'intent a + intent b', 'withdraw a', 'withdraw b']);
  expect((await resumeToRest(next, 'r', graph)).status).toBe('completed');
  expect(calls.sort()).toEqual(['a', 'b']);
});

describe('X3 closing before another attempt of an effect in doubt begins leaves it in doubt as it was', () => {
  type Effect = (key: string) => unknown;
  const forms: Readonly<Record<string, (effect: Effect) => Graph>> = {
    node: (effect) =>
      graphOf(
        'g',
        [
          node('first', 'write', () => 1),
          node('pay', 'write', ({ idempotencyKey }) => effect(idempotencyKey), { idempotent: true }),
        ],
        edges('> first', 'first > pay', 'pay >'),
      ),
    step: (effect) =>
      graphOf(
        'g',
        [
          node('first', 'write', () => 1),
          node('pay', 'read', (ctx) =>
            ctx.step('s', { effect: 'write', idempotent: true }, ({ idempotencyKey }) => effect(idempotencyKey)),
          ),
        ],
        edges('> first', 'first > pay', 'pay >'),
      ),
  };

  test.each(
    Object.entries(forms).flatMap(([name, make]) => [
      [name, 'in a fork of it', make] as const,
      [name, 'for a fork from before it', make] as const,
    ]),
  )('%s, %s', async (_, where, make) => {
    const keys: string[] = [];
    const { bench, graph } = await killedInEffect((effect) => make((key) => (keys.push(key), effect())));
    const options = { ...bench.options, findGraph: () => graph, ids: testIds('worker-2', ['worker-1']) };
    const other = createEngine(options);
    const { head } = await rowOf(bench, 'r');
    const isFork = where === 'in a fork of it';
    const runId = isFork ? (await other.fork({ runId: 'r', seq: head })).runId : 'r';
    let engine = other;
    let closing: Promise<void> | undefined;
    const commit: typeof bench.store.commit = async (given) => {
      closing ??= engine.close();
      await settleDown();
      return bench.store.commit(given);
    };
    engine = createEngine({ ...options, store: { ...bench.store, commit } });
    await expect(resumeToRest(engine, runId, graph)).rejects.toMatchObject({ code: 'STORE_CLOSED' });
    await closing;
    expect(keys).toHaveLength(1);
    const last = isFork ? runId : (await other.fork({ runId, seq: 1 })).runId;
    expect((await resumeToRest(other, last, graph)).status).toBe('completed');
    expect(new Set(keys).size).toBe(1);
  });
});

test('O2 a run that is being opened when its engine closes is given back and not begun', async () => {
  const bench = createBench();
  let hasRun = false;
  const graph = graphOf('p', [node('a', 'pure', () => (hasRun = true))], edges('> a', 'a >'));
  await bench.engine.start(graph, {}, { runId: 'r', detach: true });
  const opening = bench.engine.resume('r', { graph });
  await bench.engine.close();
  await expect(opening).rejects.toMatchObject({ code: 'STORE_CLOSED' });
  expect(hasRun).toBe(false);
  expect((await bench.store.readRun({ tenant: 'default', runId: 'r' }))?.claim).toBeUndefined();
  await expect(bench.engine.start(graph, {})).rejects.toMatchObject({ code: 'STORE_CLOSED' });
});

test('O1 closing aborts what runs and gives the claim back', async () => {
  const bench = createBench();
  let reason: unknown;
  const graph = graphOf(
    'p',
    [
      node('a', 'pure', (ctx) => {
        ctx.signal.addEventListener('abort', () => (reason = ctx.signal.reason));
        return never;
      }),
    ],
    edges('> a', 'a >'),
  );
  const handle = await bench.engine.start(graph, {}, { runId: 'r' });
  await turn();
  await bench.engine.close();
  await expect(handle.result()).rejects.toMatchObject({ code: 'STORE_CLOSED' });
  expect(reason).toMatchObject({ code: 'CLAIM_LOST' });
  expect((await bench.store.readRun({ tenant: 'default', runId: 'r' }))?.claim).toBeUndefined();
});

test('O1 a run whose claim cannot be given back has ended all the same', async () => {
  const bench = createBench();
  const releaseClaim = (): Promise<void> => Promise.reject(new CairnError('STORE_UNAVAILABLE', { store: 'm' }));
  const engine = createEngine({ ...bench.options, store: { ...bench.store, releaseClaim } });
  const handle = await engine.start(graphOf('p', [node('a', 'pure', () => 1)], edges('> a', 'a >')), {});
  const seen: string[] = [];
  for await (const event of handle.events()) seen.push(event.type);
  expect((await handle.result()).status).toBe('completed');
  expect(seen).toContain('checkpoint');
});

test('W2 a run that is just pausing when it is answered is taken up anew, and takes the answer', async () => {
  const { engine, store } = createBench();
  const handle = await engine.start(asking, {}, { runId: 'r' });
  let resumed: RunHandle | undefined;
  for await (const event of handle.events()) {
    if (event.type !== 'checkpoint' || !event.change.some((part) => part.kind === 'pause')) continue;
    const { rows } = await store.listWaits({ tenant: 'default', runId: 'r' });
    await engine.answer('r', rows[0]?.waitId ?? '', 1);
    resumed = await engine.resume('r', { graph: asking });
  }
  expect((await resumed?.result())?.status).toBe('completed');
});

test('E7 a run that nobody works on is cancelled at once, and what it waited for is closed', async () => {
  const bench = createBench();
  const handle = await bench.engine.start(asking, {}, { runId: 'r' });
  await handle.result();
  const other = afterCrash({ ...bench, options: { ...bench.options, findGraph: () => asking } });
  await other.cancel('r');
  expect((await other.inspect('r')).status).toBe('cancelled');
  expect((await bench.store.listWaits({ tenant: 'default', runId: 'r' })).rows).toEqual([]);
  await expect(other.cancel('r')).rejects.toMatchObject({ code: 'RUN_FINISHED' });
  await expect(other.resume('r')).rejects.toMatchObject({ code: 'RUN_CANCELLED' });
});

test.each(['answer', 'signal', 'cancel'] as const)(
  'W4 an %s that another process posts while the run is being given back is taken by who gave it back',
  async (kind) => {
    const bench = createBench();
    const graph = graphOf(
      'g',
      [node('a', 'human', (ctx) => Promise.race([ctx.ask({ prompt: '?' }), ctx.receive('go')]))],
      edges('> a', 'a >'),
    );
    const other = createEngine({ ...bench.options, ids: testIds('worker-2') });
    let posted: unknown;
    const post = async (): Promise<void> => {
      const wait = (await other.waits('r')).find((open) => open.kind === 'question');
      if (kind === 'answer') await other.answer('r', wait?.waitId ?? '', 'yes');
      else if (kind === 'signal') await other.signal('r', 'go', 'yes');
      else await other.cancel('r');
      posted = await other.resume('r', { graph }).catch((error: unknown) => (error as CairnError).code);
    };
    const releaseClaim: typeof bench.store.releaseClaim = async (claim) => {
      // The run is paused, and its claim still held: whoever posts now finds it taken.
      if (posted === undefined) await post();
      return bench.store.releaseClaim(claim);
    };
    const owner = createEngine({ ...bench.options, store: { ...bench.store, releaseClaim } });
    const result = await (await owner.start(graph, {}, { runId: 'r' })).result();
    expect(posted).toBe('CLAIM_TAKEN');
    expect(result.status).toBe(kind === 'cancel' ? 'cancelled' : 'completed');
    await owner.close();
    expect((await bench.store.readRun({ tenant: 'default', runId: 'r' }))?.claim).toBeUndefined();
  },
);

test('E3 an engine that is closed while it opens a run for changed code closes, and the next one goes on with the run', async () => {
  const withNodes = (...more: readonly string[]): Graph =>
    graphOf(
      'g',
      [node('a', 'human', (ctx) => ctx.ask({ prompt: '?' })), ...more.map((id) => node(id, 'pure', () => `${id} ran`))],
      edges('> a', ...more.flatMap((id) => [`a > ${id}`, `${id} >`]), 'a >'),
    );
  let closedEarly = 0;
  // The engine is closed at each step of opening the run.
  for (let turns = 0; turns < 60; turns += 1) {
    const bench = createBench();
    const handle = await bench.engine.start(withNodes(), {}, { runId: 'r' });
    const { waits } = await handle.result();
    const closing = afterCrash(bench);
    const resumed = closing.resume('r', { graph: withNodes('b') }).then(
      (opened) =>
        opened.result().then(
          () => 'rested',
          () => 'closed',
        ),
      () => 'closed',
    );
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    await within('the engine closes', closing.close());
    if ((await resumed) === 'closed') closedEarly += 1;
    const next = afterCrash(bench);
    await next.answer('r', waits[0]?.waitId ?? '', 'yes');
    const { state } = await resumeToRest(next, 'r', withNodes('b'));
    expect(state.outputs).toEqual({ a: 'yes', b: 'b ran' });
  }
  expect(closedEarly).toBeGreaterThan(10);
});

test('E7 a run that is cancelled while its owner looks whether to go on stays cancelled', async () => {
  const bench = createBench();
  const graph = graphOf('g', [node('a', 'human', (ctx) => ctx.ask({ prompt: '?' }))], edges('> a', 'a >'));
  const other = createEngine({ ...bench.options, findGraph: () => graph, ids: testIds('worker-2') });
  let isPosted = false;
  const releaseClaim: typeof bench.store.releaseClaim = async (claim) => {
    if (!isPosted) await other.signal('r', 'go', 'yes');
    isPosted = true;
    return bench.store.releaseClaim(claim);
  };
  const claimRun: typeof bench.store.claimRun = async (request) => {
    // It was seen paused, with a message.
    if (isPosted) await other.cancel('r');
    return bench.store.claimRun(request);
  };
  const owner = createEngine({ ...bench.options, store: { ...bench.store, releaseClaim, claimRun } });
  await (await owner.start(graph, {}, { runId: 'r' })).result();
  await owner.close();
  const row = await bench.store.readRun({ tenant: 'default', runId: 'r' });
  expect([row?.status, row?.claim]).toEqual(['cancelled', undefined]);
});
