import { describe, expect, test } from 'vitest';
import { AgentGraph, END, START } from '../../index.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';

describe('the newest run', () => {
  const fails = { now: true };
  const made = () =>
    new AgentGraph({}, { id: 'newest' })
      .addNode('a', () => {
        if (fails.now) throw new Error('not yet');
        return 'done';
      })
      .addEdge(START, 'a')
      .addEdge('a', END);

  test('H1 a resume without a run goes on with the newest run of the graph that is not completed', async () => {
    const store = createMemoryStore();
    const graph = made().compile({ store });
    await expect(graph.resume()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    fails.now = true;
    await graph.invoke({}, { runId: 'first' });
    fails.now = false;
    await graph.invoke({}, { runId: 'second' });
    expect(await graph.history.latest('newest')).toMatchObject({ runId: 'second', status: 'completed' });
    expect(await graph.history.latest('newest', { status: ['failed'] })).toMatchObject({ runId: 'first' });
    expect(await graph.history.latest('other')).toBeUndefined();
    expect(await graph.resume()).toMatchObject({ runId: 'first', status: 'completed' });
    await expect(graph.resume()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });

  test('H1 a cancelled run is refused by its name, and its fork goes on', async () => {
    fails.now = true;
    const graph = made().compile({ store: createMemoryStore() });
    const { runId } = await graph.invoke({}, { runId: 'gone' });
    await graph.cancel(runId);
    fails.now = false;
    await expect(graph.resume()).rejects.toMatchObject({ code: 'RUN_CANCELLED', data: { runId: 'gone' } });
    const fork = await graph.fork('gone');
    expect(await graph.resume()).toMatchObject({ runId: fork.runId, status: 'completed' });
  });
});
