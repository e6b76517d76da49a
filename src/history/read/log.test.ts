import { expect, test } from 'vitest';
import { emptyTree, ModelHistory, type ModelRun } from '../../../test/history/model-history.ts';
import type { RunRow, Store } from '../../ports/store.ts';
import type { RunTree } from '../../state/tree.ts';
import { diffCheckpoints, showCheckpoint, walkLog, type LogEntry, type LogOptions } from './log.ts';
import { writeSnapshotOf } from '../load/load.ts';
import { takeSome } from './take-some.ts';
import { pruneRun } from '../retention/prune.ts';
import { viewState } from './checkpoint-view.ts';

async function readSome(
  store: Store,
  run: RunRow,
  { limit, ...options }: LogOptions & { readonly limit: number },
): Promise<readonly LogEntry[]> {
  return (await takeSome(walkLog(store, run, { ...options, pageSize: limit }), limit)).taken;
}

async function writeRun(commits: number): Promise<ModelRun> {
  const run = await new ModelHistory().start('run');
  for (let i = 1; i <= commits; i++) {
    await run.commit(
      [['s', ['frame', 'channels', 'scratch', 'n'], i]],
      [{ kind: 'settle', node: [`n${i}`], effect: 'pure' }],
    );
  }
  return run;
}

test('H1 the log is newest first, in pages, with tags', async () => {
  const run = await writeRun(7);
  const { store } = run.history;
  await store.tagCheckpoint(await run.row(), { name: 'v1', seq: 6 });
  await store.tagCheckpoint(await run.row(), { name: 'good', seq: 6 });
  const first = await readSome(store, await run.row(), { limit: 3 });
  expect(first.map(({ seq }) => seq)).toEqual([7, 6, 5]);
  expect(first[1]).toEqual({
    checkpointId: `${run.key}.6`,
    runId: 'run',
    seq: 6,
    at: 1_006,
    change: [{ kind: 'settle', node: ['n6'], effect: 'pure' }],
    tags: ['good', 'v1'],
    sizeBytes: run.sizes.get(6),
  });
  const rest = await readSome(store, await run.row(), { limit: 50, before: 5 });
  expect(rest.map(({ seq }) => seq)).toEqual([4, 3, 2, 1, 0]);
  expect(await readSome(store, await run.row(), { limit: 5, before: 0 })).toEqual([]);
});

test('H1 the log goes past the fork point when asked, and past what was pruned', async () => {
  const run = await writeRun(9);
  const { store, blobs } = run.history;
  const fork = await run.history.fork(run, 8, 'fork');
  await fork.commit([]);
  const seqs = async (options: { limit: number; includeAncestors?: boolean }): Promise<string[]> =>
    (await readSome(store, await fork.row(), options)).map(({ runId, seq }) => `${runId} ${seq}`);
  expect(await seqs({ limit: 9 })).toEqual(['fork 10', 'fork 9']);
  expect(await seqs({ limit: 4, includeAncestors: true })).toEqual(['fork 10', 'fork 9', 'run 8', 'run 7']);
  await pruneRun(store, blobs, run.claim, await run.row(), { keepEvery: 8 });
  expect(await seqs({ limit: 9, includeAncestors: true })).toEqual(['fork 10', 'fork 9', 'run 8', 'run 7', 'run 0']);
});

test('C3 a checkpoint is shown in full', async () => {
  const run = await writeRun(2);
  const { store, blobs } = run.history;
  const place = { tenant: 't', store, blobs, isWorkerDead: () => undefined, now: () => 0 };
  const fork = await run.history.fork(run, 1, 'fork');
  await writeSnapshotOf(store, await run.row(), 2, run.links.get(2)!, structuredClone(run.state) as unknown as RunTree);
  const shown = await showCheckpoint(place, await run.row(), 2);
  expect(shown).toMatchObject({
    checkpointId: `${run.key}.2`,
    parent: `${run.key}.1`,
    graphHash: 'g1',
    schemaVersion: 1,
    encoding: 'delta and snapshot',
    checksum: Buffer.from(run.links.get(2)!).toString('hex'),
    recorded: { values: [{ path: ['scratch', 'n'], before: 1, after: 2 }], steps: [] },
    view: { status: 'running', state: { scratch: { n: 2 } } },
  });
  expect(await showCheckpoint(place, await fork.row(), 2)).toMatchObject({
    checkpointId: `${fork.key}.2`,
    parent: `${run.key}.1`,
    encoding: 'delta',
  });
  expect(await showCheckpoint(place, await fork.row(), 0)).not.toHaveProperty('parent');
  await expect(showCheckpoint(place, await run.row(), 3)).rejects.toMatchObject({
    code: 'CHECKPOINT_NOT_FOUND',
  });
});

test('C3 a checkpoint tells what it recorded: values, those of child runs, and results of steps; it is all where nothing came before', async () => {
  const history = new ModelHistory();
  const run = await history.start('run');
  const draft = {
    status: 'started',
    steps: { call: { kind: 'step', status: 'done', output: 'Dear', spent: { tokens: 12 } } },
  };
  await run.commit([
    ['s', ['frame', 'nodes', 'draft'], draft],
    [
      's',
      ['frame', 'nodes', 'map'],
      { status: 'started', children: { a: { input: { n: 1 }, channels: {}, nodes: {} } } },
    ],
  ]);
  await run.commit([
    ['s', ['frame', 'nodes', 'draft', 'output'], 'Dear Ada'],
    ['s', ['frame', 'nodes', 'draft', 'steps', 'send'], { kind: 'step', status: 'failed', error: 'no line' }],
    ['s', ['frame', 'nodes', 'map', 'children', 'a', 'nodes', 'b'], { status: 'completed', output: 2 }],
  ]);
  const { store, blobs } = history;
  const place = { tenant: 't', store, blobs, isWorkerDead: () => undefined, now: () => 0 };
  const recorded = async (seq: number) => (await showCheckpoint(place, await run.row(), seq)).recorded;
  expect(await recorded(1)).toEqual({
    values: [{ path: ['map', 'a', 'input'], before: undefined, after: { n: 1 } }],
    steps: [{ path: ['draft', 'call'], kind: 'step', status: 'done', value: 'Dear', spent: { tokens: 12 } }],
  });
  const second = {
    values: [
      { path: ['outputs', 'draft'], after: 'Dear Ada' },
      { path: ['map', 'a', 'outputs', 'b'], after: 2 },
    ],
    steps: [{ path: ['draft', 'send'], kind: 'step', status: 'failed', error: 'no line' }],
  };
  expect(await recorded(2)).toEqual(second);
  await pruneRun(store, blobs, run.claim, await run.row());
  const { values, steps } = await recorded(2);
  const paths = values.map(({ path }) => path.join('.'));
  expect(paths).toEqual(['input', 'outputs.draft', 'map.a.input', 'map.a.outputs.b']);
  expect(steps.map(({ path }) => path.join('/'))).toEqual(['draft/call', 'draft/send']);
});

test('H1 what a node gives under a name is listed once, as that artifact; as an output too where the two differ', async () => {
  const history = new ModelHistory();
  const run = await history.start('run');
  const nodeAt = (id: string): string[] => ['frame', 'nodes', id];
  await run.commit([
    ['s', nodeAt('pay'), { status: 'completed', as: 'pay', output: { paid: 1, by: 'card' } }],
    ['s', nodeAt('look'), { status: 'completed', as: 'score', output: [1] }],
    ['s', nodeAt('plain'), { status: 'completed', output: 3 }],
    // A node wrote an artifact of that name, which is shown in place of this output.
    ['s', ['frame', 'channels', 'artifacts', 'note'], 'written'],
    ['s', nodeAt('write'), { status: 'completed', as: 'note', output: 'returned' }],
  ]);
  await run.commit([['s', [...nodeAt('pay'), 'output', 'paid'], 2]]);
  const row = await run.row();
  const { store, blobs } = history;
  const pathsOf = (values: readonly { readonly path: readonly string[] }[]): readonly string[] =>
    values.map(({ path }) => path.join('.'));
  const difference = await diffCheckpoints(store, blobs, { run: row, seq: 0 }, { run: row, seq: 1 });
  const first = ['artifacts.pay', 'artifacts.score', 'artifacts.note', 'outputs.plain', 'outputs.write'];
  expect(pathsOf(difference.values)).toEqual(first);
  const place = { tenant: 't', store, blobs, isWorkerDead: () => undefined, now: () => 0 };
  expect(pathsOf((await showCheckpoint(place, row, 1)).recorded.values)).toEqual(first);
  expect((await diffCheckpoints(store, blobs, { run: row, seq: 1 }, { run: row, seq: 2 })).values).toEqual([
    { path: ['artifacts', 'pay', 'paid'], before: 1, after: 2 },
  ]);
});

test('X3 an effect without a result is in doubt only at the head, and only where its owner is gone', async () => {
  const run = await writeRun(1);
  const intent = { key: 'k', attempt: 1, deadlineAt: 9 };
  await run.commit([['s', ['frame', 'nodes', 'pay'], { status: 'started', intent }]]);
  const { store, blobs } = run.history;
  const inDoubt = async (seq: number, isDead: boolean | undefined): Promise<boolean> => {
    const place = { tenant: 't', store, blobs, isWorkerDead: () => isDead, now: () => 0 };
    return (await showCheckpoint(place, await run.row(), seq)).isInDoubt;
  };
  expect([await inDoubt(2, undefined), await inDoubt(2, false), await inDoubt(2, true)]).toEqual([false, false, true]);
  await store.releaseClaim(run.claim);
  expect([await inDoubt(2, undefined), await inDoubt(1, undefined)]).toEqual([true, false]);
});

const tree: RunTree = {
  status: 'paused',
  graphHash: 'g1',
  waits: { w1: { kind: 'question', node: ['ask'], name: 'question', prompt: 'Really?' } },
  failures: { 'a/b': 'boom' },
  frame: {
    input: { topic: 'x' },
    channels: { scratch: { n: 1 }, artifacts: {}, diagnostics: {} },
    nodes: {
      draft: { status: 'completed', visits: 2, attempt: 3, output: 'text', fired: ['e'] },
      ask: { status: 'waiting', view: 3 },
      quiet: { status: 'completed', fired: [] },
      pay: { status: 'started', intent: { key: 'k', attempt: 1, deadlineAt: 9 } },
      map: {
        status: 'completed',
        outputOfSteps: true,
        steps: { a: { kind: 'step', status: 'done', output: 1 }, b: { kind: 'step', status: 'done', output: 2 } },
        children: { first: { input: 1, channels: {}, nodes: { inner: { status: 'failed', error: 'oops' } } } },
      },
    },
  },
};

test('C9 the view tells state, nodes, waits and failures', () => {
  expect(viewState(tree)).toEqual({
    status: 'paused',
    graphHash: 'g1',
    state: {
      input: { topic: 'x' },
      scratch: { n: 1 },
      artifacts: {},
      diagnostics: {},
      outputs: { draft: 'text', map: [1, 2] },
      failures: {},
    },
    nodes: [
      { path: ['draft'], status: 'completed', visits: 2, attempt: 3, hasOpenEffect: false },
      { path: ['ask'], status: 'waiting', visits: 1, attempt: 1, hasOpenEffect: false },
      { path: ['quiet'], status: 'completed', visits: 1, attempt: 1, hasOpenEffect: false },
      { path: ['pay'], status: 'started', visits: 1, attempt: 1, hasOpenEffect: true },
      { path: ['map'], status: 'completed', visits: 1, attempt: 1, hasOpenEffect: false, steps: { done: 2 } },
      { path: ['map', 'first', 'inner'], status: 'failed', visits: 1, attempt: 1, hasOpenEffect: false, error: 'oops' },
    ],
    waits: [{ waitId: 'w1', kind: 'question', node: ['ask'], name: 'question', prompt: 'Really?' }],
    failures: { 'a/b': 'boom' },
  });
});

test('H1 a diff shows changed values, nodes and waits with old and new', async () => {
  const history = new ModelHistory();
  const scratch = { keep: [1, { deep: 'a' }], gone: 1, when: new Date(1), text: 'a' };
  const before = {
    ...emptyTree(),
    frame: { ...(emptyTree()['frame'] as object), channels: { scratch, artifacts: {}, diagnostics: {} } },
  };
  const run = await history.start('run', before);
  const at = (...path: string[]): string[] => ['frame', 'channels', 'scratch', ...path];
  await run.commit([
    ['s', at('keep'), [1, { deep: 'b' }, 3]],
    ['d', at('gone')],
    ['s', at('new'), { a: 1 }],
    ['s', at('when'), new Date(2)],
    ['s', ['frame', 'nodes', 'n'], { status: 'waiting' }],
    ['s', ['waits', 'w'], { kind: 'question', node: ['n'], name: 'q' }],
    ['s', ['status'], 'paused'],
  ]);
  const row = await run.row();
  const difference = await diffCheckpoints(history.store, history.blobs, { run: row, seq: 0 }, { run: row, seq: 1 });
  expect(difference).toEqual({
    status: { before: 'running', after: 'paused' },
    values: [
      { path: ['scratch', 'keep', '1', 'deep'], before: 'a', after: 'b' },
      { path: ['scratch', 'keep', '2'], after: 3 },
      { path: ['scratch', 'gone'], before: 1 },
      { path: ['scratch', 'when'], before: new Date(1), after: new Date(2) },
      { path: ['scratch', 'new'], after: { a: 1 } },
    ],
    nodes: [{ path: ['n'], after: { path: ['n'], status: 'waiting', visits: 1, attempt: 1, hasOpenEffect: false } }],
    waits: { closed: [], opened: ['w'] },
  });
  const same = await diffCheckpoints(history.store, history.blobs, { run: row, seq: 1 }, { run: row, seq: 1 });
  expect(same).toEqual({ values: [], nodes: [], waits: { closed: [], opened: [] } });
});

test('N0 a log is read as it is taken', async () => {
  const run = await writeRun(450);
  const { store } = run.history;
  let rows = 0;
  const counting = new Proxy(store, {
    get: (target, name) =>
      name === 'readCheckpoints'
        ? async (...args: Parameters<Store['readCheckpoints']>) => {
            const found = await target.readCheckpoints(...args);
            rows += found.length;
            return found;
          }
        : (Reflect.get(target, name) as unknown),
  });
  const walk = walkLog(counting, await run.row(), { pageSize: 100 });
  expect((await walk.next()).value).toMatchObject({ seq: 450 });
  expect(rows).toBeGreaterThanOrEqual(100);
  expect(rows).toBeLessThan(200);
  const rest = await takeSome(walk, 1_000);
  expect(rest).toMatchObject({ hasMore: false });
  expect(rest.taken.map(({ seq }) => seq)).toEqual(Array.from({ length: 450 }, (_, index) => 449 - index));
});
