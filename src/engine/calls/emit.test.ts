/** Recorded events: a part of the history, told once, from any process, live or after the run ended (E11). */
import { expect, test } from 'vitest';
import { NodeFailure, type EffectClass, type NodeContext } from '../../graph/contracts/node-contract.ts';
import { exportRun } from '../../history/export-import/export.ts';
import { importRun } from '../../history/export-import/import.ts';
import { walkLog } from '../../history/read/log.ts';
import { collect } from '../../../test/support/small-graphs.ts';
import { pruneRun } from '../../history/retention/prune.ts';
import { createMemoryBlobs } from '../../blobs/memory-blobs.ts';
import { createMemoryStore } from '../../stores/memory/memory-store.ts';
import { dyingEngine, settleDown } from '../../../test/dying-engine.ts';
import {
  afterCrash,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  rowOf,
  runToRest,
  testIds,
  type Bench,
} from '../../../test/engine-kit.ts';
import type { StreamEvent } from '../api.ts';
import { createEngine } from '../engine.ts';

type Graph = ReturnType<typeof graphOf>;
const single = (run: (ctx: NodeContext) => unknown, effect: EffectClass = 'read', more = {}): Graph =>
  graphOf('g', [node('a', effect, run, more)], edges('> a', 'a >'));
const tell = (ctx: NodeContext, event: unknown, name = 'progress'): void => ctx.emit(event, { recorded: true, name });

/** The recorded events among others, each as `seq: name detail`, or without the seq. */
async function toldIn(events: AsyncIterable<StreamEvent>, hasSeq = false): Promise<readonly string[]> {
  const told: string[] = [];
  for await (const event of events)
    if (event.type === 'checkpoint')
      for (const { kind, name, detail } of event.change)
        if (kind === 'event') told.push(`${hasSeq ? `${event.seq}: ` : ''}${name ?? ''} ${String(detail)}`);
  return told;
}

/** Another process, which looks on. */
const lookOn = (bench: Bench, graph: Graph): ReturnType<typeof createEngine> =>
  createEngine({ ...bench.options, ids: testIds('onlooker'), findGraph: () => graph });

const talking = (effects: string[] = []): Graph =>
  single(async (ctx) => {
    tell(ctx, 'begins');
    for (let turn = 1; turn <= 3; turn += 1) {
      tell(ctx, `turn ${turn}`);
      await ctx.step('say', { effect: 'write' }, ({ idempotencyKey }) => effects.push(idempotencyKey));
      tell(ctx, `said ${turn}`, 'said');
      if (turn === 1) await ctx.append('log', [turn]);
      if (turn === 2) await ctx.ask({ prompt: '?' });
    }
    tell(ctx, 'ends');
  });
const whole = ['begins', 'turn 1', 'said 1', 'turn 2', 'said 2', 'turn 3', 'said 3', 'ends'].map((detail) =>
  detail.startsWith('said') ? `said ${detail}` : `progress ${detail}`,
);

test('E11 a function that is repeated tells what entered with its calls no second time; any process gets all, once and in order, after any seq', async () => {
  const bench = createBench();
  const graph = talking();
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  const other = lookOn(bench, graph);
  expect(await toldIn(other.events('r'))).toEqual(whole.slice(0, 5));
  await bench.engine.answer('r', paused.waits[0]?.waitId ?? '', 'yes');
  const handle = await bench.engine.resume('r', { graph });
  const [live, result] = await Promise.all([toldIn(handle.events({ after: paused.seq })), handle.result()]);
  expect([result.status, live]).toEqual(['completed', whole.slice(5)]);
  const withSeq = await toldIn(other.events('r'), true);
  expect(withSeq.map((line) => line.replace(/^\d+: /, ''))).toEqual(whole);
  for (let after = 0; after <= result.seq; after += 1)
    expect(await toldIn(other.events('r', { after }), true)).toEqual(
      withSeq.filter((line) => Number.parseInt(line, 10) > after),
    );
});

test('E11 an event enters in the checkpoint of the call or the outcome that follows it, and is not told as a live one', async () => {
  const { engine } = createBench();
  const handle = await engine.start(talking(), {});
  const parts: string[] = [];
  const types = new Set<string>();
  for await (const event of handle.events()) {
    types.add(event.type);
    if (event.type === 'checkpoint') parts.push(event.change.map(({ kind }) => kind).join(' '));
  }
  expect(types.has('emitted')).toBe(false);
  expect(parts).toEqual(['start', 'event event intent', 'step event append event intent', 'step event wait', 'pause']);
});

test('E11 P1 a kill at any commit loses no event and tells none twice', async () => {
  const bench = createBench();
  const paused = await runToRest(bench.engine, talking(), {}, 'r');
  await bench.engine.answer('r', paused.waits[0]?.waitId ?? '', 'yes');
  const { seq } = await resumeToRest(bench.engine, 'r', talking());
  expect(seq).toBeGreaterThan(6);
  for (let commits = 0; commits < seq; commits += 1) {
    const killed = createBench();
    const graph = talking();
    const start = dyingEngine(killed, commits).start(graph, {}, { runId: 'r' });
    await settleDown();
    await start;
    const next = afterCrash(killed);
    let result = await resumeToRest(next, 'r', graph);
    for (let more = 0; more < 5 && result.status === 'paused'; more += 1) {
      const [wait] = result.waits;
      await next.answer('r', wait?.waitId ?? '', wait?.kind === 'doubt' ? { decision: 'happened', output: 1 } : 'yes');
      result = await resumeToRest(next, 'r', graph);
    }
    expect([commits, await toldIn(lookOn(killed, graph).events('r'))]).toEqual([commits, whole]);
  }
});

test('E11 an effect tells too; what a dead attempt told is dropped, and the attempt that follows tells its own', async () => {
  for (const commits of [0, 1, 2]) {
    const bench = createBench();
    const graph = single((ctx) => (tell(ctx, `attempt ${ctx.attempt}`), 'done'), 'external', { idempotent: true });
    const start = dyingEngine(bench, commits).start(graph, {}, { runId: 'r' });
    await settleDown();
    await start;
    await resumeToRest(afterCrash(bench), 'r', graph);
    expect(await toldIn(lookOn(bench, graph).events('r'))).toEqual(['progress attempt 1']);
  }
});

test('E11 what was told behind an open question is dropped when the function is left, and told when it is repeated', async () => {
  const bench = createBench();
  const gate = Promise.withResolvers<void>();
  const asking = node('a', 'read', async (ctx) => {
    const asked = ctx.ask({ prompt: '?' });
    await ctx.step('beside', {}, () => settleDown());
    tell(ctx, 'asked');
    tell(ctx, `answered ${String(await asked)}`);
  });
  const graph = graphOf(
    'g',
    [asking, node('side', 'read', () => gate.promise)],
    edges('> a', '> side', 'a >', 'side >'),
  );
  const handle = await bench.engine.start(graph, {}, { runId: 'r' });
  for await (const event of handle.events()) {
    if (event.type === 'waiting') {
      // The step beside it ends first, and then the function is left, having nothing to do but wait.
      for (let round = 0; round < 3; round += 1) await settleDown();
      await bench.engine.answer('r', (event.detail as { waitId: string }).waitId, 'yes');
    }
    if (event.type === 'settled' && event.node[0] === 'a') gate.resolve();
  }
  expect((await handle.result()).status).toBe('completed');
  expect(await toldIn(lookOn(bench, graph).events('r'))).toEqual(['progress asked', 'progress answered yes']);
});

test('E11 a failed attempt tells with its retry or its failure, by its number; its calls tell no second time', async () => {
  const bench = createBench();
  const graph = single(
    async (ctx) => {
      tell(ctx, 'first');
      await ctx.step('s', {}, () => 1);
      tell(ctx, `in attempt ${ctx.attempt}`);
      if (ctx.attempt < 3) throw new NodeFailure('not yet');
    },
    'read',
    { retry: { attempts: 2, delayMs: 1 } },
  );
  const failed = await runToRest(bench.engine, graph, {}, 'r');
  expect(failed.status).toBe('failed');
  await resumeToRest(bench.engine, 'r', graph);
  const all = ['first', 'in attempt 1', 'in attempt 2', 'in attempt 3'].map((detail) => `progress ${detail}`);
  const attempts: unknown[] = [];
  for await (const event of lookOn(bench, graph).events('r'))
    if (event.type === 'checkpoint')
      for (const { kind, attempt } of event.change) if (kind === 'event') attempts.push(attempt);
  expect(attempts).toEqual([undefined, undefined, 2, 3]);
  expect(await toldIn(lookOn(bench, graph).events('r'))).toEqual(all);
});

test('E11 after a save the function goes on telling where it was', async () => {
  const bench = createBench();
  const graph = single(async (ctx) => {
    for (let i = Number(ctx.savedState ?? 0); i < 3; i += 1) {
      tell(ctx, i);
      if (i === 1) await ctx.ask({ prompt: '?' });
      await ctx.save(i + 1);
    }
  });
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  await bench.engine.answer('r', paused.waits[0]?.waitId ?? '', 'go');
  await resumeToRest(afterCrash(bench), 'r', graph);
  const told = await toldIn(lookOn(bench, graph).events('r'));
  expect(told).toEqual(['progress 0', 'progress 1', 'progress 2']);
});

test('E11 a fork tells what its own functions tell; what it takes over stands in the original', async () => {
  const bench = createBench();
  const both = graphOf(
    'g',
    [
      node('plain', 'external', (ctx) => (tell(ctx, 'plain'), 1)),
      node('composed', 'read', async (ctx) => {
        await ctx.step('s', { effect: 'external' }, () => 1);
        tell(ctx, 'composed');
        await ctx.ask({ prompt: '?' });
      }),
    ],
    edges('> plain', 'plain > composed', 'composed >'),
  );
  await runToRest(bench.engine, both, {}, 'r');
  const { runId } = await bench.engine.fork({ runId: 'r', seq: 0 });
  await resumeToRest(bench.engine, runId, both);
  expect(await toldIn(lookOn(bench, both).events('r'))).toEqual(['progress plain', 'progress composed']);
  expect(await toldIn(lookOn(bench, both).events(runId))).toEqual(['progress composed']);
});

test('E11 the log, a shown checkpoint and an export hold them; pruning takes them with the checkpoints that it takes', async () => {
  const bench = createBench();
  const graph = talking();
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  const row = await rowOf(bench, 'r');
  const { blobs } = bench.options;
  const entries = await collect(walkLog(bench.store, row));
  const logged = entries.toReversed().flatMap(({ change }) => change.filter(({ kind }) => kind === 'event'));
  expect(logged.map(({ detail }) => detail)).toEqual(['begins', 'turn 1', 'said 1', 'turn 2', 'said 2']);
  expect((await bench.engine.history.show({ runId: 'r', seq: 1 })).change[0]).toEqual({
    kind: 'event',
    node: ['a'],
    name: 'progress',
    detail: 'begins',
  });
  const target = createBench({ store: createMemoryStore(), blobs: createMemoryBlobs() });
  const lines = exportRun(bench.store, blobs, row, {});
  const as = { tenant: 'default', as: 'copy', newRunId: 'copy', workerId: 'importer' } as const;
  await importRun(target.store, target.options.blobs, lines, as);
  expect(await toldIn(lookOn(target, graph).events('copy'))).toEqual(whole.slice(0, 5));
  await bench.engine.answer('r', paused.waits[0]?.waitId ?? '', 'yes');
  await resumeToRest(bench.engine, 'r', graph);
  const reply = await bench.store.claimRun({ tenant: 'default', runId: 'r', workerId: 'p', leaseMs: 1_000 });
  if (reply.claim === undefined) throw new Error('the run cannot be claimed');
  await pruneRun(bench.store, blobs, reply.claim, reply.run, {});
  await bench.store.releaseClaim(reply.claim);
  expect(await toldIn(lookOn(bench, graph).events('r'))).toEqual([]);
  for await (const event of lookOn(bench, graph).events('r', { after: 1 })) {
    expect(event.type).toBe('state');
    break;
  }
});

test.each([
  ['what JSON does not know', 'VALUE_UNSTORABLE', (ctx: NodeContext) => tell(ctx, { at: new Date(0) })],
  ['what is large', 'VALUE_TOO_LARGE', (ctx: NodeContext) => tell(ctx, 'x'.repeat(2_000))],
  ['an event without a name', 'ID_INVALID', (ctx: NodeContext) => tell(ctx, 1, '')],
  ['a call inside a step', 'NODE_CALL_REFUSED', (ctx: NodeContext) => ctx.step('s', {}, () => tell(ctx, 1))],
] as const)('E11 %s is refused: %s', async (_, code, run) => {
  const { engine } = createBench({ bounds: { inlineBytes: 1_000 } });
  const failed = await runToRest(engine, single(run));
  expect(failed.error?.cause).toMatchObject({ code });
});

test('C2 a recorded event is redacted by key before it is written', async () => {
  const bench = createBench({ redact: { store: ['password'] } });
  const done = await runToRest(
    bench.engine,
    single((ctx) => tell(ctx, { user: 'ann', password: 'hunter2' })),
  );
  const rows = await bench.store.readCheckpoints(await rowOf(bench, done.runId), { from: 0, to: done.seq });
  const text = rows.map(({ body }) => Buffer.from(body).toString()).join();
  expect(text).toContain('ann');
  expect(text).not.toContain('hunter2');
});
