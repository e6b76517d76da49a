/**
 * The tests that Dynamiq's design of checkpoints asks for (units, models, nodes, flows, people, nodes with a state), each by its name and in
 * our words, over a file of SQLite and over a folder of journals.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { agent, askPerson, readAgentState } from '../../src/agents/index.ts';
import { flow, type History, mapNode, NodeFailure, openHistory, openStore, type OpenedStore } from '../../src/index.ts';
import { createScriptedModels } from '../../src/models/index.ts';
import { collect } from '../support/small-graphs.ts';

const folders: string[] = [];
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

interface Place {
  readonly store: OpenedStore;
  readonly history: History;
}

function open(kind: string): Place {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-theirs-'));
  folders.push(folder);
  const store = openStore(kind === 'file' ? `file:${join(folder, 'runs')}` : `sqlite:${join(folder, 'runs.db')}`);
  closing.push(() => store.close());
  return { store, history: openHistory(store) };
}

/** Runs of a flow that returns its input, one after the other: `run-0`, `run-1`, … */
async function runs({ store }: Place, count: number): Promise<void> {
  const echo = flow('f', { echo: { run: ({ input }) => input } }).compile({ store });
  for (let index = 0; index < count; index += 1)
    await echo.invoke({ query: 'test', nested: { value: index } }, { runId: `run-${index}` });
}

const idsOf = (found: readonly { readonly runId: string }[]): readonly string[] => found.map(({ runId }) => runId);

describe.each(['sqlite', 'file'])('over %s', (kind) => {
  test('P6 test_save_and_load, test_serialization_roundtrip: a run is read as it was written, by a history that is opened later too', async () => {
    const place = open(kind);
    await runs(place, 1);
    expect(await openHistory(place.store).state('run-0', 'input')).toEqual({ query: 'test', nested: { value: 0 } });
    expect((await place.history.find('run-0')).graphId).toBe('f');
  });

  test('P6 test_load_nonexistent, and the second half of test_delete: what is not there is named, not null', async () => {
    const { history } = open(kind);
    await expect(history.show('absent')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    await expect(history.remove('absent')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });

  test('P6 test_update, test_create_default: a run is active from its start, and completed when it is', async () => {
    const { store, history } = open(kind);
    const { promise: gate, resolve } = Promise.withResolvers<void>();
    const handle = await flow('f', { wait: { run: () => gate } })
      .compile({ store })
      .start({}, { runId: 'r' });
    expect((await history.find('r')).status).toBe('running');
    resolve();
    await handle.result();
    expect((await history.find('r')).status).toBe('completed');
  });

  test('P6 test_delete: a removed run is gone', async () => {
    const place = open(kind);
    await runs(place, 1);
    await place.history.remove('run-0');
    await expect(place.history.show('run-0')).rejects.toMatchObject({ code: 'RUN_EXPIRED' });
  });

  test('P6 test_list_by_flow, test_get_latest: the newest come first, as many as are taken', async () => {
    const place = open(kind);
    await runs(place, 5);
    expect(idsOf(await collect(place.history.list({ graphId: 'f' }), 3))).toEqual(['run-4', 'run-3', 'run-2']);
    expect((await place.history.latest('f'))?.runId).toBe('run-4');
  });

  test('P6 test_list_by_flow_with_status_filter: runs of the named statuses are listed alone', async () => {
    const place = open(kind);
    await runs(place, 1);
    const fails = flow('f', { fail: { run: () => Promise.reject(new NodeFailure('no')) } }).compile({
      store: place.store,
    });
    await fails.invoke({}, { runId: 'bad' });
    expect(idsOf(await collect(place.history.list({ graphId: 'f', status: ['failed'] })))).toEqual(['bad']);
    expect(idsOf(await collect(place.history.list({ graphId: 'f', status: ['completed'] })))).toEqual(['run-0']);
  });

  test('P6 test_cleanup, test_checkpoint_list_and_cleanup: the newest are kept, over all runs of a flow', async () => {
    const place = open(kind);
    await runs(place, 10);
    const perRun = (await collect(place.history.checkpoints({ graphId: 'f' }))).length / 10;
    await place.history.cleanUp({ max_per_workflow: perRun }, { graphId: 'f' });
    // Of the run that ended last all are kept; of each other one its last, with which it can still be read and forked.
    const remaining = idsOf(await collect(place.history.checkpoints({ graphId: 'f' })));
    const others = Array.from({ length: 9 }, (_, index) => `run-${8 - index}`);
    expect(remaining).toEqual([...Array.from({ length: perRun }, () => 'run-9'), ...others]);
  });

  test('P6 D18 test_cleanup with a number of runs: of ten, seven are deleted, and the newest three remain', async () => {
    const place = open(kind);
    await runs(place, 10);
    const { removed } = await place.history.cleanUp({ retention: { runs: 3 } }, { graphId: 'f' });
    expect(removed).toHaveLength(7);
    expect(idsOf(await collect(place.history.list({ graphId: 'f' })))).toEqual(['run-9', 'run-8', 'run-7']);
  });

  test('P6 D18 test_checkpoint_list_and_cleanup with a number of runs: a flow that runs five times keeps three', async () => {
    const { store, history } = open(kind);
    const counting = flow('f', { 'node-1': { run: () => 1 } }).compile({ store, retention: { runs: 3 } });
    for (let index = 0; index < 5; index += 1) await counting.invoke({ run: index }, { runId: `run-${index}` });
    await counting.close();
    expect(idsOf(await collect(history.list({ graphId: 'f' })))).toEqual(['run-4', 'run-3', 'run-2']);
  });

  test('P6 test_mark_node_complete, test_resume_after_failure: what completed is not done again, what failed is', async () => {
    const { store, history } = open(kind);
    const calls: string[] = [];
    const made = flow('f', {
      'node-1': { run: () => calls.push('node-1') },
      'node-2': {
        run: () => {
          if (calls.push('node-2') === 2) throw new NodeFailure('a failure');
          return 'success';
        },
        needs: ['node-1'],
      },
    }).compile({ store });
    const failed = await made.invoke({ query: 'test' }, { runId: 'r' });
    expect([failed.status, failed.nodes['node-1'].status]).toEqual(['failed', 'completed']);
    expect((await history.latest('f', { status: ['failed'] }))?.runId).toBe('r');
    const resumed = await made.resume();
    expect([resumed.status, calls]).toEqual(['completed', ['node-1', 'node-2', 'node-2']]);
  });

  test('P6 test_completed_nodes_skipped: a resume of a completed run calls nothing', async () => {
    const { store } = open(kind);
    const calls: string[] = [];
    const made = flow('f', {
      'node-1': { run: () => calls.push('node-1') },
      'node-2': { run: () => calls.push('node-2'), needs: ['node-1'] },
    }).compile({ store });
    await made.invoke({}, { runId: 'r' });
    expect([(await made.resume('r')).status, calls]).toEqual(['completed', ['node-1', 'node-2']]);
  });

  test('P6 test_partial_completion_resume: a map goes on with the items that are open', async () => {
    const { store } = open(kind);
    const calls: number[] = [];
    let isDown = true;
    const items = [0, 1, 2, 3, 4];
    const each = ({ item }: { readonly item: number }): string => {
      calls.push(item);
      if (item === 2 && isDown) throw new NodeFailure('down');
      return `done-${item}`;
    };
    const made = flow('f', { map: { run: mapNode({ over: () => items, each, concurrency: 1 }) } }).compile({ store });
    expect((await made.invoke({}, { runId: 'r' })).status).toBe('failed');
    isDown = false;
    const { nodes } = await made.resume('r');
    expect([nodes.map.output, calls]).toEqual([items.map((item) => `done-${item}`), [0, 1, 2, 2, 3, 4]]);
  });

  test('P6 test_get_checkpoint_state_empty and _with_history, test_restore_from_checkpoint, test_mark_pending_input, test_hitl_checkpoint_and_resume: a paused agent is read and answered from the store alone', async () => {
    const { store, history } = open(kind);
    const script = [{ calls: [{ tool: 'ask', input: { message: 'Please approve this action' } }] }, 'It was approved.'];
    const models = createScriptedModels(script);
    const compile = () =>
      flow('f', {
        'agent-1': { run: agent({ model: 'm', prompt: 'Review this', tools: { ask: askPerson() } }) },
      }).compile({ store, models });
    expect((await compile().invoke({}, { runId: 'r' })).status).toBe('paused');
    await expect(readAgentState(history, 'r@0', 'agent-1')).rejects.toThrow(/nothing is on record of a node agent-1/);
    const [wait] = await collect(history.waits());
    expect(wait).toMatchObject({ runId: 'r', prompt: 'Please approve this action' });
    const paused = await readAgentState(history, 'r', 'agent-1');
    expect([paused?.loop, paused?.pendingCalls.length, paused?.messages.length]).toEqual([1, 1, 2]);
    // Nothing lives on but the store.
    const result = await compile().resume('r', { answers: { 'agent-1': 'Approved' } });
    expect([result.status, result.nodes['agent-1'].output]).toEqual(['completed', 'It was approved.']);
    expect((await readAgentState(history, 'r', 'agent-1'))?.answer).toBe('It was approved.');
  });

  test('P6 the node with a counter of 3.3: each attempt goes on from the state that the one before it saved', async () => {
    const { store } = open(kind);
    interface Saved {
      readonly counter: number;
      readonly results: readonly string[];
    }
    const seen: Saved[] = [];
    const made = flow('f', {
      counting: {
        run: async (ctx) => {
          const { counter, results } = (ctx.savedState ?? { counter: 0, results: [] }) as Saved;
          const now = { counter: counter + 1, results: [...results, `result ${counter + 1}`] };
          await ctx.save(now);
          seen.push(now);
          if (now.counter < 3) throw new NodeFailure('not yet');
          return now;
        },
      },
    }).compile({ store });
    await made.invoke({}, { runId: 'r' });
    await made.resume('r');
    expect((await made.resume('r')).nodes.counting.output).toEqual({
      counter: 3,
      results: ['result 1', 'result 2', 'result 3'],
    });
    expect(seen.map(({ counter }) => counter)).toEqual([1, 2, 3]);
  });
});
