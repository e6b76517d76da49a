/** How long a claim is known to hold, and what does not begin after that (O2). */
import { describe, expect, test } from 'vitest';
import { createBench, edges, graphOf, node, testIds } from '../../../test/engine-kit.ts';
import { CairnError } from '../../errors.ts';
import type { Graph } from '../../graph/graph.ts';
import type { Store } from '../../ports/store.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { createVirtualClock, type VirtualClock } from '../../ports/virtual-clock.ts';
import type { Engine, RunHandle, TakenRun } from '../api.ts';
import { createEngine } from '../engine.ts';

const leaseMs = 3_000;

/** What stands between an engine and its store. */
type Network = (store: Store, clock: VirtualClock) => Partial<Store>;

interface Leased {
  readonly engine: Engine;
  readonly clock: VirtualClock;
  /** From now on, renewals reach the store. */
  readonly heal: () => void;
}

/** An engine whose renewals do not reach the store, but as its network says. */
function leasedEngine(network: Network, graph?: Graph): Leased {
  const clock = createVirtualClock();
  const memory = createMemoryStore({ now: () => clock.now() });
  let renewClaims: Store['renewClaims'] = unavailable;
  const { renewClaims: own, ...others } = network(memory, clock);
  if (own !== undefined) renewClaims = own;
  const store: Store = { ...memory, ...others, renewClaims: (claims) => renewClaims(claims) };
  const { engine } = createBench({ store, clock, leaseMs, findGraph: () => graph });
  return { engine, clock, heal: () => (renewClaims = (claims) => memory.renewClaims(claims)) };
}

const unavailable = (): Promise<never> => Promise.reject(new CairnError('STORE_UNAVAILABLE', { store: 'm' }));
const gone: Network = () => ({});

/** Hands a reply over after so many ms. */
function replyAfter<Reply>(clock: VirtualClock, delayMs: number, reply: Promise<Reply>): Promise<Reply> {
  return new Promise((resolve, reject) => {
    clock.setTimer(delayMs, () => void reply.then(resolve, reject));
  });
}

/** A graph whose effect comes when `work` has ended. */
interface LongWork {
  readonly graph: Graph;
  readonly end: () => void;
  readonly calls: readonly string[];
}

const forms: Readonly<Record<string, () => LongWork>> = {
  'of a node': () => {
    const work = Promise.withResolvers<void>();
    const calls: string[] = [];
    const graph = graphOf(
      'g',
      [node('long', 'read', () => work.promise), node('pay', 'write', () => void calls.push('pay'))],
      edges('> long', 'long > pay', 'pay >'),
    );
    return { graph, end: work.resolve, calls };
  },
  'of a step': () => {
    const work = Promise.withResolvers<void>();
    const calls: string[] = [];
    const composed = node('long', 'read', async (ctx) => {
      await work.promise;
      await ctx.step('pay', { effect: 'external' }, () => void calls.push('pay'));
    });
    return { graph: graphOf('g', [composed], edges('> long', 'long >')), end: work.resolve, calls };
  },
};

/** When the effect of a run was called: at once, or not before its lease was renewed. It ends either way, and was called once. */
async function calledWhen({ clock, heal }: Leased, handle: RunHandle, calls: readonly string[]): Promise<string> {
  await clock.advance(leaseMs);
  const isCalled = calls.length > 0;
  heal();
  await clock.advance(leaseMs);
  expect([(await handle.result()).status, calls]).toEqual(['completed', ['pay']]);
  return isCalled ? 'at once' : 'when renewed';
}

describe.each(Object.entries(forms))('an effect %s', (_, longWork) => {
  test('O2.1 begins in a run that is longer than its lease: each renewal moves the end of it', async () => {
    let renewals = 0;
    const { engine, clock } = leasedEngine((store) => ({
      renewClaims: (claims) => ((renewals += 1), store.renewClaims(claims)),
    }));
    const { graph, end, calls } = longWork();
    const handle = await engine.start(graph, {});
    await clock.advance(4 * leaseMs);
    end();
    expect([(await handle.result()).status, calls]).toEqual(['completed', ['pay']]);
    expect(renewals).toBe(12);
  });

  test.each([
    [leaseMs - 1, 'at once'],
    [leaseMs, 'when renewed'],
  ])(
    'O2.2 that comes after %d ms begins only if the lease holds, when it could not be renewed',
    async (ms, expected) => {
      const leased = leasedEngine(gone);
      const { graph, end, calls } = longWork();
      const handle = await leased.engine.start(graph, {});
      await leased.clock.advance(ms);
      end();
      expect(await calledWhen(leased, handle, calls)).toBe(expected);
    },
  );

  test.each([
    [leaseMs / 3 + leaseMs - 1, 'at once'],
    [leaseMs / 3 + leaseMs, 'when renewed'],
  ])('O2.1 that comes after %d ms finds the lease counted from before a slow renewal', async (ms, expected) => {
    let renewals = 0;
    const leased = leasedEngine((store, time) => ({
      renewClaims: (claims) =>
        (renewals += 1) === 1 ? replyAfter(time, leaseMs / 2, store.renewClaims(claims)) : unavailable(),
    }));
    const { engine, clock } = leased;
    const { graph, end, calls } = longWork();
    const handle = await engine.start(graph, {});
    await clock.advance(ms);
    end();
    expect(await calledWhen(leased, handle, calls)).toBe(expected);
    expect(renewals).toBeGreaterThan(1);
  });

  test.each([
    [leaseMs - 1, 'at once'],
    [leaseMs, 'when renewed'],
  ])('O2.1 that comes after %d ms finds the lease counted from before a slow admission', async (ms, expected) => {
    const leased = leasedEngine((store, time) => ({
      admitRun: (admission) => replyAfter(time, leaseMs / 2, store.admitRun(admission)),
    }));
    const { engine, clock } = leased;
    const { graph, end, calls } = longWork();
    const starting = engine.start(graph, {});
    await clock.advance(ms);
    end();
    expect(await calledWhen(leased, await starting, calls)).toBe(expected);
  });

  test.each([
    [leaseMs - 1, 'at once'],
    [leaseMs, 'when renewed'],
  ])('O2.1 that comes after %d ms finds the lease counted from before a slow claim', async (ms, expected) => {
    const leased = leasedEngine((store, time) => ({
      claimRun: (request) => replyAfter(time, leaseMs / 2, store.claimRun(request)),
    }));
    const { engine, clock } = leased;
    const { graph, end, calls } = longWork();
    await engine.start(graph, {}, { runId: 'r', detach: true });
    const resuming = engine.resume('r', { graph });
    await clock.advance(ms);
    end();
    expect(await calledWhen(leased, await resuming, calls)).toBe(expected);
  });

  test.each([
    [leaseMs - 1, 'at once'],
    [leaseMs, 'when renewed'],
  ])("O2.1 that comes after %d ms finds the lease counted from before a worker's slow claim", async (ms, expected) => {
    const { graph, end, calls } = longWork();
    const leased = leasedEngine(
      (store, time) => ({
        claimNext: (request) => replyAfter(time, leaseMs / 2, store.claimNext(request)),
      }),
      graph,
    );
    const { engine, clock } = leased;
    await engine.start(graph, {}, { runId: 'r', detach: true });
    const taking = engine.takeUp({ limit: 1 });
    await clock.advance(ms);
    end();
    const [taken] = await taking;
    expect(await calledWhen(leased, await (taken as TakenRun).handle, calls)).toBe(expected);
  });
});

test.each([
  [leaseMs - 1, 'at once'],
  [leaseMs, 'when renewed'],
])(
  'O2.1 a paused run that is taken up again by a claim of %d ms has the lease from before it',
  async (ms, expected) => {
    const begun: string[] = [];
    const graph = graphOf(
      'g',
      [node('ask', 'human', (ctx) => ctx.receive('go')), node('pay', 'write', () => void begun.push('pay'))],
      edges('> ask', 'ask > pay', 'pay >'),
    );
    let releases = 0;
    const leased = leasedEngine((store, time) => ({
      // The signal finds the run claimed, and leaves it to its owner.
      releaseClaim: async (claim) => {
        if ((releases += 1) === 1) await leased.engine.signal('r', 'go', 'now');
        return store.releaseClaim(claim);
      },
      claimRun: (request) => replyAfter(time, ms, store.claimRun(request)),
    }));
    const handle = await leased.engine.start(graph, {}, { runId: 'r' });
    await leased.clock.advance(2 * leaseMs);
    expect(await calledWhen(leased, handle, begun)).toBe(expected);
  },
);

test('O2 a claim is kept while its run is opened, however long that takes, so that no other worker begins to open it too', async () => {
  const graph = graphOf('g', [node('q', 'human', (ctx) => ctx.ask({ prompt: '?' }))], edges('> q', 'q >'));
  const clock = createVirtualClock();
  const memory = createMemoryStore({ now: () => clock.now() });
  const slow: Store = {
    ...memory,
    readCheckpoints: (key, range) => replyAfter(clock, 2 * leaseMs, memory.readCheckpoints(key, range)),
  };
  const [first, second, third] = [memory, slow, memory].map(
    (store, index) => createBench({ store, clock, leaseMs, ids: testIds(`worker-${index}`) }).engine,
  ) as [Engine, Engine, Engine];
  await clock.run(first.start(graph, {}, { runId: 'r' }).then((handle) => handle.result()));
  const opened = second.resume('r', { graph }).then((handle) => handle.result());
  const refused = new Promise((resolve) => {
    clock.setTimer(1.5 * leaseMs, () => void third.resume('r', { graph }).catch(resolve));
  });
  expect(await clock.run(refused)).toMatchObject({ code: 'CLAIM_TAKEN' });
  expect((await clock.run(opened)).status).toBe('paused');
});

test('O2 a run that is resumed while the engine looks for work is claimed once, and both get it', async () => {
  const bench = createBench();
  const graph = graphOf('g', [node('a', 'pure', () => 1)], edges('> a', 'a >'));
  await bench.engine.start(graph, {}, { runId: 'r', detach: true });
  const granted = Promise.withResolvers<void>();
  const reply = Promise.withResolvers<void>();
  const claims: string[] = [];
  const store: Store = {
    ...bench.store,
    claimNext: async (request) => {
      const grants = await bench.store.claimNext(request);
      claims.push('claimNext');
      granted.resolve();
      await reply.promise;
      return grants;
    },
    claimRun: (request) => {
      claims.push('claimRun');
      return bench.store.claimRun(request);
    },
  };
  const engine = createEngine({ ...bench.options, store, ids: testIds('worker-2'), findGraph: () => graph });
  const taking = engine.takeUp({ limit: 1 });
  await granted.promise;
  const resuming = engine.resume('r');
  // The resume has time to claim the run, if it would.
  for (let turn = 0; turn < 30; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  reply.resolve();
  const [taken] = await taking;
  const results = await Promise.all([taken?.handle, resuming].map(async (handle) => (await handle)?.result()));
  expect(results.map((result) => result?.status)).toEqual(['completed', 'completed']);
  expect(claims).toEqual(['claimNext']);
});

test('O2.9 a run is not opened whose claim is heard of after its lease, when another worker has it', async () => {
  const begun: string[] = [];
  const graph = graphOf('g', [node('a', 'read', () => void begun.push('a'))], edges('> a', 'a >'));
  const clock = createVirtualClock();
  const store = createMemoryStore({ now: () => clock.now() });
  const late: Store = { ...store, claimNext: (request) => replyAfter(clock, 2 * leaseMs, store.claimNext(request)) };
  const findGraph = (): Graph => graph;
  const { engine } = createBench({ store: late, clock, leaseMs, findGraph });
  const other = createBench({ store, clock, leaseMs, findGraph, ids: testIds('worker-2') }).engine;
  await engine.start(graph, {}, { runId: 'r', detach: true });
  const taking = engine.takeUp({ limit: 1 });
  await clock.advance(leaseMs);
  const [taken] = await other.takeUp({ limit: 1 });
  expect((await (await (taken as TakenRun).handle).result()).status).toBe('completed');
  const refusal = taking.then(([mine]) => mine?.handle).catch((error: unknown) => error);
  await clock.advance(leaseMs);
  expect(await refusal).toMatchObject({ code: 'CLAIM_LOST' });
  expect(begun).toEqual(['a']);
});
