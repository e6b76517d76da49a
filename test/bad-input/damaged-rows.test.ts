/** Rows of questions and answers that were changed where they are stored: told by id, shown to nobody, taken by no run (C6). */
import { mkdtempSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import type { Engine } from '../../src/engine/api.ts';
import { listWaits } from '../../src/operations/waits/list-waits.ts';
import { listRuns } from '../../src/operations/runs/list-runs.ts';
import { verifyRuns } from '../../src/operations/store/verify-runs.ts';
import type { HistoryContext } from '../../src/operations/contract/operation.ts';
import type { Store } from '../../src/ports/store.ts';
import { CairnError } from '../../src/errors.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { createBench, edges, graphOf, node, runToRest, testIds } from '../engine-kit.ts';

let folder: string;
let path: string;
const opened: Store[] = [];
const blobs = createMemoryBlobs();
const paid: string[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-rows-'));
  path = join(folder, 'store.db');
  paid.length = 0;
});
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const graph = graphOf(
  'g',
  [
    node('ask', 'human', (ctx) => ctx.ask({ prompt: 'Pay 1000 to Alice?', choices: ['yes', 'no'] })),
    node('pay', 'write', (ctx) => paid.push(String(ctx.state.outputs['ask']))),
  ],
  edges('> ask', 'ask > pay', 'pay >'),
);

function open(): { readonly engine: Engine; readonly store: Store; readonly context: HistoryContext } {
  const store = openSqliteStore({ path });
  opened.push(store);
  const { engine } = createBench({ store, blobs, findGraph: () => graph, ids: testIds('one', ['one']) });
  return { engine, store, context: { store, blobs, tenant: 'default', isWorkerDead: () => undefined, now: () => 0 } };
}

/** Runs `r` and `other`, paused at their questions; returns the id of the first's. */
async function pause(): Promise<string> {
  const { engine } = open();
  const { waits } = await runToRest(engine, graph, {}, 'r');
  await runToRest(engine, graph, {}, 'other');
  return waits[0]?.waitId ?? '';
}

function tamper(sql: string): void {
  const db = new DatabaseSync(path);
  expect(db.prepare(sql).run().changes).toBe(1);
  db.close();
}

async function faultsOf(context: HistoryContext): Promise<readonly string[]> {
  const { reports, isValid } = await verifyRuns.run(context, {});
  expect(isValid).toBe(false);
  return reports.flatMap(({ runId, faults }) => faults.map(({ code, message }) => `${runId} ${code} ${message}`));
}

const changed = "cast(replace(cast(body as text), '1000', '9000') as blob)";

test.each([
  ['its text', `body = ${changed}`],
  ['a byte that makes it unreadable', "body = cast(replace(cast(body as text), '{', '[') as blob)"],
  ['its due time', 'due = 5'],
  ['its kind', "kind = 'doubt'"],
])(
  'C6 a question that was changed in %s is shown as damaged, by id, and takes no answer; the others are as they were',
  async (_, change) => {
    const waitId = await pause();
    tamper(`update waits set ${change} where run_id = 'r'`);
    const { engine, context } = open();
    const [shown] = await engine.waits('r');
    expect(shown).toMatchObject({ runId: 'r', waitId, isDamaged: true, node: [], name: '' });
    expect(shown).not.toHaveProperty('prompt');
    expect(shown).not.toHaveProperty('choices');
    const { waits } = await listWaits.run(context, {});
    expect(waits.map((wait) => [wait.runId, wait.isDamaged, wait.prompt])).toEqual(
      expect.arrayContaining([
        ['r', true, undefined],
        ['other', undefined, 'Pay 1000 to Alice?'],
      ]),
    );
    await expect(engine.answer('r', waitId, 'yes')).rejects.toMatchObject({
      code: 'STORE_CORRUPT',
      data: { reason: expect.stringContaining(waitId) },
    });
    expect(await faultsOf(context)).toEqual([expect.stringMatching(new RegExp(`^r STORE_CORRUPT .*${waitId}`))]);
    expect(paid).toEqual([]);
  },
);

test('C6 a question whose row is gone, and a row of none, are faults of their runs', async () => {
  const waitId = await pause();
  tamper("delete from waits where run_id = 'r'");
  tamper("update waits set wait_id = 'w_other' where run_id = 'other'");
  const { context } = open();
  expect([...(await faultsOf(context))].sort()).toEqual([
    expect.stringMatching(/^other STORE_CORRUPT .*no open wait w_other/),
    expect.stringMatching(/^other STORE_CORRUPT .*missing/),
    expect.stringMatching(new RegExp(`^r STORE_CORRUPT .*${waitId} is missing`)),
  ]);
});

test.each([
  ['its value', 'body = cast(replace(cast(body as text), \'"no"\', \'"yes"\') as blob)'],
  ['its time', 'at = at + 1'],
  ['what it answers', "name = 'w_other'"],
])('C6 an answer that was changed in %s is taken by no run: its resume is STORE_CORRUPT', async (_, change) => {
  const waitId = await pause();
  await open().engine.answer('r', waitId, 'no');
  tamper(`update messages set ${change} where run_id = 'r' and kind = 'answer'`);
  const { engine, store, context } = open();
  const resumed = engine.resume('r').then((handle) => handle.result());
  await expect(resumed).rejects.toMatchObject({
    code: 'STORE_CORRUPT',
    data: { reason: expect.stringContaining('answer') },
  });
  expect((await store.readRun({ tenant: 'default', runId: 'r' }))?.status).toBe('paused');
  expect(await faultsOf(context)).toEqual([expect.stringMatching(/^r STORE_CORRUPT .*answer/)]);
  expect(paid).toEqual([]);
});

test.each([
  ['status', 'status = 2', 'its row says completed, its history paused'],
  ['graph', "graph_hash = 'another'", 'another graph'],
  ['key', "key = '0123456789abcdef'", 'the row of run r was changed'],
  [
    'key, from before rows had check values,',
    "key = '0123456789abcdef', check_value = null",
    'its row has the key 0123',
  ],
])('C6 a run whose row has another %s than its history is a fault', async (_, change, fault) => {
  await pause();
  tamper(`update runs set ${change} where run_id = 'r'`);
  const faults = await faultsOf(open().context);
  expect(faults).toContainEqual(expect.stringContaining(fault));
  expect(faults.every((one) => one.startsWith('r '))).toBe(true);
});

test.each([
  ['what its keys derive from', "meta = cast(replace(cast(meta as text), 'keySeed', 'keySeee') as blob)"],
  ['its queue', "queue = 'other'"],
  ['its status', 'status = 77'],
])(
  'C6 P6 a run whose row was changed in %s is refused by name, and keeps no worker from the others',
  async (_, change) => {
    const { engine: first } = open();
    for (const runId of ['r', 'other']) await first.start(graph, {}, { runId, detach: true });
    tamper(`update runs set ${change} where run_id = 'r'`);
    const { engine, store, context } = open();
    const refused = { code: 'STORE_CORRUPT', data: { reason: 'the row of run r was changed' } };
    await expect(engine.resume('r')).rejects.toMatchObject(refused);
    await expect(engine.inspect('r')).rejects.toMatchObject(refused);
    await expect(engine.fork({ runId: 'r', seq: 0 })).rejects.toMatchObject(refused);
    const taken = await engine.takeUp({ limit: 1 });
    expect(taken.map(({ runId }) => runId)).toEqual(['other']);
    expect((await (await taken[0]?.handle)?.result())?.status).toBe('paused');
    const { damage, isValid } = await verifyRuns.run(context, {});
    expect([damage, isValid]).toEqual([['the row of run r of tenant default was changed'], false]);
    const listed = (await listRuns.run(context, {})).runs.map((run) => `${run.runId} ${run.status}`);
    // What has no status that is known stands in no list; verify tells of it.
    expect(listed).toEqual(change === 'status = 77' ? ['other paused'] : ['other paused', 'r damaged']);
    await expect(store.removeRun({ tenant: 'default', runId: 'r' })).rejects.toMatchObject(refused);
  },
);

test('C6 a run whose row is gone is told as damage of the store, as its checkpoints are there', async () => {
  await pause();
  tamper("delete from runs where run_id = 'r'");
  const { engine, context } = open();
  await expect(engine.resume('r', { graph })).rejects.toMatchObject({
    code: 'RUN_NOT_FOUND',
    hint: expect.stringContaining('cairn verify'),
  });
  const { isValid, damage } = await verifyRuns.run(context, {});
  expect([isValid, damage]).toEqual([false, [expect.stringMatching(/checkpoints are there of run number .* gone/)]]);
});

/** Each column of bytes, and what else one bit of a file can make of it. */
const notBytes = ['waits', 'messages', 'checkpoints', 'snapshots', 'runs'].flatMap((table) =>
  (table === 'runs' ? ['meta'] : ['body', 'checksum']).flatMap((column) =>
    ["cast('no bytes' as text)", '7'].map((value) => [table, column, value] as const),
  ),
);

test.each(notBytes)(
  'C6 P6 a row of %s whose %s is %s is told as damage, whatever reads it',
  async (table, column, value) => {
    const waitId = await pause();
    const before = open();
    await before.engine.answer('r', waitId, 'yes');
    const db = new DatabaseSync(path);
    expect(db.prepare(`update ${table} set ${column} = ${value}`).run().changes).toBeGreaterThan(0);
    db.close();
    const { engine, context } = open();
    const outcomes = await Promise.allSettled([
      verifyRuns.run(context, {}),
      listWaits.run(context, {}),
      engine.answer('r', waitId, 'yes'),
      engine.resume('r', { graph }).then((handle) => handle.result()),
    ]);
    const codes = outcomes.map((outcome) =>
      outcome.status === 'fulfilled' ? '' : CairnError.from(outcome.reason).code,
    );
    expect(codes).not.toContain('INTERNAL');
    expect(outcomes[0]).toMatchObject({ status: 'fulfilled', value: { isValid: false } });
  },
);

test('K4 a fork from the snapshot behind damage goes on with a node that began before it', async () => {
  const names = Array.from({ length: 80 }, (_, index) => `n${index}`);
  const asking = graphOf(
    'long',
    [
      ...names.map((name) => node(name, 'pure', () => name)),
      node('ask', 'human', async (ctx) => [await ctx.ask({ prompt: '?' }), ctx.state.outputs['n79']]),
    ],
    edges('> n0', ...names.slice(1).map((name, index) => `n${index} > ${name}`), 'n79 > ask', 'ask >'),
  );
  const bench = createBench({ findGraph: () => asking });
  await runToRest(bench.engine, asking, {}, 'r');
  const key = { tenant: 'default', runId: 'r' };
  const snapshot = await bench.store.readSnapshot(key, Infinity);
  // Each node has a checkpoint: that of the last is what the question saw, before it was asked and the run paused.
  expect(snapshot?.seq).toBe(82);
  const readCheckpoints: Store['readCheckpoints'] = async (run, range) =>
    (await bench.store.readCheckpoints(run, range)).map((row) =>
      run.runId === 'r' && row.seq === 80 ? { ...row, body: new Uint8Array(20) } : row,
    );
  const { engine } = createBench({
    ...bench.options,
    store: { ...bench.store, readCheckpoints },
    ids: testIds('other'),
  });
  const answer = async (run: string): Promise<void> =>
    void (await engine.answer(run, (await engine.waits(run))[0]?.waitId ?? '', 'yes'));
  await engine.fork({ runId: 'r', seq: 82 }, { runId: 'f' });
  await answer('r');
  const resumed = engine.resume('r', { graph: asking }).then(async (handle) => handle.result());
  const run = await bench.store.readRun(key);
  const at = (seq: number): string => `${run?.key}.${seq}`;
  await expect(resumed).rejects.toMatchObject({
    code: 'CHECKPOINT_CORRUPT',
    data: { checkpoint: at(80), intact: at(79), later: at(82) },
  });
  await answer('f');
  const done = await (await engine.resume('f', { graph: asking })).result();
  expect([done.status, done.state.outputs['ask']]).toEqual(['completed', ['yes', 'n79']]);
});
