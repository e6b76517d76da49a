/** What a process that has lost a run tells of the effects that it announced, and what whoever has the run now does with it (O2.8). */
import { describe, expect, test } from 'vitest';
import { cutStore } from '../../../test/support/cut-store.ts';
import { changesOf, createBench, edges, endingsOf, graphOf, node, testIds } from '../../../test/engine-kit.ts';
import type { Graph } from '../../graph/graph.ts';
import { NodeFailure, outcome, type NodeContext } from '../../graph/contracts/node-contract.ts';
import { showCheckpoint } from '../../history/read/log.ts';
import { listRuns } from '../../operations/runs/list-runs.ts';
import { listWaits } from '../../operations/waits/list-waits.ts';
import type { RunRow } from '../../ports/store.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { createVirtualClock, type VirtualClock } from '../../ports/virtual-clock.ts';
import type { Engine, RunResult } from '../api.ts';

const leaseMs = 10_000;

interface TwoProcesses {
  readonly clock: VirtualClock;
  readonly first: Engine;
  readonly second: Engine;
  /** The first process cannot reach the store. */
  readonly cut: () => void;
  readonly heal: () => void;
  /** The run as the second process has it, which claims it when the lease of the first is over, and then waits for the first to come back. */
  readonly takeOver: () => Promise<RunResult>;
}

/** Two processes on one store; the second does not know whether the first is dead. */
function twoProcesses(graph: Graph, bounds: { readonly inlineBytes?: number } = {}): TwoProcesses {
  const clock = createVirtualClock();
  const memory = createMemoryStore({ now: () => clock.now() });
  const [own, others] = [cutStore(memory), cutStore(memory)];
  const shared = { clock, leaseMs, findGraph: () => graph, bounds: { effectMs: 600_000, ...bounds } };
  const bench = createBench({ ...shared, store: own.store });
  const { engine: first } = bench;
  const { engine: second } = createBench({
    ...shared,
    blobs: bench.options.blobs,
    store: others.store,
    ids: testIds('worker-2'),
  });
  const takeOver = async (): Promise<RunResult> => {
    await clock.advance(leaseMs + 1);
    const handle = await second.resume('r', { graph });
    await clock.advance(5_000);
    // Meanwhile everybody can see for whom the run waits.
    const row = (await memory.readRun({ tenant: 'default', runId: 'r' })) as RunRow;
    const { awaits } = await showCheckpoint(
      { ...second.ports, isWorkerDead: () => undefined, now: () => clock.now() },
      row,
      1,
    );
    expect(awaits).toMatchObject([{ node: ['pay'], owner: 'worker-1', until: expect.any(Number) }]);
    const lists = { ...second.ports, isWorkerDead: () => undefined, now: () => clock.now() };
    expect(await listRuns.run(lists, {})).toMatchObject({ runs: [{ runId: 'r', awaits }] });
    expect(await listWaits.run(lists, { all: true })).toMatchObject({
      awaiting: [{ runId: 'r', graphId: 'g', awaits }],
    });
    own.heal();
    // The first one hears of the loss when it renews its lease or sends its commit again.
    await clock.advance(2 * leaseMs - 5_000);
    expect((await second.inspect('r')).status).not.toBe('running');
    return handle.result();
  };
  return { clock, first, second, cut: own.cut, heal: own.heal, takeOver };
}

type Work = (ctx: NodeContext) => unknown;
type Options = Partial<Parameters<typeof node>[3]>;

/** A graph of an effect, which is a node or a step, and of what follows it. */
const forms: Readonly<Record<string, (work: Work, options?: Options) => Graph>> = {
  'of a node': (work, options = {}) =>
    graphOf(
      'g',
      [node('pay', 'external', work, options), node('then', 'pure', () => 1)],
      edges('> pay', 'pay > then', 'then >'),
    ),
  'of a step': (work, options = {}) =>
    graphOf(
      'g',
      [
        node('pay', 'read', (ctx) =>
          ctx.step('card', { effect: 'external', ...options }, (step) => work({ ...ctx, ...step })),
        ),
        node('then', 'pure', () => 1),
      ],
      edges('> pay', 'pay > then', 'then >'),
    ),
};

describe.each(Object.entries(forms))('an effect %s', (_, formOf) => {
  /** Runs the effect in a process that cannot reach the store from when it begins; it ends 1 s later. */
  async function endedApart(
    end: (ctx: NodeContext, calls: number) => unknown,
    options?: Options,
    bounds?: { readonly inlineBytes?: number },
  ): Promise<TwoProcesses & { readonly result: RunResult; readonly calls: number; readonly keys: readonly string[] }> {
    let calls = 0;
    const keys: string[] = [];
    const work = async (ctx: NodeContext): Promise<unknown> => {
      calls += 1;
      keys.push(ctx.idempotencyKey);
      if (calls > 1) return end(ctx, calls);
      processes.cut();
      await new Promise<void>((resolve) => processes.clock.setTimer(1_000, resolve));
      return end(ctx, calls);
    };
    const processes = twoProcesses(formOf(work, options), bounds);
    const handle = await processes.first.start(formOf(work, options), {}, { runId: 'r' });
    handle.result().catch(() => {});
    const result = await processes.takeOver();
    return { ...processes, result, calls, keys };
  }

  test('O2.8 that ended while its process was cut off is settled by whoever has the run, as it ended', async () => {
    const { result, calls, second } = await endedApart(() => ({ receipt: 7 }));
    expect([result.status, result.state.outputs['pay'], calls, result.waits]).toEqual([
      'completed',
      { receipt: 7 },
      1,
      [],
    ]);
    const lines = (await changesOf(second, 'r')).join(' + ');
    expect(lines).toMatch(/told pay/);
  });

  test('O2.8 that ended with a large value hands that over too', async () => {
    const large = 'x'.repeat(5_000);
    const { result } = await endedApart(() => large, {}, { inlineBytes: 1_000 });
    expect([result.status, result.state.outputs['pay']]).toEqual(['completed', large]);
  });

  test('O2.8 that failed by itself fails as it would have where it ran, and is not called again', async () => {
    const { result, calls } = await endedApart(() => {
      throw new NodeFailure('the card was refused', { code: 'REFUSED' });
    });
    expect([result.status, calls]).toEqual(['failed', 1]);
    expect(JSON.stringify(result.error?.cause ?? result.error)).toContain('REFUSED');
  });

  test('O2.8 that certainly did not happen is tried again where the run is now, by its policy, under its key', async () => {
    const { result, calls, keys } = await endedApart(
      (_ctx, call) => {
        if (call === 1) throw new NodeFailure('busy', { applied: 'no' });
        return 'paid';
      },
      { retry: { attempts: 2, delayMs: 10 } },
    );
    expect([result.status, result.state.outputs['pay'], calls]).toEqual(['completed', 'paid', 2]);
    expect(new Set(keys).size).toBe(1);
  });

  test('O2.8 what it cost is counted once', async () => {
    const { result } = await endedApart((ctx) => {
      ctx.spend({ usd: 3 });
      return 'paid';
    });
    expect(result.spent).toEqual({ usd: 3 });
  });

  test.each([
    ['is never heard of', 0],
    ['comes when the lease is over, so that it is withdrawn', leaseMs],
  ])('O2.8 whose announcement landed, which %s, begins at once where the run is now', async (_how, lateMs) => {
    let calls = 0;
    const work = (): string => {
      calls += 1;
      return 'paid';
    };
    const graph = formOf(work);
    const processes = twoProcesses(graph);
    const { clock, first, second } = processes;
    let isLanded = false;
    const { store } = first.ports;
    const commit = store.commit.bind(store);
    const landed: typeof commit = async (given) => {
      const reply = await commit(given);
      if (isLanded || !Buffer.from(given.checkpoint.body).toString().includes('"intent"')) return reply;
      isLanded = true;
      processes.cut();
      clock.timeMs += lateMs;
      return lateMs > 0 ? reply : commit(given);
    };
    Object.assign(store, { commit: landed });
    const handle = await first.start(graph, {}, { runId: 'r' });
    handle.result().catch(() => {});
    await clock.advance(100);
    expect([isLanded, calls]).toEqual([true, 0]);
    const result = await processes.takeOver();
    expect([result.status, result.state.outputs['pay'], calls]).toEqual(['completed', 'paid', 1]);
    expect((await changesOf(second, 'r')).join(' + ')).toMatch(/told pay/);
  });

  test('O2.8 that was asked about already is asked about no more', async () => {
    let calls = 0;
    const ended = Promise.withResolvers<string>();
    const work = async (): Promise<string> => {
      calls += 1;
      processes.cut();
      return ended.promise;
    };
    const graph = formOf(work, { timeoutMs: 60_000 });
    const processes = twoProcesses(graph);
    const { clock, first, second, heal } = processes;
    (await first.start(graph, {}, { runId: 'r' })).result().catch(() => {});
    await clock.advance(leaseMs + 1);
    const handle = await second.resume('r', { graph });
    ended.resolve('paid');
    await clock.advance(80_000);
    expect((await handle.result()).waits.map(({ kind }) => kind)).toEqual(['doubt']);
    heal();
    await clock.advance(2 * leaseMs);
    expect((await second.inspect('r')).status).toBe('paused');
    const [taken] = await second.takeUp({ limit: 1 });
    const result = await clock.run((await taken?.handle)?.result() as Promise<RunResult>);
    expect([result.status, result.state.outputs['pay'], result.waits, calls]).toEqual(['completed', 'paid', [], 1]);
  });

  test('O2.8 of which nothing is known but that it was told to stop is judged at once', async () => {
    let calls = 0;
    const work = (ctx: NodeContext): Promise<string> => {
      calls += 1;
      processes.cut();
      return new Promise((_resolve, reject) => {
        ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error));
      });
    };
    const graph = formOf(work);
    const processes = twoProcesses(graph);
    (await processes.first.start(graph, {}, { runId: 'r' })).result().catch(() => {});
    const result = await processes.takeOver();
    expect([result.waits.map(({ kind }) => kind), calls]).toEqual([['doubt'], 1]);
  });

  test('O2.8 the process that lost a run and takes it up again itself asks nobody about what it knows', async () => {
    let calls = 0;
    const work = async (): Promise<string> => {
      calls += 1;
      processes.cut();
      await new Promise<void>((resolve) => processes.clock.setTimer(1_000, resolve));
      return 'paid';
    };
    const graph = formOf(work);
    const processes = twoProcesses(graph);
    const { clock, first, second, heal } = processes;
    (await first.start(graph, {}, { runId: 'r' })).result().catch(() => {});
    await clock.advance(leaseMs + 1);
    const other = await second.resume('r', { graph });
    other.result().catch(() => {});
    const closing = second.close();
    await clock.advance(1);
    await closing;
    heal();
    await clock.advance(2 * leaseMs);
    const result = await clock.run(first.resume('r', { graph }).then((handle) => handle.result()));
    expect([result.status, result.state.outputs['pay'], calls]).toEqual(['completed', 'paid', 1]);
  });
});

test.each(['a node', 'a step'])(
  'O2.8 a question about %s that is open in a run that goes on is closed by what is told',
  async (form) => {
    const ended = Promise.withResolvers<string>();
    const work = (): Promise<string> => {
      processes.cut();
      return ended.promise;
    };
    const options = { effect: 'external', timeoutMs: 60_000 } as const;
    const pay =
      form === 'a node'
        ? node('pay', 'external', work, options)
        : node('pay', 'read', (ctx) => ctx.step('card', options, work));
    const other = node(
      'other',
      'read',
      () => new Promise<void>((resolve) => processes.clock.setTimer(200_000, resolve)),
    );
    const graph = graphOf('g', [pay, other], edges('> pay', '> other', 'pay >', 'other >'));
    const processes = twoProcesses(graph);
    const { clock, first, second, heal } = processes;
    (await first.start(graph, {}, { runId: 'r' })).result().catch(() => {});
    await clock.advance(leaseMs + 1);
    const handle = await second.resume('r', { graph });
    await clock.advance(80_000);
    expect((await second.waits('r')).map(({ kind }) => kind)).toEqual(['doubt']);
    ended.resolve('paid');
    heal();
    await clock.advance(2 * leaseMs);
    expect([await second.waits('r'), (await second.inspect('r')).state.outputs['pay']]).toEqual([[], 'paid']);
    expect((await clock.run(handle.result())).status).toBe('completed');
  },
);

test('O2.8 what is told of an announcement that is not the newest one changes nothing', async () => {
  const ended = Promise.withResolvers<string>();
  const calls: string[] = [];
  const graph = graphOf(
    'g',
    [
      node(
        'pay',
        'external',
        async (ctx) => {
          calls.push(ctx.idempotencyKey);
          if (calls.length === 1) {
            processes.cut();
            return ended.promise;
          }
          await new Promise<void>((resolve) => processes.clock.setTimer(5 * leaseMs, resolve));
          return 'by the second';
        },
        { idempotent: true, timeoutMs: 60_000 },
      ),
    ],
    edges('> pay', 'pay >'),
  );
  const processes = twoProcesses(graph);
  const { clock, first, second, heal } = processes;
  (await first.start(graph, {}, { runId: 'r' })).result().catch(() => {});
  await clock.advance(leaseMs + 1);
  const handle = await second.resume('r', { graph });
  // The deadline passes, and the second one begins it again under its key.
  await clock.advance(80_000);
  expect(calls.length).toBe(2);
  ended.resolve('by the first');
  heal();
  await clock.advance(2 * leaseMs);
  const result = await clock.run(handle.result());
  expect([result.state.outputs['pay'], new Set(calls).size]).toEqual(['by the second', 1]);
  expect((await changesOf(second, 'r')).join(' + ')).not.toMatch(/told/);
  expect(await second.ports.store.readMessages({ tenant: 'default', runId: 'r' })).toEqual([]);
});

test('O2.8 updates, routes and verdicts of an outcome are handed over', async () => {
  const graph = graphOf(
    'g',
    [
      node('pay', 'external', async () => {
        processes.cut();
        await new Promise<void>((resolve) => processes.clock.setTimer(1_000, resolve));
        return outcome({ output: 'paid', goto: 'yes', verdict: 'partial', scratch: { sum: 7 } });
      }),
      node('yes', 'pure', () => 'yes'),
      node('no', 'pure', () => 'no'),
    ],
    edges('> pay', 'pay > yes', 'pay > no', 'yes >', 'no >'),
  );
  const processes = twoProcesses(graph);
  (await processes.first.start(graph, {}, { runId: 'r' })).result().catch(() => {});
  const result = await processes.takeOver();
  expect([result.status, result.state.outputs, result.state.scratch['sum']]).toEqual([
    'completed',
    { pay: 'paid', yes: 'yes' },
    7,
  ]);
  expect(await endingsOf(processes.second, 'r', 'pay')).toHaveLength(1);
});
