/** What comes of a question that nobody answers: reminders, others whom it is for, and its deadline (W9). */
import { expect, test } from 'vitest';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import type { Question } from '../../graph/contracts/node-contract.ts';
import type { Graph } from '../../graph/graph.ts';
import type { Change } from '../../history/stored/change.ts';
import type { Engine } from '../api.ts';

const hour = 3_600_000;
const asking = (more: Partial<Question>): Graph =>
  graphOf('late', [node('ask', 'human', (ctx) => ctx.ask({ prompt: 'ok?', ...more }))], edges('> ask', 'ask >'));

async function changesOf(engine: Engine, runId: string): Promise<Change> {
  const parts = [];
  for await (const event of engine.events(runId)) if (event.type === 'checkpoint') parts.push(...event.change);
  return parts;
}

test('W9.1 a question is reminded of at its times, on record, and is overdue from the first on; its deadline stays', async () => {
  const graph = asking({ remindAfterMs: [4 * hour, hour], timeoutMs: 6 * hour, defaultAnswer: 'none' });
  const bench = createBench({ findGraph: () => graph });
  const { engine, clock, store } = bench;
  const paused = await runToRest(engine, graph);
  const { runId } = paused;
  const start = clock.timeMs;
  expect(paused.waits).toMatchObject([
    { dueAt: start + 6 * hour, late: [{ at: start + hour }, { at: start + 4 * hour }] },
  ]);
  const rows = async (): Promise<unknown> =>
    (await store.listWaits({ tenant: 'default', runId })).rows.map(({ dueAt = 0 }) => (dueAt - start) / hour);
  expect(await rows()).toEqual([1]);
  expect(await store.listClaimable({ tenant: 'default', at: start + hour - 1, limit: 5 })).toEqual([]);
  expect(await store.listClaimable({ tenant: 'default', at: start + hour, limit: 5 })).toEqual([runId]);

  await clock.advance(hour);
  const reminded = await resumeToRest(engine, runId, graph);
  expect(reminded.waits).toMatchObject([{ overdueAt: start + hour, late: [{ at: start + 4 * hour }] }]);
  expect(await rows()).toEqual([4]);
  // Another process goes on where this one was.
  await clock.advance(3 * hour);
  const other = afterCrash(bench);
  expect((await resumeToRest(other, runId, graph)).waits).toMatchObject([{ overdueAt: start + hour }]);
  expect(await rows()).toEqual([6]);
  await clock.advance(2 * hour);
  expect((await resumeToRest(other, runId, graph)).state.outputs).toEqual({ ask: 'none' });
  const kinds = (await changesOf(engine, runId)).flatMap(({ kind, by }) =>
    ['remind', 'escalate', 'answer'].includes(kind) ? [by === undefined ? kind : `${kind} ${by}`] : [],
  );
  expect(kinds).toEqual(['remind', 'remind', 'answer timeout']);
});

test('W9.2 from its time on a question is for others too, and theirs count', async () => {
  const graph = asking({ for: ['ann'], escalateAfterMs: hour, escalateTo: ['role:lead'] });
  const { engine, clock } = createBench({ findGraph: () => graph });
  const { runId, waits } = await runToRest(engine, graph);
  const answer = (): Promise<unknown> =>
    engine.answer(runId, waits[0]?.waitId ?? '', 'yes', { by: 'bob', roles: ['lead'] });
  await expect(answer()).rejects.toMatchObject({ code: 'ANSWER_RESERVED' });
  await clock.advance(hour);
  expect((await resumeToRest(engine, runId, graph)).waits).toMatchObject([{ for: ['ann', 'role:lead'] }]);
  await answer();
  expect((await resumeToRest(engine, runId, graph)).status).toBe('completed');
  expect(await changesOf(engine, runId)).toContainEqual(
    expect.objectContaining({ kind: 'escalate', node: ['ask'], detail: { to: ['role:lead'] } }),
  );
});

test('W9.1 where the deadline is over too, it alone counts', async () => {
  const graph = asking({ remindAfterMs: hour, timeoutMs: 2 * hour, defaultAnswer: 'none' });
  const { engine, clock } = createBench({ findGraph: () => graph });
  const { runId } = await runToRest(engine, graph);
  await clock.advance(3 * hour);
  expect((await resumeToRest(engine, runId, graph)).state.outputs).toEqual({ ask: 'none' });
  expect((await changesOf(engine, runId)).map(({ kind }) => kind)).not.toContain('remind');
});

test.each([
  [{ remindAfterMs: -1 }, 'remindAfterMs'],
  [{ remindAfterMs: Array.from({ length: 21 }, () => 1) }, 'remindAfterMs'],
  [{ escalateAfterMs: 5 }, 'escalateAfterMs alone'],
  [{ escalateTo: ['ann'] }, 'escalateTo alone'],
  [{ escalateTo: [], escalateAfterMs: 5 }, 'escalateTo is no list'],
])('W9.1 a question with %j is refused before it is asked', async (more, fault) => {
  const { engine } = createBench();
  const { failures } = await runToRest(engine, asking(more));
  expect(failures?.[0]?.message).toContain(fault);
});
