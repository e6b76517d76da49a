/** What a visit sees is a checkpoint of its own (E9). */
import { expect, test } from 'vitest';
import { outcome } from '../../graph/contracts/node-contract.ts';
import type { CheckpointPolicy } from '../../graph/graph.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import { dyingEngine, killableEngine, settleDown } from '../../../test/dying-engine.ts';

test('E9 what a visit sees as a resumed run begins again stays as it was, though another one ends in the same turn', async () => {
  const bench = createBench();
  let lives = 0;
  let attempts = 0;
  const graph = graphOf(
    'g',
    [
      node(
        'writes',
        'pure',
        () => {
          attempts += 1;
          if (attempts === 1) throw new Error('once');
          return outcome({ output: 1, scratch: { x: attempts } });
        },
        { retry: { attempts: 2, delayMs: 60_000 } },
      ),
      node('looks', 'read', async (ctx) => {
        if (lives === 1) return new Promise(() => undefined);
        const look = (): string => JSON.stringify(ctx.state.scratch);
        const seen = await ctx.step('look', {}, look);
        await ctx.ask({ name: 'go', prompt: 'Go on?' });
        return [seen, look()];
      }),
    ],
    edges('> writes', '> looks', 'writes >', 'looks >'),
  );
  lives += 1;
  const { engine, kill } = killableEngine({
    ...bench,
    options: { ...bench.options, clock: { ...bench.clock, setTimer: () => () => undefined } },
  });
  await engine.start(graph, {}, { runId: 'r' });
  await settleDown();
  kill();
  await settleDown();
  // The attempt that was put off is due when the next process takes the run up.
  bench.clock.timeMs += 120_000;
  lives += 1;
  const paused = await resumeToRest(afterCrash(bench), 'r', graph);
  expect([paused.status, attempts]).toEqual(['paused', 2]);
  const next = afterCrash(bench);
  await next.answer('r', paused.waits[0]?.waitId ?? '', 'yes');
  const done = await resumeToRest(next, 'r', graph);
  const [seen, again] = done.state.outputs['looks'] as [string, string];
  expect(again).toBe(seen);
});

test.each<CheckpointPolicy>(['every_node', 'explicit', 'none'])(
  'E9.5 under the policy %s what a visit of a fork sees has a checkpoint: killed after any commit, it sees the same again',
  async (checkpoint) => {
    let begun = Promise.withResolvers<void>();
    const graph = graphOf(
      'g',
      [
        node('first', 'pure', () => outcome({ scratch: { first: 'done' } })),
        node('looks', 'read', async (ctx) => {
          const look = (): string => JSON.stringify(ctx.state.scratch);
          const seen = await ctx.step('look', {}, () => (begun.resolve(), look()));
          await ctx.ask({ name: 'go', prompt: 'Go on?' });
          return [seen, look()];
        }),
        node('beside', 'pure', () => begun.promise.then(() => outcome({ scratch: { beside: 'done' } }))),
        node('z', 'pure', () => 'z'),
      ],
      edges('> first', 'first > looks', '> beside', 'looks > z', 'z >', 'beside >'),
      { policies: { checkpoint } },
    );
    const views: string[] = [];
    for (let commits = 0; commits < 8; commits += 1) {
      const bench = createBench({ findGraph: () => graph });
      await runToRest(bench.engine, graph, {}, 'r');
      const patch = { set: [{ path: ['scratch', 'patched'], value: commits }] };
      const { runId } = await bench.engine.fork({ runId: 'r', seq: 0 }, { ...patch, rerunPure: true });
      begun = Promise.withResolvers();
      const killed = await dyingEngine(bench, commits).resume(runId, { graph });
      await settleDown();
      const next = afterCrash(bench);
      const paused = await resumeToRest(next, runId, graph);
      await next.answer(runId, paused.waits[0]?.waitId ?? '', 'yes');
      const { state } = await resumeToRest(afterCrash(bench), runId, graph);
      const [seen, again] = state.outputs['looks'] as [string, string];
      expect([killed.runId, again]).toEqual([runId, seen]);
      views.push(seen);
    }
    expect(views).toHaveLength(8);
    for (const [commits, seen] of views.entries()) expect(seen).toContain(`"patched":${commits}`);
  },
);
