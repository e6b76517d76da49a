import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, runToRest } from '../../../test/engine-kit.ts';
import { readState } from '../checkpoints/read-state.ts';
import { tagCheckpoint } from '../checkpoints/tag-checkpoint.ts';
import type { WorkContext } from '../contract/operation.ts';
import { deleteCheckpoint } from '../store/delete-checkpoint.ts';
import { pruneRuns } from '../store/prune-runs.ts';
import { answerWait } from '../waits/answer-wait.ts';
import { answerWaits } from '../waits/answer-waits.ts';
import { signalRun } from '../waits/signal-run.ts';
import { cancelRun } from './cancel-run.ts';
import { forkRun } from './fork-run.ts';
import { releaseRuns } from './release-runs.ts';
import { removeRun } from './remove-run.ts';
import { resumeRun } from './resume-run.ts';

test('H1 the beginning of an id reads a run, and answers, changes or forks none: the error names what begins so', async () => {
  const { engine, store } = createBench();
  const graph = graphOf('g', [node('a', 'read', (ctx) => ctx.ask({ prompt: '?' }))], edges('> a', 'a >'));
  engine.know(graph);
  await runToRest(engine, graph, {}, 'order-10');
  const context = { ...engine.ports, store, engine, findGraph: async () => graph } as unknown as WorkContext;
  expect(await readState.run(context, { checkpoint: 'order-1' })).toMatchObject({ runId: 'order-10' });
  const name = { run: 'order-1' };
  const changes: readonly (() => Promise<unknown>)[] = [
    () => answerWait.run(context, { ...name, value: 'yes' }),
    () => answerWaits.run(context, { ...name, answers: { a: 'yes' } }),
    () => signalRun.run(context, { ...name, name: 's' }),
    () => cancelRun.run(context, name),
    () => resumeRun.run(context, name),
    () => forkRun.run(context, { checkpoint: 'order-1@0' }),
    () => removeRun.run(context, name),
    () => pruneRuns.run(context, { ...name, keepLast: 1 }),
    () => releaseRuns.run(context, name),
    () => tagCheckpoint.run(context, { checkpoint: 'order-1', name: 't' }),
    () => deleteCheckpoint.run(context, { checkpoint: 'order-1' }),
  ];
  for (const change of changes)
    await expect(change()).rejects.toMatchObject({
      code: 'RUN_NOT_FOUND',
      data: { hint: expect.stringContaining('order-10') as string },
    });
  expect((await engine.inspect('order-10')).waits).toHaveLength(1);
});
