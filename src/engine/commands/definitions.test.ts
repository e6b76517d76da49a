import { describe, expect, test } from 'vitest';
import { createMemoryBlobs } from '../../blobs/memory-blobs.ts';
import type { Graph } from '../../graph/graph.ts';
import { outcome } from '../../graph/contracts/node-contract.ts';
import { exportRun } from '../../history/export-import/export.ts';
import { importRun } from '../../history/export-import/import.ts';
import { verifyRun } from '../../history/verify/verify.ts';
import { createMemoryStore } from '../../stores/memory/memory-store.ts';
import {
  afterCrash,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  rowOf,
  runToRest,
  type Bench,
} from '../../../test/engine-kit.ts';

/** A graph that says which text it was made from. */
function graphFrom(text: string): Graph {
  const name = (JSON.parse(text) as { readonly last: string }).last;
  return graphOf(
    'g',
    [
      node('ask', 'human', (ctx) => ctx.ask({ prompt: '?' })),
      node('pay', 'external', () => `paid ${name}`, { config: name }),
    ],
    edges('> ask', 'ask > pay', 'pay >'),
    { text },
  );
}

const [first, second] = ['{"last":"a"}', `{"last":"${'b'.repeat(3_000)}"}`] as const;

/** Finds graphs in nothing but the text that is kept. */
function textual(bench: Bench): Bench {
  const findGraph = async (
    _id: string,
    _hash: string,
    _meta: object,
    readText: () => Promise<string | undefined>,
  ): Promise<Graph | undefined> => {
    const text = await readText();
    return text === undefined ? undefined : graphFrom(text);
  };
  return createBench({ ...bench.options, findGraph, bounds: { inlineBytes: 500 } });
}

async function paused(): Promise<{ readonly bench: Bench; readonly runId: string }> {
  const bench = textual(createBench());
  const { runId, waits } = await runToRest(bench.engine, graphFrom(first));
  await bench.engine.answer(runId, waits[0]?.waitId ?? '', 'yes');
  return { bench, runId };
}

describe('H3 the definition a run was started with', () => {
  test('H3 is found in the run itself', async () => {
    const { bench, runId } = await paused();
    const done = await (await afterCrash(bench).resume(runId)).result();
    expect([done.status, done.state.outputs['pay']]).toEqual(['completed', 'paid a']);
  });

  test('H3 another that the run goes on under takes its place, for later resumes and for forks of later checkpoints', async () => {
    const { bench, runId } = await paused();
    const other = graphOf(
      'g',
      [
        node('ask', 'human', (ctx) => ctx.ask({ prompt: '?' })),
        node('pay', 'human', (ctx) => ctx.ask({ prompt: 'how much?' })),
      ],
      edges('> ask', 'ask > pay', 'pay >'),
      { text: second },
    );
    const between = await resumeToRest(bench.engine, runId, other);
    expect(between.status).toBe('paused');
    const run = await rowOf(bench, runId);
    expect(run.graphHash).toBe(other.hash);
    const found: (string | undefined)[] = [];
    const options = {
      ...bench.options,
      findGraph: async (_: string, __: string, ___: object, readText: () => Promise<string | undefined>) => {
        found.push(await readText());
        return other;
      },
    };
    await afterCrash({ ...bench, options }).inspect(runId);
    const late = await bench.engine.fork({ runId, seq: run.head });
    await afterCrash({ ...bench, options }).inspect(late.runId);
    const early = await bench.engine.fork({ runId, seq: 1 });
    await afterCrash({ ...bench, options }).inspect(early.runId);
    expect(found).toEqual([second, second, first]);
    expect([(await rowOf(bench, late.runId)).graphHash, (await rowOf(bench, early.runId)).graphHash]).toEqual([
      other.hash,
      graphFrom(first).hash,
    ]);
    // Compared with what it went on under, not with what it began with.
    await expect(resumeToRest(afterCrash(bench), runId, other)).resolves.toMatchObject({ status: 'paused' });
  });

  test('H3 a resume under another graph writes its large text once, as a blob', async () => {
    const { bench, runId } = await paused();
    const done = await resumeToRest(bench.engine, runId, graphFrom(second));
    expect(done.status).toBe('completed');
    const rows = await bench.store.readCheckpoints(await rowOf(bench, runId), { from: 0, to: done.seq });
    const bodies = rows.map(({ body }) => Buffer.from(body).toString()).join('');
    expect(bodies).toContain('"definition"');
    expect(bodies).not.toContain('bbbbbbbb'.repeat(100));
  });

  test('H4 goes along with an export, and verify looks at it', async () => {
    const { bench, runId } = await paused();
    const lines: string[] = [];
    for await (const line of exportRun(bench.store, bench.options.blobs, await rowOf(bench, runId))) lines.push(line);
    const elsewhere = textual(createBench({ store: createMemoryStore(), blobs: createMemoryBlobs() }));
    const { store, blobs } = elsewhere.options;
    const source = (async function* () {
      yield* lines;
    })();
    await importRun(store, blobs, source, { tenant: 'default', as: 'move', workerId: 'w' });
    const done = await (await elsewhere.engine.resume(runId)).result();
    expect(done.state.outputs['pay']).toBe('paid a');
    const report = await verifyRun(store, createMemoryBlobs(), await rowOf(elsewhere, runId));
    expect(report.faults.map(({ code }) => code)).toContain('BLOB_NOT_FOUND');
  });
});

describe('H2 a fork under another graph', () => {
  const early = (version: string): Graph =>
    graphOf(
      'g',
      [
        node('first', 'pure', () => outcome({ output: version, scratch: { x: 1 } })),
        node('ask', 'human', (ctx) => ctx.ask({ prompt: '?' })),
        node('last', 'external', () => `last ${version}`, { version }),
      ],
      edges('> first', 'first > ask', 'ask > last', 'last >'),
    );

  test('H2 goes on under it, and remembers it', async () => {
    const bench = createBench();
    const { runId, waits, seq } = await runToRest(bench.engine, early('1'));
    await bench.engine.answer(runId, waits[0]?.waitId ?? '', 'yes');
    await resumeToRest(bench.engine, runId, early('1'));
    const fork = await bench.engine.fork({ runId, seq: seq + 1 }, { graph: early('2') });
    expect((await rowOf(bench, fork.runId)).graphHash).toBe(early('2').hash);
    const done = await resumeToRest(afterCrash(bench), fork.runId, early('2'));
    expect([done.status, done.state.outputs['last'], done.state.outputs['first']]).toEqual([
      'completed',
      'last 2',
      '1',
    ]);
  });

  test('H2 is refused where it cannot go on, and no run is made', async () => {
    const bench = createBench();
    const { runId, seq } = await runToRest(bench.engine, early('1'));
    const without = graphOf('g', [node('other', 'pure', () => 1)], edges('> other', 'other >'));
    await expect(bench.engine.fork({ runId, seq }, { graph: without, runId: 'fork' })).rejects.toMatchObject({
      code: 'RUN_GRAPH_CHANGED',
    });
    expect(await bench.store.readRun({ tenant: 'default', runId: 'fork' })).toBeUndefined();
  });

  test('X2 runs pure nodes again where only their code is other code', async () => {
    const withCode = (run: () => unknown): Graph =>
      graphOf(
        'g',
        [node('first', 'pure', run), node('last', 'pure', ({ state }) => state.outputs['first'])],
        edges('> first', 'first > last', 'last >'),
      );
    const bench = createBench();
    const { runId } = await runToRest(
      bench.engine,
      withCode(() => 'old'),
    );
    const other = withCode(() => 'new');
    const fork = await bench.engine.fork({ runId, seq: 0 }, { graph: other });
    expect((await resumeToRest(bench.engine, fork.runId, other)).state.outputs['last']).toBe('new');
    const same = await bench.engine.fork({ runId, seq: 0 });
    expect(
      (
        await resumeToRest(
          bench.engine,
          same.runId,
          withCode(() => 'old'),
        )
      ).state.outputs['last'],
    ).toBe('old');
  });
});
