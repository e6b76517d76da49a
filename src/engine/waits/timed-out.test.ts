/** Questions whose time is over: they are asked again, with their full time (W5.2). */
import { expect, test } from 'vitest';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import { END, type Graph } from '../../graph/graph.ts';
import type { NodeContext, Question } from '../../graph/contracts/node-contract.ts';
import { humanNode, type NodeDraft } from '../../nodes/builders.ts';

const hour = 3_600_000;

const asking = (question: (ctx: NodeContext) => Question, more: object = {}): Graph =>
  graphOf('asking', [node('ask', 'human', (ctx) => ctx.ask(question(ctx)), more)], edges('> ask', 'ask >'));
const drafted = (draft: NodeDraft): Graph => graphOf('drafted', [{ ...draft, id: 'ask' }], edges('> ask', 'ask >'));
test.each<[string, Graph]>([
  ['timeoutMs', asking(() => ({ prompt: 'Go?', timeoutMs: hour }))],
  ['deadlineAt of ctx.now()', asking((ctx) => ({ prompt: 'Go?', deadlineAt: ctx.now() + hour }))],
  ['a human node', drafted(humanNode({ prompt: 'Go?', timeoutMs: hour }))],
])('W5.2 a question that ended by its time is asked anew by a resume, with its full time: %s', async (_, graph) => {
  const bench = createBench();
  const { clock } = bench;
  const { runId } = await runToRest(bench.engine, graph);
  let waitId = '';
  for (let time = 1; time <= 3; time += 1) {
    clock.timeMs += 2 * hour;
    // It kept its deadline while it was open, whoever resumes.
    const late = await resumeToRest(afterCrash(bench), runId, graph);
    expect(late).toMatchObject({ status: 'failed', error: { message: 'node ask had no answer within 3600000 ms' } });
    clock.timeMs += 2 * hour;
    const asked = await resumeToRest(bench.engine, runId, graph);
    expect(asked).toMatchObject({ status: 'paused', waits: [{ kind: 'question', dueAt: clock.timeMs + hour }] });
    clock.timeMs += hour / 2;
    const still = await resumeToRest(afterCrash(bench), runId, graph);
    expect(still).toMatchObject({ status: 'paused', waits: [{ dueAt: clock.timeMs + hour / 2 }] });
    waitId = still.waits[0]?.waitId ?? '';
  }
  await bench.engine.answer(runId, waitId, 'yes');
  expect(await resumeToRest(bench.engine, runId, graph)).toMatchObject({ status: 'completed' });
});

test('W5.2 a question that ended by its time is asked anew by the next attempt of its policy, and by a later visit', async () => {
  const bench = createBench();
  const retry = { attempts: 3, delayMs: 1, backoff: 'fixed' } as const;
  const graph = asking((ctx) => ({ prompt: 'Go?', deadlineAt: ctx.now() + 5_000 }), { retry });
  const from = bench.clock.timeMs;
  const { error } = await runToRest(bench.engine, graph);
  expect(error?.message).toBe('node ask had no answer within 5000 ms');
  expect(bench.clock.timeMs - from).toBeGreaterThanOrEqual(15_000);
  const loop = graphOf(
    'loop',
    [
      node('ask', 'human', (ctx) => ctx.ask({ prompt: 'Go?', deadlineAt: ctx.now() + 5_000, defaultAnswer: 'late' })),
      node('count', 'pure', ({ visit }) => visit),
    ],
    [
      ...edges('> ask', 'ask > count'),
      {
        from: 'count',
        to: 'ask',
        condition: { text: 'again', evaluate: ({ outcome: { output } }) => Number(output) < 3 },
      },
      {
        from: 'count',
        to: END,
        condition: { text: 'done', evaluate: ({ outcome: { output } }) => Number(output) >= 3 },
      },
    ],
  );
  const start = bench.clock.timeMs;
  expect((await runToRest(bench.engine, loop)).status).toBe('completed');
  expect(bench.clock.timeMs - start).toBeGreaterThanOrEqual(15_000);
});

test('W5.2 a question whose deadline is past takes its default, or says so; a resume may give another', async () => {
  const bench = createBench();
  const { clock } = bench;
  let deadlineAt = clock.timeMs - 231;
  const graph = asking(() => ({ prompt: 'Go?', deadlineAt }));
  const late = await runToRest(bench.engine, graph);
  const message = 'node ask asked with a deadline that was past by 231 ms';
  expect(late).toMatchObject({
    status: 'failed',
    error: { message, hint: expect.stringContaining('deadlineAt') as string },
  });
  expect((await resumeToRest(bench.engine, late.runId, graph)).status).toBe('failed');
  deadlineAt = clock.timeMs + hour;
  expect(await resumeToRest(bench.engine, late.runId, graph)).toMatchObject({
    status: 'paused',
    waits: [{ dueAt: deadlineAt }],
  });
  const kept = asking(() => ({ prompt: 'Go?', deadlineAt: clock.timeMs - 1, defaultAnswer: 'no' }));
  expect((await runToRest(bench.engine, kept)).state.outputs['ask']).toBe('no');
});

test('W5.2 times that a recorded step was made of stay when a later question is asked again', async () => {
  const bench = createBench();
  const times: number[] = [];
  const graph = graphOf('times', [node('ask', 'human', async (ctx) => {
    const began = ctx.now();
    times.push(began);
    await ctx.step('note', { input: began }, () => 1);
    return ctx.ask({ prompt: 'Go?', deadlineAt: ctx.now() + hour });
  })], edges('> ask', 'ask >')); // prettier-ignore
  const { runId } = await runToRest(bench.engine, graph);
  bench.clock.timeMs += 2 * hour;
  expect((await resumeToRest(bench.engine, runId, graph)).status).toBe('failed');
  bench.clock.timeMs += 2 * hour;
  const asked = await resumeToRest(bench.engine, runId, graph);
  expect(asked).toMatchObject({ status: 'paused', waits: [{ dueAt: bench.clock.timeMs + hour }] });
  expect(new Set(times).size).toBe(1);
});
