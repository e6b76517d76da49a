/** What a post-mortem tells of values, of questions, and of a run whose beginning was pruned. */
import { expect, test } from 'vitest';
import { NodeFailure, outcome } from '../../src/graph/contracts/node-contract.ts';
import { compileExpression } from '../../src/graph/expression/expression.ts';
import { END, START, type EdgeDefinition } from '../../src/graph/graph.ts';
import type { StatePlace } from '../../src/history/access/place.ts';
import { pruneOneRun } from '../../src/history/retention/prune-runs.ts';
import { postMortem } from '../../src/history/explain/post-mortem.ts';
import type { PostMortem } from '../../src/history/explain/story.ts';
import { readLog } from '../../src/operations/checkpoints/read-log.ts';
import { marksOf } from '../../src/operations/runs/picture-marks.ts';
import { storyWords } from '../../src/operations/format/story-words.ts';
import {
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  rowOf,
  runToRest,
  testIds,
  type Bench,
} from '../engine-kit.ts';
import { ModelHistory, tenant } from '../history/model-history.ts';
import { edgesOf, tell, visitsOf } from './told-edges.ts';

const short = ({ entries }: PostMortem): readonly string[] =>
  entries.map((entry) =>
    entry.kind === 'visit'
      ? `${entry.path.join('/')}${entry.visit > 1 ? `#${entry.visit}` : ''} ${entry.status}`
      : entry.kind,
  );
const expression = (from: string, to: string, text: string): EdgeDefinition => ({
  from,
  to,
  condition: compileExpression(text),
});

/** Where a history written by hand stands. */
function placeOf({ store, blobs }: ModelHistory, isDead?: true): StatePlace {
  return { tenant, store, blobs, isWorkerDead: () => isDead, now: () => 0 };
}

test('N13 a large value is told with its size, and a deletion as one: neither is taken for the other', async () => {
  const big = 'x'.repeat(300_000);
  const graph = graphOf(
    'g',
    [
      node('a', 'pure', () => outcome({ scratch: { big } })),
      node('b', 'pure', () => outcome({ scratch: { big: 'small' } })),
      node('c', 'pure', () => outcome({ scratch: { big } })),
    ],
    edges('> a', 'a > b', 'b > c', 'c >'),
  );
  const bench = createBench();
  const { runId } = await runToRest(bench.engine, graph);
  const [a, b, c] = visitsOf(await tell(bench, runId));
  const sizeBytes = big.length + 2;
  expect(a?.changes).toEqual([{ path: ['scratch', 'big'], afterBytes: sizeBytes }]);
  expect(b?.changes).toEqual([{ path: ['scratch', 'big'], beforeBytes: sizeBytes, after: 'small' }]);
  expect(c?.changes).toEqual([{ path: ['scratch', 'big'], before: 'small', afterBytes: sizeBytes }]);
  const history = new ModelHistory();
  const run = await history.start();
  const old = ['frame', 'channels', 'scratch', 'old'];
  await run.commit([['s', old, 1]]);
  await run.commit([
    ['d', old],
    ['s', ['frame', 'nodes', 'n'], { status: 'completed', fired: [] }],
  ]);
  const row = await run.row();
  const [deleted] = visitsOf(await postMortem(placeOf(history), { run: row, seq: row.head }));
  expect(deleted?.changes).toEqual([{ path: ['scratch', 'old'], before: 1, isDeleted: true }]);
});

/** Prunes a run to its newest checkpoint. */
async function pruneToHead(bench: Bench, runId: string): Promise<void> {
  const run = await rowOf(bench, runId);
  const { store, blobs } = bench.options;
  const place = { tenant: run.tenant, store, blobs, isWorkerDead: () => undefined, now: () => 0, ids: testIds() };
  await pruneOneRun(place, run, { keepLast: 1 });
  expect((await rowOf(bench, runId)).prunedBelow).toBe(run.head);
}

test('N13 the oldest checkpoint that is kept is told as all others, but for what stood before it', async () => {
  const graph = graphOf(
    'g',
    [
      node('a', 'pure', () => outcome({ scratch: { n: 1 } })),
      node('boom', 'pure', () => {
        throw new NodeFailure('it broke', { code: 'BROKEN' });
      }),
    ],
    edges('> a', 'a > boom', 'boom >'),
  );
  const bench = createBench();
  const { runId } = await runToRest(bench.engine, graph);
  await pruneToHead(bench, runId);
  const story = await tell(bench, runId);
  expect(short(story)).toEqual(['fold', 'boom failed', 'end']);
  expect(story.entries[0]).toMatchObject({ pruned: { upTo: story.seq - 1 } });
  expect(visitsOf(story)).toMatchObject([{ error: { code: 'BROKEN' }, edges: [{ to: END, fired: false }] }]);
  expect(story.startedAt).toBe((await rowOf(bench, runId)).createdAt);
});

test('N13 of visits that share the oldest checkpoint each has its own value, and no way is computed from a later state', async () => {
  const graph = graphOf(
    'g',
    [node('a', 'pure', ({ visit }) => outcome({ output: visit, scratch: { n: visit } })), node('b', 'pure', () => 'b')],
    [
      { from: START, to: 'a' },
      expression('a', 'a', 'scratch.n < 3'),
      expression('a', 'b', 'scratch.n >= 3'),
      { from: 'b', to: END },
    ],
    { policies: { checkpoint: 'none' } },
  );
  const bench = createBench();
  const { runId } = await runToRest(bench.engine, graph);
  await pruneToHead(bench, runId);
  const story = await tell(bench, runId);
  expect(short(story)).toEqual(['fold', 'a completed', 'a#2 completed', 'a#3 completed', 'b completed', 'end']);
  expect(visitsOf(story).map(({ value, changes }) => [value, changes])).toEqual([
    ...[1, 2, 3].map((n) => [n, [{ path: ['scratch', 'n'], after: n }]]),
    ['b', []],
  ]);
  expect(edgesOf(story, 'a')).toEqual([
    '-> a scratch.n < 3 what decided it was pruned',
    '-- b scratch.n >= 3 what decided it was pruned',
  ]);
  expect(edgesOf(story, 'b')).toEqual([`-> ${END} it is the only one`]);
});

const asking = graphOf(
  'asking',
  [node('ask', 'human', (ctx) => ctx.ask({ prompt: 'Ship?' }))],
  edges('> ask', 'ask >'),
);

test('N13 H2 a question that a fork answers otherwise is told with that answer and who gave it', async () => {
  const bench = createBench({ findGraph: () => Promise.resolve(asking) });
  const { runId, waits } = await runToRest(bench.engine, asking, {}, 'asked');
  const open = await rowOf(bench, runId);
  await bench.engine.answer(runId, waits[0]?.waitId ?? '', 'yes', { by: 'ada' });
  await resumeToRest(bench.engine, runId, asking);
  const from = await rowOf(bench, runId);
  for (const seq of [open.head, from.head]) {
    const fork = await bench.engine.fork(
      { runId, seq },
      { runId: `fork-${seq}`, answers: { [waits[0]?.waitId ?? '']: 'no' }, by: 'bob' },
    );
    await resumeToRest(bench.engine, fork.runId, asking);
    const visit = visitsOf(await tell(bench, fork.runId)).find(({ path }) => path[0] === 'ask');
    expect(visit).toMatchObject({ value: 'no', status: 'completed' });
    expect(visit?.questions).toMatchObject([
      { prompt: 'Ship?', answer: 'no', by: 'bob', closedAt: { runId: fork.runId } },
    ]);
  }
});

test('N13 in a run that is over nothing is open: a question is told as not answered, and a picture says so', async () => {
  const bench = createBench();
  const { runId } = await runToRest(bench.engine, asking);
  const paused = await tell(bench, runId);
  expect(visitsOf(paused).map(({ isUnfinished }) => isUnfinished)).toEqual([undefined]);
  await bench.engine.cancel(runId);
  const story = await tell(bench, runId);
  expect([story.status, visitsOf(story)]).toMatchObject(['cancelled', [{ path: ['ask'], isUnfinished: true }]]);
  const told = storyWords(story).entries.findLast(({ kind }) => kind === 'visit');
  expect(told).toMatchObject({ outcome: 'not ended', notes: [{ kind: 'asked', text: 'asked Ship?: not answered' }] });
  expect(marksOf(story).nodes.get('ask')).toEqual({ tone: 'skipped', note: 'not ended' });
  expect(marksOf(paused).nodes.get('ask')).toEqual({ tone: 'warn', note: 'waiting' });
});

test('N13 D3 a run whose process has died is stopped in its story and its log, at its newest checkpoint', async () => {
  const history = new ModelHistory();
  const run = await history.start();
  await run.commit([['s', ['frame', 'channels', 'scratch', 'n'], 1]]);
  const row = await run.row();
  const status = async (isDead: true | undefined, seq: number): Promise<string> =>
    (await postMortem(placeOf(history, isDead), { run: row, seq })).status;
  expect([await status(undefined, row.head), await status(true, row.head), await status(true, 0)]).toEqual([
    'running',
    'stopped',
    'running',
  ]);
  const log = await readLog.run(placeOf(history, true), { run: row.runId });
  expect(log.status).toBe('stopped');
});

test('N13 of an effect in doubt is told what was decided, and by whom', async () => {
  const history = new ModelHistory();
  const run = await history.start();
  const record = ['frame', 'nodes', 'pay'];
  const wait = { kind: 'doubt', node: ['pay'], name: 'doubt', prompt: 'Did it?' };
  await run.commit(
    [
      ['s', record, { status: 'waiting' }],
      ['s', ['waits', 'w'], wait],
    ],
    [{ kind: 'wait', node: ['pay'], wait: 'w' }],
  );
  await run.commit(
    [
      ['d', ['waits', 'w']],
      ['s', [...record, 'decision'], 'run again'],
    ],
    [{ kind: 'answer', node: ['pay'], wait: 'w', by: 'ann' }],
  );
  const row = await run.row();
  const [visit] = visitsOf(await postMortem(placeOf(history), { run: row, seq: row.head }));
  expect(visit?.questions).toMatchObject([{ kind: 'doubt', prompt: 'Did it?', answer: 'run again', by: 'ann' }]);
});
