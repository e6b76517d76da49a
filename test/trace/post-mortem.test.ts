/** Post-mortems of runs of several dialects: what happened, and why it went on as it did. */
import { expect, test } from 'vitest';
import { compileExpression } from '../../src/graph/expression/expression.ts';
import { functionCondition } from '../../src/graph/condition.ts';
import { END, START, type EdgeDefinition } from '../../src/graph/graph.ts';
import { outcome, NodeFailure } from '../../src/graph/contracts/node-contract.ts';
import type { PostMortem } from '../../src/history/explain/story.ts';
import { createBench, graphOf, node, resumeToRest, runToRest } from '../engine-kit.ts';
import { digraph, runDot } from '../dot-kit.ts';
import { edgesOf, tell, visitsOf } from './told-edges.ts';

const short = (story: PostMortem): readonly string[] =>
  story.entries.map((entry) =>
    entry.kind === 'visit'
      ? `${entry.path.join('/')}${entry.visit > 1 ? `#${entry.visit}` : ''} ${entry.status}`
      : entry.kind,
  );
const expression = (from: string, to: string, text: string): EdgeDefinition => ({
  from,
  to,
  condition: compileExpression(text),
});

test('N13 each node in order: outcome, attempts, what it changed, and its edges with their conditions computed again', async () => {
  let tries = 0;
  const isGood = functionCondition(({ outcome: { output } }) => output === 'good', { text: 'isGood' });
  const graph = graphOf(
    'g',
    [
      node('draft', 'read', () => outcome({ output: 'good', scratch: { words: 7, log: ['a'] } })),
      node(
        'send',
        'read',
        () => {
          tries += 1;
          if (tries < 3) throw new NodeFailure(`no answer ${tries}`, { code: 'NET', applied: 'no' });
          return outcome({ output: 'sent', scratch: { words: 8 } });
        },
        { retry: { attempts: 3 } },
      ),
      node('shorten', 'read', () => 'never'),
      node('other', 'read', () => 'never'),
      node('fail', 'read', () => {
        throw new NodeFailure('it broke', { code: 'BROKEN' });
      }),
      node('mend', 'read', () => 'mended'),
    ],
    [
      { from: START, to: 'draft' },
      expression('draft', 'send', 'scratch.words < 10'),
      expression('draft', 'shorten', 'scratch.words >= 10'),
      { from: 'draft', to: 'fail', condition: isGood },
      { from: 'draft', to: 'other', condition: functionCondition(() => false, { text: 'never' }) },
      { from: 'fail', to: 'mend', on: 'failed' },
      { from: 'fail', to: END },
      { from: 'send', to: END },
      { from: 'shorten', to: END },
      { from: 'mend', to: END },
      { from: 'other', to: END },
    ],
  );
  const bench = createBench();
  const { runId } = await runToRest(bench.engine, graph);
  const story = await tell(bench, runId);
  expect(story).toMatchObject({ runId, graphId: 'g', status: 'completed', failures: {} });
  expect(
    short(story)
      .filter((text) => !text.includes('__'))
      .sort(),
  ).toEqual(['start', 'draft completed', 'send completed', 'fail failed', 'mend completed', 'end'].sort());
  expect(edgesOf(story, 'draft')).toEqual([
    '-> send scratch.words < 10 true its condition holds',
    '-- shorten scratch.words >= 10 false its condition does not hold',
    '-> fail isGood its function said yes',
    '-- other never its function said no, or was not asked',
  ]);
  expect(edgesOf(story, 'fail')).toEqual(['-> mend the node failed', `-- ${END} it is for what ended well`]);
  const visits = new Map(visitsOf(story).map((visit) => [visit.path.join('/'), visit]));
  expect(visits.get('draft')?.changes).toEqual([
    { path: ['scratch', 'words'], after: 7 },
    { path: ['scratch', 'log'], after: ['a'] },
  ]);
  expect(visits.get('send')).toMatchObject({
    attempts: 3,
    value: 'sent',
    retries: [
      { attempt: 1, error: { code: 'NET', message: 'no answer 1' } },
      { attempt: 2, error: { code: 'NET', message: 'no answer 2' } },
    ],
    changes: [{ path: ['scratch', 'words'], before: 7, after: 8 }],
  });
  expect(visits.get('fail')).toMatchObject({ status: 'failed', error: { code: 'BROKEN', message: 'it broke' } });
});

test('N13 a condition is computed from the state in which it was asked, though the checkpoint holds more', async () => {
  const graph = graphOf(
    'g',
    [
      node('a', 'pure', () => outcome({ scratch: { n: 1 } })),
      node('b', 'pure', () => outcome({ scratch: { n: 2 } })),
      node('c', 'pure', () => outcome({ scratch: { n: 3 } })),
    ],
    [
      { from: START, to: 'a' },
      expression('a', 'b', 'scratch.n == 1'),
      expression('b', 'c', 'scratch.n == 2'),
      { from: 'c', to: END },
    ],
    { policies: { checkpoint: 'none' } },
  );
  const bench = createBench();
  const { runId } = await runToRest(bench.engine, graph);
  const story = await tell(bench, runId);
  expect(new Set(visitsOf(story).map(({ seq }) => seq)).size).toBe(1);
  expect([...edgesOf(story, 'a'), ...edgesOf(story, 'b')]).toEqual([
    '-> b scratch.n == 1 true its condition holds',
    '-> c scratch.n == 2 true its condition holds',
  ]);
});

test('N13 questions and who answered, child runs under their parents, what has not ended, and the failure that ended a run', async () => {
  const child = graphOf(
    'child',
    [node('q', 'human', (ctx) => ctx.ask({ prompt: 'How many?' }))],
    [
      { from: START, to: 'q' },
      { from: 'q', to: END },
    ],
  );
  const graph = graphOf(
    'parent',
    [
      node('sub', 'read', async (ctx) => (await ctx.run(child, 'me')).state.outputs['q'], { subgraph: child }),
      node('last', 'read', () => {
        throw new NodeFailure('out of paper', { code: 'PAPER' });
      }),
    ],
    [
      { from: START, to: 'sub' },
      { from: 'sub', to: 'last' },
      { from: 'last', to: END },
    ],
  );
  const bench = createBench();
  const paused = await runToRest(bench.engine, graph);
  const before = await tell(bench, paused.runId);
  expect(visitsOf(before).filter(({ attempts }) => attempts === undefined)).toMatchObject([
    { path: ['sub'], edges: [] },
    { path: ['sub', 'run', 'q'], questions: [{ prompt: 'How many?', kind: 'question' }] },
  ]);
  await bench.engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', 7, { by: 'ada' });
  await resumeToRest(bench.engine, paused.runId, graph);
  const story = await tell(bench, paused.runId);
  expect(short(story).filter((text) => !text.includes('__'))).toEqual([
    'start',
    'pause',
    'sub/run/q completed',
    'sub completed',
    'last failed',
    'end',
  ]);
  const [asked] = visitsOf(story);
  expect(asked?.questions).toMatchObject([
    { prompt: 'How many?', by: 'ada', answer: 7, closedAt: { runId: paused.runId } },
  ]);
  expect(asked?.edges).toMatchObject([{ to: END, fired: true }]);
  expect(edgesOf(story, 'last')).toEqual([`-- ${END} it is for what ended well`]);
  expect(story).toMatchObject({ status: 'failed', failures: { last: { code: 'PAPER', message: 'out of paper' } } });
});

test('N13 of a fork, what was taken over is told with where it was recorded, and the past with the run whose it is', async () => {
  const graph = graphOf(
    'g',
    [
      node('a', 'pure', () => outcome({ output: 1, scratch: { n: 1 } })),
      node('pay', 'external', () => 'paid'),
      node('b', 'pure', (ctx) => ctx.state.scratch['n']),
    ],
    [
      { from: START, to: 'a' },
      { from: 'a', to: 'pay' },
      { from: 'pay', to: 'b' },
      { from: 'b', to: END },
    ],
  );
  const bench = createBench({ findGraph: () => Promise.resolve(graph) });
  const { runId } = await runToRest(bench.engine, graph, {}, 'first');
  const forked = await bench.engine.fork(
    { runId, seq: 1 },
    { runId: 'second', set: [{ path: ['scratch', 'n'], value: 9 }] },
  );
  await resumeToRest(bench.engine, forked.runId, graph);
  const story = await tell(bench, 'second');
  expect(story.forkedFrom).toEqual({ runId: 'first', seq: 1 });
  const pay = visitsOf(story).find(({ path }) => path[0] === 'pay');
  expect(pay).toMatchObject({ runId: 'second', takenFrom: { runId: 'first' } });
  const a = visitsOf(story).find(({ path }) => path[0] === 'a');
  expect([a?.runId, a?.takenFrom]).toEqual(['first', undefined]);
  expect(story.entries.find(({ kind }) => kind === 'fork')).toMatchObject({ from: { runId: 'first', seq: 1 } });
});

test('N13 of a pipeline: ways with their conditions, jumps to retry targets, goal gates, branches and who chose', async () => {
  const { bench, result } = await runDot(
    digraph(`
      plan -> check
      check [goal_gate=true, retry_target=fix]
      check -> ship [condition="outcome=success && context.ready=yes"]
      check -> again [condition="outcome=success"]
      again -> ship
      fix -> check
      ship -> exit
      start -> plan`),
    {
      script: {
        plan: [{ status: 'success', contextUpdates: { ready: 'no' } }],
        check: [{ status: 'fail', failureReason: 'two tests fail' }, 'success'],
      },
    },
  );
  const story = await tell(bench, result.runId);
  expect(edgesOf(story, 'check')).toEqual([
    '-- ship outcome=success && context.ready=yes false its condition does not hold',
    '-- again outcome=success false its condition does not hold',
    '-> fix the failure jumps to the retry target, 1 of 10 times',
  ]);
  expect(edgesOf(story, 'check', 2)).toEqual([
    '-- ship outcome=success && context.ready=yes false its condition does not hold',
    '-> again outcome=success true its condition holds',
    '-- fix no jump was needed',
  ]);
  expect(
    visitsOf(story)
      .flatMap(({ edges }) => edges.map(({ label = '' }) => label))
      .filter((label) => /^edge|^jump/.test(label)),
  ).toEqual([]);
  const failed = await runDot(digraph('start -> a -> exit'), { script: { a: ['fail'] } });
  const a = visitsOf(await tell(failed.bench, failed.result.runId)).find(({ path }) => path[0] === 'a');
  expect([a?.status, a?.edges.map(({ to, label, fired }) => [to, label, fired])]).toEqual([
    'failed',
    [['exit', undefined, false]],
  ]);
  expect(story.result).toMatchObject({
    status: 'partial_success',
    gates: { check: 'success' },
    failures: [{ stage: 'check', reason: 'two tests fail', led_to: 'fix' }],
  });
});

test('N13 of a stage that failed a pipeline: which ways do not take the failure, and how often it was jumped', async () => {
  const { bench, result } = await runDot(
    digraph(
      'start -> fix -> check\ncheck -> exit\ncheck -> ship [condition="context.ready=yes"]\nship -> exit\ncheck [retry_target=fix]',
      'max_retry_jumps=1',
    ),
    { script: { check: ['fail'] } },
  );
  const story = await tell(bench, result.runId);
  expect([story.status, visitsOf(story).at(-1)?.path]).toEqual(['failed', ['check']]);
  expect(edgesOf(story, 'check', 2)).toEqual([
    '-- exit it is not meant for failures',
    '-- ship context.ready=yes false its condition does not hold',
    '-- fix max_retry_jumps of 1 is used up',
  ]);
});
