/** Ids of every kind: those that look dangerous work, those that cannot work are refused by name. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { CairnError } from '../../src/errors.ts';
import { createFileBlobs } from '../../src/blobs/file-blobs.ts';
import { START } from '../../src/graph/graph.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../engine-kit.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-ids-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const odd = [
  'a/b',
  '..',
  '../../etc/passwd',
  'nul\u0000',
  '\u0000',
  '\u{1F5FF}',
  '__proto__',
  'a'.repeat(512),
  '%00',
  "'; drop table runs --",
  ' ',
  '10',
  '-0',
];

async function textsOf(pieces: AsyncIterable<string>): Promise<readonly string[]> {
  const texts: string[] = [];
  for await (const piece of pieces) texts.push(piece);
  return texts;
}

test.each(['x/y', 'order#1', 'é', '\u{1F5FF}', "';drop", '..', '__proto__', 'a.3', '%00', 'cairn', 'a'.repeat(200)])(
  'H1 %j is a run',
  async (runId) => {
    const { engine } = createBench();
    const graph = graphOf('g', [node('a', 'pure', () => 1)], edges('> a', 'a >'));
    expect((await runToRest(engine, graph, {}, runId)).status).toBe('completed');
    expect((await engine.fork({ runId, seq: 0 }, { runId: `${runId.slice(0, 199)}F` })).seq).toBe(1);
    expect(await engine.locate(runId, { byPrefix: true })).toMatchObject({ runId });
  },
);

test.each([
  'victim@2',
  'victim@head',
  'victim~1',
  'a b',
  'a\u0000',
  'a\nb',
  'a\u202eb',
  'a\u200bb',
  'a\u2060b',
  'a\u00adb',
  'a\u3164b',
  '\ufeffa',
  '"a"',
  'a'.repeat(201),
  'cairn:due:report:20261129T133600Z',
  'cairn:schedule:report',
  'cairn:x',
  'chat-abcdefghijklmnopqrstuvwxyz012345',
  'chat-abcdefghijklmnopqrstuvwxyz012345-2',
])('H1 no new run, no fork and no copy is called %j', async (runId) => {
  const { engine } = createBench();
  const graph = graphOf('g', [node('a', 'pure', () => 1)], edges('> a', 'a >'));
  const refused = { code: 'ID_INVALID', data: { kind: 'run id' } };
  await expect(engine.start(graph, {}, { runId })).rejects.toMatchObject(refused);
  await runToRest(engine, graph, {}, 'victim');
  await expect(engine.fork({ runId: 'victim', seq: 0 }, { runId })).rejects.toMatchObject(refused);
  const text = await textsOf(engine.history.export('victim'));
  const copy = async function* (): AsyncGenerator<string> {
    yield* text;
  };
  await expect(engine.history.import(copy(), { runId })).rejects.toMatchObject(refused);
});

test('H1 what derives ids takes those of its own form alone, and nobody else takes them', async () => {
  const { engine } = createBench();
  const graph = graphOf('g', [node('a', 'pure', () => 1)], edges('> a', 'a >'));
  const runId = 'cairn:due:report:20261129T133600Z';
  for (const other of ['report', 'cairn:schedule:report', 'cairn:duel'])
    await expect(engine.start(graph, {}, { runId: other, origin: 'due' })).rejects.toMatchObject({
      code: 'ID_INVALID',
    });
  expect((await engine.start(graph, {}, { runId, origin: 'due' })).created).toBe(true);
  await expect(engine.start(graph, {}, { runId })).rejects.toMatchObject({ code: 'ID_INVALID' });
  expect((await engine.start(graph, {}, { runId, origin: 'due' })).created).toBe(false);
});

test('H1 a run with a derived id counts only if the system began it: a fork and an untrusted import did not', async () => {
  const [here, there] = [createBench(), createBench()];
  const graph = graphOf('g', [node('a', 'pure', () => 1)], edges('> a', 'a >'));
  const due = { runId: 'cairn:due:report:20261129T133600Z', origin: 'due' } as const;
  await (await here.engine.start(graph, {}, due)).result();
  const text = await textsOf(here.engine.history.export(due.runId, { move: true }));
  for (const trust of [false, true]) {
    const copy = async function* (): AsyncGenerator<string> {
      yield* text;
    };
    await there.engine.history.import(copy(), { move: true, trust });
    const again = there.engine.start(graph, {}, due).then(
      ({ created }) => created,
      (error: unknown) => (error as CairnError).data['difference'],
    );
    expect([trust, await again]).toEqual([trust, trust ? false : 'origin']);
    await there.engine.history.remove(due.runId);
  }
  const fork = await here.engine.fork({ runId: due.runId, seq: 0 });
  const row = await here.engine.ports.store.readRun({ tenant: here.engine.ports.tenant, runId: fork.runId });
  expect(new TextDecoder().decode(row?.meta)).not.toContain('origin');
});

test('C2.1 starting a run again confirms only so many guesses of its input, and forgets them after an hour', async () => {
  const { engine, clock } = createBench();
  const graph = graphOf('g', [node('a', 'pure', () => 1)], edges('> a', 'a >'));
  const right = { pin: '4711' };
  await runToRest(engine, graph, right, 'r');
  const start = (input: unknown): Promise<unknown> =>
    engine.start(graph, input, { runId: 'r', detach: true }).then(
      ({ created }) => created,
      (error: unknown) => (error as CairnError).code,
    );
  expect(await start(right)).toBe(false);
  for (let pin = 0; pin < 10; pin += 1) expect(await start({ pin: String(pin) })).toBe('RUN_EXISTS');
  expect(await start(right)).toBe('RUN_EXISTS');
  await clock.advance(2 * 3_600_000);
  expect(await start(right)).toBe(false);
});

const unusable = ['', 'a'.repeat(10_000), '\ud800', '\u{1F5FF}'.repeat(200)];

test.each(odd)(
  'S5 %j names runs, nodes, steps, questions, signals and children, on disk and over a crash',
  async (id) => {
    const store = openSqliteStore({ path: join(folder, 'store.db') });
    const bench = createBench({ store, blobs: createFileBlobs(join(folder, 'blobs')) });
    const child = graphOf('child', [node(id, 'write', (ctx) => ctx.idempotencyKey)], [{ from: START, to: id }]);
    const graph = graphOf(
      id.length > 500 ? 'long' : id,
      [
        node(id, 'read', async (ctx) => {
          const first = await ctx.step(id, { effect: 'write' }, () => 1);
          const second = await ctx.step(id, { effect: 'write' }, () => 2);
          const answer = await ctx.ask({ name: id, prompt: '?' });
          const { state } = await ctx.run(child, {}, { name: id });
          return [first, second, answer, await ctx.receive(id), typeof state.outputs[id]];
        }),
      ],
      [{ from: START, to: id }],
    );
    const runId = `of-${encodeURIComponent(id)}`.slice(0, 200);
    const paused = await runToRest(bench.engine, graph, { id }, runId);
    expect(paused.waits[0]?.node).toEqual([id]);
    const next = afterCrash(bench);
    await next.signal(runId, id, 'signal', { id });
    await next.answer(runId, paused.waits[0]?.waitId ?? '', 'answer');
    const done = await resumeToRest(next, runId, graph);
    expect(done.state.outputs[id]).toEqual([1, 2, 'answer', 'signal', 'string']);
    const fork = await next.fork({ runId, seq: 0 }, { runId: `fork-${runId}`.slice(0, 200) });
    expect((await resumeToRest(next, fork.runId, graph)).state.outputs[id]).toEqual(done.state.outputs[id]);
    await store.close();
  },
);

test.each(unusable)('P6 an id that cannot be used is refused by kind (case %#)', async (id) => {
  const { engine } = createBench();
  const graph = graphOf('g', [node('a', 'pure', () => 1)], edges('> a', 'a >'));
  await expect(engine.start(graph, {}, { runId: id })).rejects.toMatchObject({ code: 'ID_INVALID' });
  const { runId } = await runToRest(engine, graph);
  await expect(engine.fork({ runId, seq: 0 }, { runId: id })).rejects.toMatchObject({ code: 'ID_INVALID' });
  await expect(engine.signal(runId, id, 1)).rejects.toMatchObject({ code: 'ID_INVALID' });
  await expect(engine.signal(runId, 'go', 1, { id })).rejects.toMatchObject({ code: 'ID_INVALID' });
  expect(() => graphOf('g', [node(id, 'pure', () => 1)], [{ from: START, to: id }])).toThrow(/GRAPH|not valid/);
  if (id === '') return;
  for (const call of ['step', 'ask', 'receive', 'sleep', 'run'] as const) {
    const composed = graphOf(
      'g',
      [
        node('a', 'read', (ctx) => {
          if (call === 'step') return ctx.step(id, {}, () => 1);
          if (call === 'ask') return ctx.ask({ name: id, prompt: '?' });
          if (call === 'receive') return ctx.receive(id);
          return call === 'sleep' ? ctx.sleepUntil(0, id) : ctx.run(graph, {}, { name: id });
        }),
      ],
      edges('> a', 'a >'),
    );
    const failed = await runToRest(engine, composed);
    expect({ call, cause: failed.error?.cause }).toMatchObject({ call, cause: { code: 'ID_INVALID' } });
  }
});

test('X4 no name of a step is taken for the second call of another', async () => {
  const { engine } = createBench();
  const graph = graphOf(
    'g',
    [
      node('a', 'read', async (ctx) => {
        const names = ['s', 's', 's\u00002', 's\u0000', 's\u0000', 's\u0000\u00002'];
        const outputs: unknown[] = [];
        for (const [index, name] of names.entries()) outputs.push(await ctx.step(name, {}, () => index));
        return outputs;
      }),
    ],
    edges('> a', 'a >'),
  );
  expect((await runToRest(engine, graph)).state.outputs['a']).toEqual([0, 1, 2, 3, 4, 5]);
});
