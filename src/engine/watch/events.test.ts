/** Events from another engine, after a seq, while a run moves and when it rests. */
import { expect, test } from 'vitest';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import type { StreamEvent } from '../api.ts';
import { createEngine } from '../engine.ts';
import { CairnError } from '../../errors.ts';
import { errorTable, type ErrorCode } from '../../error-table.ts';
import { pruneRun } from '../../history/retention/prune.ts';
import { createBench, edges, graphOf, node, resumeToRest, runToRest, testIds } from '../../../test/engine-kit.ts';

const graph = graphOf(
  'g',
  [node('a', 'pure', () => 'a'), node('q', 'human', (ctx) => ctx.ask({ prompt: '?' })), node('b', 'pure', () => 'b')],
  edges('> a', 'a > q', 'q > b', 'b >'),
);

async function seqsOf(events: AsyncIterable<StreamEvent>): Promise<readonly number[]> {
  const seqs: number[] = [];
  for await (const event of events) if (event.type === 'checkpoint') seqs.push(event.seq);
  return seqs;
}

test('events: another engine gets those after a seq, once and in order, until the run rests', async () => {
  const bench = createBench();
  const { runId, seq } = await runToRest(bench.engine, graph);
  const other = createEngine({ ...bench.options, ids: testIds('worker-2'), findGraph: () => graph });
  expect(await seqsOf(other.events(runId))).toEqual(Array.from({ length: seq + 1 }, (_, index) => index));
  expect(await seqsOf(other.events(runId, { after: 1 }))).toEqual(
    Array.from({ length: seq - 1 }, (_, index) => index + 2),
  );
  expect(await seqsOf(other.events(runId, { after: seq }))).toEqual([]);
  await expect(seqsOf(other.events('none'))).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
});

test('events: another engine follows a run that moves elsewhere, to its end', async () => {
  const bench = createBench();
  let release = (): void => {};
  const gate = new Promise<void>((resolve) => (release = resolve));
  const slow = graphOf(
    'slow',
    [node('a', 'write', () => 'a'), node('b', 'pure', () => gate)],
    edges('> a', 'a > b', 'b >'),
  );
  const handle = await bench.engine.start(slow, {});
  const other = createEngine({ ...bench.options, ids: testIds('worker-2'), findGraph: () => slow });
  const seen: number[] = [];
  for await (const event of other.events(handle.runId)) {
    if (event.type !== 'checkpoint') continue;
    seen.push(event.seq);
    if (event.change.some((part) => part.kind === 'settle')) release();
  }
  const { seq, status } = await handle.result();
  expect(status).toBe('completed');
  expect(seen).toEqual(Array.from({ length: seq + 1 }, (_, index) => index));
});

test('events: live ones travel between durable ones, and can be left out', async () => {
  const { engine } = createBench();
  const emitting = graphOf(
    'e',
    [
      node('begin', 'pure', () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)))),
      node('a', 'write', (ctx) => (ctx.emit({ token: 1 }), 'a')),
    ],
    edges('> begin', 'begin > a', 'a >'),
  );
  const handle = await engine.start(emitting, {});
  const types: string[] = [];
  const [all, durable] = await Promise.all([
    (async () => {
      for await (const event of handle.events()) types.push(event.type);
    })(),
    seqsOf(handle.events({ live: false })),
  ]);
  expect(all).toBeUndefined();
  expect(types).toEqual(expect.arrayContaining(['started', 'emitted', 'settled', 'checkpoint']));
  expect(durable).toEqual([0, 1, 2]);
});

test('events: one that names a pruned seq gets the state and what follows', async () => {
  const bench = createBench({ findGraph: () => graph });
  const paused = await runToRest(bench.engine, graph);
  await bench.engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', 1);
  const { seq } = await resumeToRest(bench.engine, paused.runId, graph);
  const claimed = await bench.store.claimRun({
    tenant: 'default',
    runId: paused.runId,
    workerId: 'pruner',
    leaseMs: 1_000,
  });
  expect(claimed.claim).toBeDefined();
  if (claimed.claim !== undefined) {
    await pruneRun(bench.store, bench.options.blobs, claimed.claim, claimed.run, {});
    await bench.store.releaseClaim(claimed.claim);
  }
  const events: StreamEvent[] = [];
  for await (const event of bench.engine.events(paused.runId)) events.push(event);
  expect(events[0]?.type).toBe('state');
  expect(events.at(-1)?.type === 'checkpoint' || events.length === 1).toBe(true);
  expect((events.at(-1) as { seq: number }).seq).toBe(seq);
});

test('E9 a listener attached at the start gets every live event of its run, from the first, however fast its nodes are', async () => {
  const emit = (ctx: NodeContext): void => {
    for (let count = 0; count < 100; count += 1) ctx.emit(`${ctx.nodeId} ${count}`);
  };
  const graph = graphOf('g', [node('a', 'pure', emit), node('b', 'pure', emit)], edges('> a', 'a > b', 'b >'));
  const { engine } = createBench();
  const handle = await engine.start(graph, {});
  const told: unknown[] = [];
  for await (const event of handle.events()) if (event.type === 'emitted') told.push(event.detail);
  const all = ['a', 'b'].flatMap((id) => Array.from({ length: 100 }, (_, count) => `${id} ${count}`));
  expect(told).toEqual(all);
});

test('O1 a run that is closed before it has begun gives its claim back, and nothing of it has run', async () => {
  let calls = 0;
  const graph = graphOf('g', [node('a', 'external', () => (calls += 1))], edges('> a', 'a >'));
  const bench = createBench();
  const handle = await bench.engine.start(graph, {}, { runId: 'r' });
  const ended = handle.result().catch((error: unknown) => error);
  await bench.engine.close();
  expect(await ended).toMatchObject({ code: 'STORE_CLOSED' });
  expect(calls).toBe(0);
  const run = await bench.store.readRun({ tenant: 'default', runId: 'r' });
  expect(run?.claim).toBeUndefined();
});

test('P6 the way out of a failed node tells of the resume once, whatever failed in it', async () => {
  const codes = (Object.keys(errorTable) as ErrorCode[]).filter((code) =>
    new CairnError(code, {}).hint.includes('then resume the run'),
  );
  expect(codes.length).toBeGreaterThan(5);
  for (const code of codes) {
    const fails = (): never => {
      throw new CairnError(code, { reason: 'no' });
    };
    const { error } = await runToRest(
      createBench().engine,
      graphOf('g', [node('a', 'pure', fails)], edges('> a', 'a >')),
    );
    expect([code, error?.hint.match(/then resume the run/gu)?.length, error?.hint]).toEqual([
      code,
      1,
      expect.any(String),
    ]);
  }
});
