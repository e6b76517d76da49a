/** Ids of every kind: those that look dangerous work, those that cannot work are refused by name. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
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
    const runId = `${id}${id.length > 500 ? '' : '!'}`;
    const paused = await runToRest(bench.engine, graph, { id }, runId);
    expect(paused.waits[0]?.node).toEqual([id]);
    const next = afterCrash(bench);
    await next.signal(runId, id, 'signal', { id });
    await next.answer(runId, paused.waits[0]?.waitId ?? '', 'answer');
    const done = await resumeToRest(next, runId, graph);
    expect(done.state.outputs[id]).toEqual([1, 2, 'answer', 'signal', 'string']);
    const fork = await next.fork({ runId, seq: 0 }, { runId: `fork of ${id}`.slice(0, 512) });
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
