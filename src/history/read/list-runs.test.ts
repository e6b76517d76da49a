import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, rowOf, runToRest } from '../../../test/engine-kit.ts';
import { listRuns, shownStatusOf, toListedRun } from './list-runs.ts';
import { showCheckpoint } from './log.ts';

const graph = graphOf('g', [node('a', 'read', () => 1)], edges('> a', 'a >'));

test('D3 a detached run that nobody has taken up is queued; one whose process died is stopped', async () => {
  const bench = createBench();
  await bench.engine.start(graph, {}, { runId: 'queued', detach: true });
  const queued = toListedRun(await rowOf(bench, 'queued'), () => undefined);
  expect([shownStatusOf(queued), queued.isQueued, queued.isStopped]).toEqual(['queued', true, false]);
  const died = { ...(await rowOf(bench, 'queued')), head: 3 };
  expect(shownStatusOf(toListedRun(died, () => undefined))).toBe('stopped');
  const place = { store: bench.store, tenant: 'default', now: () => 0, isWorkerDead: () => undefined };
  const found: string[] = [];
  for await (const { runId } of listRuns(place, { status: ['queued'] })) found.push(runId);
  expect(found).toEqual(['queued']);
});

test('H1 at the head of a finished run nothing is in doubt', async () => {
  const bench = createBench();
  await runToRest(bench.engine, graph, {}, 'r');
  const run = await rowOf(bench, 'r');
  const place = { store: bench.store, blobs: bench.options.blobs, tenant: 'default', now: () => 0 };
  const shown = await showCheckpoint({ ...place, isWorkerDead: () => undefined }, run, run.head);
  expect([shown.isInDoubt, shown.view.status]).toEqual([false, 'completed']);
});
