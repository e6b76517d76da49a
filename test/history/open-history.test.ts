/** The history of runs as programs are offered it, over a real store: no cast, no exact ids where a name will do. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import {
  AgentGraph,
  END,
  humanNode,
  openHistory,
  outcome,
  START,
  workflow,
  type History,
  type ListedRun,
  type LogEntry,
} from '../../src/index.ts';
import { collect } from '../support/small-graphs.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';

const large = 'x'.repeat(300_000);

function makeGraph() {
  return new AgentGraph(
    { input: z.object({ amount: z.number() }), scratch: z.object({ note: z.string() }) },
    { id: 'refund' },
  )
    .addNode('check', ({ state }) => outcome({ output: large, scratch: { note: `${state.input.amount} is fine` } }))
    .addNode('approve', humanNode({ prompt: 'Pay it back?', choices: ['yes', 'no'] }))
    .addNode('pay', ({ state }) => `paid ${state.input.amount}`, { effectClass: 'external' })
    .addEdge(START, 'check')
    .addEdge('check', 'approve')
    .addEdge('approve', 'pay')
    .addEdge('pay', END);
}

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-history-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('H1 a program lists, logs, shows, compares and names what runs left, by the names the command line knows', async () => {
  const store = openSqliteStore({ path: join(folder, 'runs.db') });
  const app = makeGraph().compile({ store });
  await app.invoke({ amount: 40 }, { runId: 'order-7' });
  const { history } = app;

  expect((await collect(history.list({ status: ['paused'] }))).map(({ runId }) => runId)).toEqual(['order-7']);
  expect(await collect(history.list({ status: ['failed'] }))).toEqual([]);
  const [wait] = await collect(history.waits({ run: 'order-7' }));
  expect(wait?.prompt).toBe('Pay it back?');

  const tag = await history.tag('order-7', 'asked');
  await app.answer('order-7@asked', 'approve', 'yes', { by: 'ada' });
  const result = await app.resume('order-7');
  expect(result.state.outputs.pay).toBe('paid 40');

  const entries = await collect(history.log('order-7'));
  expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, index) => entries.length - 1 - index));
  expect(entries.find(({ seq }) => seq === tag.seq)?.tags).toEqual(['asked']);
  const [newest] = entries;
  expect((await history.show(newest!)).view.status).toBe('completed');
  expect(await history.locate(newest!.checkpointId)).toEqual({
    runId: 'order-7',
    seq: newest!.seq,
    checkpointId: newest!.checkpointId,
    isHead: true,
  });
  expect((await history.state('order-7@asked')).outputs.pay).toBeUndefined();
  expect(await history.state('order-7', 'scratch.note')).toBe('40 is fine');
  await expect(history.state('order-7', 'scratch.nose')).rejects.toThrow(/order-7 has no scratch.nose/);
  const difference = await history.diff('order-7@asked', 'order-7');
  expect(difference.status).toEqual({ before: 'paused', after: 'completed' });
  expect(difference.values.map(({ path }) => path.join('.'))).toContain('outputs.pay');

  // The key that a checkpoint's id begins with names the run on every method.
  const key = newest!.checkpointId.split('.')[0]!;
  expect((await app.inspect(key)).status).toBe('completed');
  expect((await app.inspect('order-7@asked')).waits.map(({ prompt }) => prompt)).toEqual(['Pay it back?']);
  await expect(app.inspect('order')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  await expect(app.cancel('order-7@asked')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  await expect(app.cancel(key)).rejects.toMatchObject({ code: 'RUN_FINISHED' });
  expect((await openHistory(store, { byPrefix: true }).locate('ord')).runId).toBe('order-7');
  await app.close();
  await store.close();
});

test('H1 a diff of a workflow, and of its fork, lists what a step gave once, for programs as for people', async () => {
  const app = workflow('order')
    .input(z.object({ amount: z.number() }))
    .step('check', () => 'fine')
    .step('pay', ({ state }) => `paid ${state.input.amount}`)
    .returns(({ state }) => state.artifacts.pay)
    .compile();
  await app.invoke({ amount: 40 }, { runId: 'r' });
  const fork = await app.fork({ runId: 'r', seq: 0 }, { set: [{ path: ['input', 'amount'], value: 50 }] });
  await app.resume(fork.runId);
  const pathsOf = async (a: string, b: string): Promise<readonly string[]> =>
    (await app.history.diff(a, b)).values.map(({ path }) => path.join('.'));
  expect(await pathsOf('r@0', 'r')).toEqual(['artifacts.check', 'artifacts.pay', 'outputs.returns']);
  expect(await pathsOf('r', fork.runId)).toEqual(['input.amount', 'artifacts.pay', 'outputs.returns']);
  const recorded = await Promise.all(
    (await collect(app.history.log('r'))).map(async (entry) => (await app.history.show(entry)).recorded.values),
  );
  const paths = recorded.flat().map(({ path }) => path.join('.'));
  expect(paths.filter((path) => path.endsWith('.pay'))).toEqual(['artifacts.pay']);
  await app.close();
});

test('C9 a checkpoint is one value: its state, the results of its nodes, what was passed by, and where it goes on', async () => {
  const app = new AgentGraph({ input: z.object({ amount: z.number() }) }, { id: 'refund' })
    .addNode('check', () => ({ isFine: true }))
    .addNode('approve', humanNode({ prompt: 'Pay it back?', choices: ['yes', 'no'] }))
    .addNode('pay', ({ state }) => `paid ${state.input.amount}`, { effectClass: 'external' })
    .addNode('refuse', () => 0)
    .addEdge(START, 'check')
    .addEdge('check', 'approve')
    .addConditionalEdge('approve', ({ state }) => (state.outputs.approve === 'yes' ? 'pay' : 'refuse'), [
      'pay',
      'refuse',
    ])
    .addEdge('pay', END)
    .addEdge('refuse', END)
    .compile();
  const seen: string[] = [];
  for await (const event of app.stream({ amount: 40 }, { runId: 'r' }))
    if (event.type === 'checkpoint') seen.push((await app.checkpoint(event.checkpointId)).nodeId);
  expect([seen[0], seen.at(-1)]).toEqual([START, 'approve']);

  const paused = await app.checkpoint('r');
  expect(paused).toMatchObject({
    graphId: 'refund',
    runId: 'r',
    nodeId: 'approve',
    visitedNodes: ['check'],
    skippedNodes: [],
    pendingEdges: ['check->approve'],
  });
  expect(paused.id).toBe((await app.history.locate('r')).checkpointId);
  await app.resume('r', { answers: { approve: 'yes' } });
  const { nodeResults, visitedNodes, skippedNodes, pendingEdges, state } = await app.checkpoint('r');
  expectTypeOf(nodeResults.check?.output).toEqualTypeOf<{ isFine: boolean } | undefined>();
  expectTypeOf(visitedNodes).toEqualTypeOf<readonly ('check' | 'approve' | 'pay' | 'refuse')[]>();
  expect(nodeResults).toEqual({
    check: { effectClass: 'pure', output: { isFine: true }, durationMs: expect.any(Number) as number },
    approve: { effectClass: 'human', output: 'yes', durationMs: expect.any(Number) as number },
    pay: { effectClass: 'external', output: 'paid 40', durationMs: expect.any(Number) as number },
  });
  expect([visitedNodes, skippedNodes, pendingEdges]).toEqual([['check', 'approve', 'pay'], ['refuse'], []]);
  expect(state.outputs.pay).toBe('paid 40');
  expect(paused.progress).toMatchObject({ completed: ['check'], skipped: [], wave: 1, waveCount: 3, percent: 25 });
});

test('D17 D22 a program cleans up by settings, of all graphs or of each; a dry run changes nothing', async () => {
  const store = openSqliteStore({ path: join(folder, 'runs.db') });
  const app = makeGraph().compile({ store });
  for (const runId of ['a', 'b']) {
    await app.invoke({ amount: 1 }, { runId });
    await app.resume(runId, { answers: { approve: 'no' } });
  }
  const history = openHistory(store);
  const left = async () => (await collect(history.checkpoints())).length;
  const all = await left();
  const dry = await history.cleanUp({ max_per_workflow: 1 }, { dryRun: true });
  expect(dry.pruned.map(({ runId }) => runId).sort()).toEqual(['a', 'b']);
  expect(await left()).toBe(all);
  const { graphId } = await history.find('a');
  expect((await history.cleanUp({ max_per_workflow: 1 }, { graphId: `${graphId}-not` })).pruned).toEqual([]);
  expect((await history.cleanUp(() => Promise.resolve(undefined))).pruned).toEqual([]);
  expect(await left()).toBe(all);
  const asked: string[] = [];
  const { pruned, removed } = await history.cleanUp((run) => {
    asked.push(run.graphId);
    return Promise.resolve({ max_per_workflow: 1 });
  });
  expect([asked, pruned.length, removed]).toEqual([[graphId], 2, []]);
  expect(await left()).toBeLessThan(all);
  await app.close();
  await store.close();
});

test('C8 H4 a program prunes, verifies, moves and removes runs', async () => {
  const store = openSqliteStore({ path: join(folder, 'runs.db') });
  const other = openSqliteStore({ path: join(folder, 'other/runs.db') });
  const app = makeGraph().compile({ store });
  await app.invoke({ amount: 1 }, { runId: 'a' });
  await app.resume('a', { answers: { approve: 'no' } });
  const history = openHistory(store);
  const before = await history.state('a');

  await history.tag('a@2', 'kept');
  const { pruned } = await history.prune('a');
  expect(pruned[0]!.removed).toBeGreaterThan(0);
  expect((await collect(history.log('a'))).flatMap(({ tags }) => tags)).toEqual(['kept']);
  expect(await history.untag('a', 'kept')).toMatchObject({ runId: 'a', name: 'kept', seq: 2 });
  expect(await history.verify()).toMatchObject({ isValid: true, damage: [] });
  expect((await history.examine()).map(({ verdict }) => verdict)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok', 'ok']);

  const moved = await openHistory(other).import(history.export('a'), { runId: 'copy' });
  expect(moved.runId).toBe('copy');
  expect(await openHistory(other).state('copy')).toEqual(before);
  expect(await openHistory(other).setIdentity('there')).toBe('there');
  expect(await openHistory(other).identity()).toBe('there');

  const fork = await app.fork('a', { runId: 'b' });
  await expect(history.remove('a')).rejects.toMatchObject({ code: 'HISTORY_HAS_FORKS' });
  expect((await collect(history.list({ forksOf: 'a' }))).map(({ runId }) => runId)).toEqual(['b']);
  await expect(history.remove('b@head')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  expect(await history.removeCheckpoint(fork)).toMatchObject({ runId: 'b', removed: 'run' });
  expect(await history.remove('a', { dryRun: true })).toEqual({ removed: ['a'], blobs: 0 });
  expect((await history.show('a')).view.status).toBe('completed');
  expect((await history.remove({ runId: 'a' })).removed).toEqual(['a']);
  await expect(history.show('a')).rejects.toMatchObject({ code: 'RUN_EXPIRED' });
  await app.close();
  await Promise.all([store.close(), other.close()]);
});

test('H4 an export that is stopped half way gives the run back', async () => {
  const store = openSqliteStore({ path: join(folder, 'runs.db') });
  const app = makeGraph().compile({ store });
  await app.invoke({ amount: 1 }, { runId: 'a' });
  for await (const _ of app.history.export('a', { move: true })) break;
  expect((await store.readRun({ tenant: 'default', runId: 'a' }))?.claim).toBeUndefined();
  expect((await app.resume('a', { answers: { approve: 'yes' } })).status).toBe('completed');
  await app.close();
  await store.close();
});

test('H1 what a history gives has types: the state that of the graph', () => {
  const app = makeGraph().compile();
  const readState = () => app.history.state('any');
  type State = Awaited<ReturnType<typeof readState>>;
  expectTypeOf<State['input']>().toEqualTypeOf<{ amount: number }>();
  expectTypeOf<State['scratch']['note']>().toEqualTypeOf<string | undefined>();
  expectTypeOf<State['outputs']['pay']>().toEqualTypeOf<string | undefined>();
  expectTypeOf(openHistory).returns.toEqualTypeOf<History>();
  expectTypeOf<ReturnType<History['list']>>().toEqualTypeOf<AsyncIterable<ListedRun>>();
  expectTypeOf<ReturnType<History['log']>>().toEqualTypeOf<AsyncGenerator<LogEntry, void, undefined>>();
  // @ts-expect-error no such status
  expect(() => app.history.list({ status: ['paussed'] })).toThrow(/it is a list of running/);
  // @ts-expect-error no such option
  expect(() => openHistory(app.engine, {})).toThrow(TypeError);
});

test('H1 a list of runs refuses a status that is no list, and one that there is not, at once', async () => {
  const store = openSqliteStore({ path: join(folder, 'runs.db') });
  const history = openHistory(store);
  for (const status of ['failed', ['faild'], [null], 5])
    expect(() => history.list({ status: status as never })).toThrow(/it is a list of running/);
  expect(await collect(history.list({ status: ['failed', 'held'] }))).toEqual([]);
  await store.close();
});
