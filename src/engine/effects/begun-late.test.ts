/** An effect that was announced and has not begun: it begins under a lease that holds, with its full time, or is announced anew (X3.13). */
import { describe, expect, test } from 'vitest';
import { changesOf, createBench, edges, graphOf, node, type Bench } from '../../../test/engine-kit.ts';
import type { Graph } from '../../graph/graph.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import type { Commit, Store } from '../../ports/store.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { createVirtualClock, type VirtualClock } from '../../ports/virtual-clock.ts';
import type { RunResult } from '../api.ts';

const leaseMs = 10_000;
const timeoutMs = 3_000;

interface Late extends Bench {
  /** When the effect was called, counted from the start of the test in ms. */
  readonly calledAt: number[];
  readonly run: (graph: Graph) => Promise<RunResult>;
}

/** @param delayMs - how long the store takes for the commits with these numbers, counted from 1, that announce something */
function lateBench(delayMs: Readonly<Record<number, number>> = {}): Late {
  const clock = createVirtualClock();
  const memory = createMemoryStore({ now: () => clock.now() });
  let announcements = 0;
  const commit = async (given: Commit): ReturnType<Store['commit']> => {
    const isAnnouncing = given.beginsEffects === true || bodyOf(given).includes('"intent"');
    const waitMs = isAnnouncing ? delayMs[(announcements += 1)] : undefined;
    if (waitMs !== undefined) await new Promise<void>((resolve) => clock.setTimer(waitMs, resolve));
    return memory.commit(given);
  };
  let graphHere: Graph | undefined;
  const bench = createBench({ clock, leaseMs, store: { ...memory, commit }, findGraph: () => graphHere });
  const run = (graph: Graph): Promise<RunResult> => {
    graphHere = graph;
    return clock.run(bench.engine.start(graph, {}, { runId: 'r' }).then((handle) => handle.result()));
  };
  return { ...bench, clock, calledAt: [], run };
}

const bodyOf = ({ checkpoint }: Commit): string => Buffer.from(checkpoint.body).toString();

/** What an effect of 2 s does, which notes when it is called. */
const payIn =
  ({ clock, calledAt }: Late, startMs: number) =>
  async (): Promise<string> => {
    calledAt.push(clock.now() - startMs);
    await new Promise<void>((resolve) => clock.setTimer(2_000, resolve));
    return 'paid';
  };

/** Lets time pass without leaving the event loop to others, as code that computes does. */
const computeFor = (clock: VirtualClock, ms: number): void => {
  clock.timeMs += ms;
};

const forms: Readonly<Record<string, (pay: () => Promise<string>) => ReturnType<typeof node>>> = {
  'of a node': (pay) => node('pay', 'external', pay, { timeoutMs }),
  'of a step': (pay) =>
    node('pay', 'read', (ctx: NodeContext) => ctx.step('card', { effect: 'external', timeoutMs }, pay)),
};

const intentsOf = async ({ engine }: Bench): Promise<readonly string[]> =>
  (await changesOf(engine, 'r')).flatMap((line) => line.split(' + ')).filter((part) => /^(intent|withdraw)/.test(part));

describe.each(Object.entries(forms))('an effect %s', (_, formOf) => {
  const inOrder = (late: Late, first: () => unknown): Graph =>
    graphOf(
      'g',
      [node('first', 'pure', first), formOf(payIn(late, late.clock.timeMs))],
      edges('> first', 'first > pay', 'pay >'),
    );

  test('X3.13 begins after code that held the event loop for longer than the lease, and nobody is asked', async () => {
    const late = lateBench();
    const result = await late.run(inOrder(late, () => computeFor(late.clock, leaseMs + 1_000)));
    expect([result.status, late.calledAt.length, result.waits]).toEqual(['completed', 1, []]);
  });

  test('X3.13 has its full time, however long it took until its announcement was durable', async () => {
    const late = lateBench({ 1: 5_000 });
    const result = await late.run(inOrder(late, () => 1));
    expect([result.status, late.calledAt]).toEqual(['completed', [5_000]]);
    expect((await intentsOf(late)).length).toBe(1);
  });

  test('X3.13 is withdrawn and announced anew where its announcement took longer than others allow for', async () => {
    const late = lateBench({ 1: leaseMs });
    const result = await late.run(inOrder(late, () => 1));
    expect([result.status, late.calledAt]).toEqual(['completed', [leaseMs]]);
    expect((await intentsOf(late)).map((part) => part.split(' ')[0])).toEqual(['intent', 'withdraw', 'intent']);
  });

  test('X3.13 has its full time beside code that holds the event loop for longer than that', async () => {
    const late = lateBench();
    const graph = graphOf(
      'g',
      [
        formOf(payIn(late, late.clock.timeMs)),
        node('first', 'pure', () => 1),
        node('busy', 'read', () => computeFor(late.clock, timeoutMs + 1_000)),
      ],
      edges('> pay', '> first', 'first > busy', 'pay >', 'busy >'),
    );
    expect((await late.run(graph)).status).toBe('completed');
    expect(late.calledAt.length).toBe(1);
  });

  test('X3.13 that is announced after the lease has ended is withdrawn before the lease is renewed, for all to see', async () => {
    const late = lateBench();
    await late.run(inOrder(late, () => computeFor(late.clock, leaseMs)));
    const parts = await intentsOf(late);
    expect(parts.map((part) => part.split(' ')[0])).toEqual(['intent', 'withdraw', 'intent']);
  });

  test('O2.5 others wait for as long as it may take to begin, and then to run', async () => {
    const late = lateBench();
    const deadlines: unknown[] = [];
    const startMs = late.clock.timeMs;
    const pay = async (): Promise<string> => {
      const rows = await late.store.readCheckpoints({ tenant: 'default', runId: 'r' }, { from: 0, to: 9 });
      const bodies = rows.map(({ body }) => Buffer.from(body).toString()).join('');
      deadlines.push(...[...bodies.matchAll(/"deadlineAt":(\d+)/g)].map(([, at]) => Number(at) - startMs));
      return 'paid';
    };
    await late.run(graphOf('g', [formOf(pay)], edges('> pay', 'pay >')));
    expect(deadlines).toEqual([leaseMs + timeoutMs]);
  });
});

test('X3.13 an effect whose run is told to stop while its lease is over is withdrawn, and begins nowhere', async () => {
  const late = lateBench();
  const { clock, engine } = late;
  const graph = graphOf(
    'g',
    [node('first', 'pure', () => computeFor(clock, leaseMs)), node('pay', 'external', payIn(late, clock.timeMs))],
    edges('> first', 'first > pay', 'pay >'),
  );
  const handle = await engine.start(graph, {}, { runId: 'r' });
  const ended = handle.result().catch((error: unknown) => (error as { code: string }).code);
  await clock.advance(0);
  await clock.run(engine.close());
  expect([await ended, late.calledAt]).toEqual(['STORE_CLOSED', []]);
});
