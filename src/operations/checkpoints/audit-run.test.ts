/** Everything that people and tokens did to a run (D44). */
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, resumeToRest } from '../../../test/engine-kit.ts';
import { auditRun, type Act } from './audit-run.ts';
import type { ReadContext } from '../contract/operation.ts';

const graph = graphOf(
  'audited',
  [
    node('ask', 'human', (ctx) => ctx.ask({ prompt: 'ok?' })),
    node('hear', 'read', (ctx) => ctx.receive('paid')),
    node('late', 'human', (ctx) => ctx.ask({ prompt: 'late?', timeoutMs: 60_000, defaultAnswer: 'none' })),
  ],
  edges('> ask', 'ask > hear', 'hear > late', 'late >'),
);

test('D44 acts of people and tokens are told in order, with who, by which door and what; what the run did itself is not', async () => {
  const { engine, store, clock } = createBench();
  const context: ReadContext = { tenant: 'default', store, isWorkerDead: () => undefined, now: clock.now };
  const acts = async (run: string): Promise<readonly Partial<Act>[]> => {
    const told = (await auditRun.run(context, { run })).acts;
    return told.map(({ act, by, door, as, said, isPending, runId }) => ({
      act,
      by,
      door,
      ...(as && { as }),
      ...(said !== undefined && { said }),
      ...(isPending && { isPending }),
      ...(runId !== run && { runId }),
    }));
  };
  const paused = await (await engine.start(graph, {}, { runId: 'r', by: 'ann', door: 'http' })).result();
  await engine.answer('r', paused.waits[0]?.waitId ?? '', 'yes', { by: 'bob', door: 'cli', as: 'owner' });
  const start = { act: 'start', by: 'ann', door: 'http' };
  const answer = { act: 'answer', by: 'bob', door: 'cli', as: 'owner', said: 'yes' };
  expect(await acts('r')).toEqual([start, { ...answer, isPending: true }]);

  await resumeToRest(engine, 'r', graph);
  await engine.signal('r', 'paid', 40, { by: 'bank', door: 'http', as: 'program' });
  await resumeToRest(engine, 'r', graph);
  await clock.advance(60_001);
  const { status, seq } = await resumeToRest(engine, 'r', graph);
  expect(status).toBe('completed');
  const all = [start, answer, { act: 'signal', by: 'bank', door: 'http', as: 'program', said: 40 }];
  expect(await acts('r')).toEqual(all);

  await engine.fork({ runId: 'r', seq }, { runId: 'f', by: 'cleo', door: 'mcp' });
  await engine.cancel('f', { by: 'cleo', door: 'mcp', reason: 'enough' });
  expect(await acts('f')).toEqual([
    ...all.map((act) => ({ ...act, runId: 'r' })),
    { act: 'fork', by: 'cleo', door: 'mcp' },
    { act: 'cancel', by: 'cleo', door: 'mcp', said: { reason: 'enough' } },
  ]);
});

test('D44 an answer whose question was closed as changed before it was taken is told, as one that is not used', async () => {
  const { engine, store, clock } = createBench();
  const asking = (...ids: readonly string[]) =>
    graphOf(
      'g',
      ids.map((id) => node(id, 'human', (ctx) => ctx.ask({ prompt: id }))),
      edges(`> ${ids[0]}`, ...ids.map((id, at) => `${id} > ${ids[at + 1] ?? ''}`)),
    );
  const paused = await (await engine.start(asking('old', 'last'), {}, { runId: 'r' })).result();
  await engine.answer('r', paused.waits[0]?.waitId ?? '', 'yes', { by: 'bob', door: 'http' });
  await resumeToRest(engine, 'r', asking('new', 'last'));
  const context: ReadContext = { tenant: 'default', store, isWorkerDead: () => undefined, now: clock.now };
  expect((await auditRun.run(context, { run: 'r' })).acts.at(-1)).toMatchObject({
    act: 'answer',
    by: 'bob',
    door: 'http',
    said: 'yes',
    isUnused: true,
    wait: paused.waits[0]?.waitId,
  });
});
