/** A checkpoint of a pipeline as its format describes one, at every checkpoint of runs. */
import { expect, expectTypeOf, test } from 'vitest';
import { readPipeline, type PipelineCheckpoint } from '../../src/dialects/dot/index.ts';
import { digraph, runDot, type RanDot } from '../dot-kit.ts';

async function viewsOf({ engine, result }: RanDot): Promise<readonly PipelineCheckpoint[]> {
  const views: PipelineCheckpoint[] = [];
  for (let seq = 0; seq <= result.seq; seq += 1) {
    const view = await readPipeline(engine.history, { runId: result.runId, seq });
    if (view === undefined) throw new Error(`no pipeline at ${seq}`);
    views.push(view);
  }
  return views;
}

const loop = digraph(
  `
  work [goal_gate=true, retry_target=work]
  check [max_retries=2, fidelity=truncate]
  start -> work -> check
  check -> exit [label="Done", condition="outcome=success"]`,
  'graph [goal="Ship", default_fidelity="summary:low"]',
);

test('DOT31 every checkpoint has the fields of the format, and the edge that is chosen is the one that is taken', async () => {
  const ran = await runDot(loop, {
    script: {
      work: [{ status: 'success', contextUpdates: { words: 7 } }],
      check: [{ status: 'retry', failureReason: 'not yet' }, 'success'],
    },
  });
  const views = await viewsOf(ran);
  for (const [seq, view] of views.entries())
    expect(view).toMatchObject({
      runId: ran.result.runId,
      pipelineName: 'p',
      seq,
      timestamp: expect.any(Number) as number,
    });
  const worked = views.find(({ currentNode }) => currentNode === 'work');
  expect(worked).toMatchObject({
    context: { 'graph.goal': 'Ship', words: 7, outcome: 'success' },
    outcome: { outcome: 'success' },
    nodeHistory: [
      { nodeId: 'start', outcome: 'success' },
      { nodeId: 'work', outcome: 'success' },
    ],
    goalGateStatus: { work: 'success' },
    fidelityState: { mode: 'truncate', threads: [] },
    selectedEdge: { from: 'work', to: 'check' },
    pendingEdges: [{ from: 'work', to: 'check' }],
    visits: { start: 1, work: 1 },
    restartCount: 0,
    artifactReferences: [],
  });
  expect(views[0]).toMatchObject({ nodeHistory: [], goalGateStatus: { work: 'pending' }, visits: {} });
  expect(views[0]?.currentNode).toBeUndefined();
  // What was chosen is what began next.
  const chosen = views.flatMap(({ selectedEdge }) => (selectedEdge === undefined ? [] : [selectedEdge.to]));
  expect([...new Set(chosen)]).toEqual(['work', 'check', 'exit', 'outputs']);
  expect(views.find(({ retryCounters }) => 'check' in retryCounters)?.retryCounters).toEqual({ check: 1 });
  const begun = views.find(({ openNodes }) => openNodes.includes('check'));
  expect([begun?.currentNode, begun?.pendingEdges]).toEqual(['work', []]);
  expect(views.at(-1)).toMatchObject({ currentNode: 'exit', pendingEdges: [], retryCounters: {} });
  expect(views.find(({ currentNode }) => currentNode === 'check')?.selectedEdge).toEqual({
    from: 'check',
    to: 'exit',
    label: 'Done',
  });
  expectTypeOf(views[0]!.goalGateStatus).not.toBeAny();
});

test('DOT31 jumps, gates in branches and restarts are counted', async () => {
  const jumped = await runDot(digraph('a [retry_target=fix]\nstart -> a -> exit\nfix -> a'), {
    script: { a: ['fail', 'success'] },
  });
  expect((await viewsOf(jumped)).at(-1)).toMatchObject({ jumpCounters: { 'a.fix': 1 }, visits: { a: 2, fix: 1 } });
  const branched = await runDot(
    digraph(
      'start -> both\nboth [shape=component]\nboth -> x -> meet\nboth -> y -> meet\nmeet [shape=tripleoctagon]\nmeet -> exit\nx [goal_gate=true]',
    ),
  );
  const views = await viewsOf(branched);
  expect(views[1]?.goalGateStatus).toEqual({ x: 'pending' });
  expect(views.at(-1)?.goalGateStatus).toEqual({ x: 'success' });
  const restarted = await runDot(
    digraph(
      'start -> a -> b\nb -> exit [condition="outcome=success"]\nb -> a [condition="outcome=fail", loop_restart=true]',
    ),
    { script: { b: ['fail', 'success'] } },
  );
  const counts = (await viewsOf(restarted)).map(({ restartCount }) => restartCount);
  expect(Math.max(...counts)).toBe(1);
});
