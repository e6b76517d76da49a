/** How long a process stays with a run for times that are near (W4.1). */
import { describe, expect, test } from 'vitest';
import { createBench, edges, graphOf, node, runToRest, type Bench } from '../../../test/engine-kit.ts';
import type { NodeDefinition } from '../../graph/graph.ts';
import { createVirtualClock } from '../../ports/virtual-clock.ts';
import { createMemoryStore } from '../../stores/memory/memory-store.ts';

describe('W4.1 a process stays for a time that is near', () => {
  const start = 1_700_000_000_000;
  const benchOf = (holdQuestionsMs: number): Bench =>
    createBench({ bounds: { holdTimersMs: 90_000, holdQuestionsMs } });
  const look = node('look', 'read', async (ctx) => {
    for (let time = 1; time <= 3; time += 1) await ctx.sleepUntil(start + time * 45_000);
    return 'seen';
  });
  const askUntil = (deadlineAt: number): NodeDefinition =>
    node('ask', 'human', (ctx) =>
      ctx.ask({ prompt: 'Ship it?', choices: ['yes', 'no'], deadlineAt, defaultAnswer: 'no' }),
    );

  test('W4.1 again and again, where nobody is asked', async () => {
    const { engine } = benchOf(0);
    const { status, state } = await runToRest(engine, graphOf('looks', [look], edges('> look', 'look >')));
    expect([status, state.outputs]).toEqual(['completed', { look: 'seen' }]);
  });

  test.each([
    ['not while a person can be asked', 0, start + 30_000, 'paused', 0],
    ['while a person can be asked as long as it is told', 10_000, start + 8_000, 'paused', 8_000],
  ])('W4.1 %s', async (_title, holdQuestionsMs, deadlineAt, status, timeMs) => {
    const { engine, clock } = benchOf(holdQuestionsMs);
    const second = node('second', 'human', (ctx) => ctx.ask({ prompt: `After ${String(ctx.state.outputs['ask'])}?` }));
    const nodes = [look, askUntil(deadlineAt), second];
    const links = edges('> look', '> ask', 'ask > second', 'look >', 'second >');
    const asked = await runToRest(engine, graphOf('asked', nodes, links));
    expect([asked.status, clock.timeMs - start]).toEqual([status, timeMs]);
    const question = timeMs === 0 ? 'Ship it?' : 'After no?';
    expect(asked.waits.flatMap(({ prompt }) => prompt ?? [])).toEqual([question]);
  });

  test('W4.1 W9 a timer that fires a moment early by the clock fires again, and leaves neither a row nor a reminder', async () => {
    const clock = createVirtualClock({ isAutomatic: true });
    let looks = 0;
    const isEarly = (): boolean => clock.now() === start + 8_000 && looks++ === 0;
    const { engine, store } = createBench({
      bounds: { holdTimersMs: 90_000, holdQuestionsMs: 10_000 },
      store: createMemoryStore({ now: clock.now }),
      clock: { ...clock, now: () => clock.now() - (isEarly() ? 1 : 0) },
    });
    const graph = graphOf('early', [askUntil(start + 8_000)], edges('> ask', 'ask >'));
    const { runId, status, state } = await runToRest(engine, graph);
    expect([looks > 1, status, state.outputs]).toEqual([true, 'completed', { ask: 'no' }]);
    expect((await store.listWaits({ tenant: 'default', runId })).rows).toEqual([]);
    const rows = await store.readCheckpoints({ tenant: 'default', runId }, { from: 0, to: 99 });
    expect(rows.map(({ body }) => Buffer.from(body).toString()).join('')).not.toContain('overdueAt');
  });

  test('W4.1 but not for the deadline of a question that was answered', async () => {
    const { engine, clock } = benchOf(10_000);
    const second = node('second', 'human', (ctx) => ctx.ask({ prompt: `After ${String(ctx.state.outputs['ask'])}?` }));
    const graph = graphOf('answered', [askUntil(start + 9_000), second], edges('> ask', 'ask > second', 'second >'));
    const handle = await engine.start(graph, {});
    for await (const event of handle.events())
      if (event.type === 'waiting' && event.node?.[0] === 'ask')
        await engine.answer(handle.runId, (event.detail as { waitId: string }).waitId, 'yes');
    const asked = await handle.result();
    expect([asked.waits[0]?.prompt, clock.timeMs - start]).toEqual(['After yes?', 0]);
  });
});
