/** Stores whose rows are damaged, that are full, locked, closed to writing, or gone: seen from the engine. */
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createFileBlobs } from '../../src/blobs/file-blobs.ts';
import { createEngine } from '../../src/engine/engine.ts';
import type { Engine } from '../../src/engine/api.ts';
import { CairnError } from '../../src/errors.ts';
import { sealBody } from '../../src/history/stored/checkpoint.ts';
import type { Store } from '../../src/ports/store.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { createBench, edges, graphOf, node, resumeToRest, runToRest, testIds } from '../engine-kit.ts';

let folder: string;
let path: string;
const opened: Store[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-damage-'));
  path = join(folder, 'store.db');
});
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close().catch(() => {});
  rmSync(folder, { recursive: true, force: true });
});

const calls: string[] = [];
function note(name: string): string {
  calls.push(name);
  return name;
}

const graph = graphOf(
  'g',
  [
    node('a', 'write', () => note('a')),
    node('b', 'write', () => note('b')),
    node('ask', 'human', (ctx) => ctx.ask({ prompt: '?' })),
    node('c', 'pure', (ctx) => `${String(ctx.state.outputs['a'])}${String(ctx.state.outputs['b'])}c`),
  ],
  edges('> a', 'a > b', 'b > ask', 'ask > c', 'c >'),
);

function open(options: { readonly busyTimeoutMs?: number; readonly readOnly?: boolean } = {}): {
  readonly engine: Engine;
  readonly store: Store;
} {
  const store = openSqliteStore({ path, ...options });
  opened.push(store);
  const bench = createBench({ store, blobs: createFileBlobs(join(folder, 'blobs')), findGraph: () => graph });
  return { engine: createEngine({ ...bench.options, ids: testIds('worker-1', ['worker-1']) }), store };
}

/** A run paused at its question; returns its head. */
async function pausedRun(): Promise<number> {
  const { engine, store } = open();
  const paused = await runToRest(engine, graph, {}, 'r');
  expect(paused.status).toBe('paused');
  await store.close();
  return paused.seq;
}

function damage(statement: string): void {
  const db = new DatabaseSync(path);
  db.exec(`delete from snapshots; ${statement}`);
  db.close();
}

test.each<[string, string, string]>([
  ['truncated', 'update checkpoints set body = substr(body, 1, length(body) / 2) where seq = 3', 'CHECKPOINT_CORRUPT'],
  [
    'flipped by a bit',
    "update checkpoints set body = cast(replace(cast(body as text), 'settle', 'settld') as blob) where seq = 3",
    'CHECKPOINT_CORRUPT',
  ],
  ['emptied', "update checkpoints set body = x'' where seq = 3", 'CHECKPOINT_CORRUPT'],
  ['lost', 'delete from checkpoints where seq = 3', 'CHECKPOINT_CORRUPT'],
  ['given to another', 'update checkpoints set checksum = zeroblob(32) where seq = 3', 'CHECKPOINT_CORRUPT'],
])(
  'C6 a run with a checkpoint that was %s is listed, refused by name, and goes on as a fork of the intact one',
  async (_, statement, code) => {
    await pausedRun();
    damage(statement);
    const { engine, store } = open();
    const row = await store.readRun({ tenant: 'default', runId: 'r' });
    expect((await store.listRuns({ tenant: 'default' })).rows.map(({ runId }) => runId)).toEqual(['r']);
    expect((await store.listWaits({ tenant: 'default' })).rows).toHaveLength(1);
    const intact = `${row?.key ?? ''}.2`;
    const expected = {
      code,
      data: { checkpoint: `${row?.key ?? ''}.3`, intact },
      hint: expect.stringContaining(intact),
    };
    await expect(engine.resume('r')).rejects.toMatchObject(expected);
    await expect(engine.inspect('r')).rejects.toMatchObject(expected);
    await expect(engine.fork({ runId: 'r', seq: row?.head ?? 0 })).rejects.toMatchObject(expected);
    expect((await store.readRun({ tenant: 'default', runId: 'r' }))?.claim).toBeUndefined();
    const fork = await engine.fork({ runId: 'r', seq: 2 });
    // What the original did behind the damage is not known: its effects are asked about, not repeated in silence.
    const before = [...calls];
    const paused = await resumeToRest(engine, fork.runId, graph);
    expect(paused.waits.map((wait) => [wait.kind, ...wait.node])).toEqual([['doubt', 'b']]);
    await engine.answer(fork.runId, paused.waits[0]?.waitId ?? '', { decision: 'happened', output: 'b' });
    const asked = await resumeToRest(engine, fork.runId, graph);
    await engine.answer(fork.runId, asked.waits[0]?.waitId ?? '', 'yes');
    expect((await resumeToRest(engine, fork.runId, graph)).state.outputs['c']).toBe('abc');
    expect(calls).toEqual(before);
  },
);

test('C7 a checkpoint of a newer version is refused by name, with both versions, and the run is still listed', async () => {
  await pausedRun();
  const db = new DatabaseSync(path);
  const row = (seq: number): { at: number; body: Uint8Array; checksum: Uint8Array } =>
    db.prepare('select at, body, checksum from checkpoints where seq = ?').get(seq) as never;
  const key = (db.prepare('select key from runs').get() as { key: string }).key;
  const { at, body } = row(3);
  const newer = new TextEncoder().encode(new TextDecoder().decode(body).replace('{"v":1,', '{"v":9,'));
  const checksum = sealBody({ runKey: key, seq: 3 }, row(2).checksum, at, newer);
  db.prepare('update checkpoints set body = ?, checksum = ? where seq = 3').run(newer, checksum);
  db.exec('delete from snapshots');
  db.close();
  const { engine, store } = open();
  await expect(engine.resume('r')).rejects.toMatchObject({
    code: 'CHECKPOINT_VERSION_UNKNOWN',
    data: { checkpoint: `${key}.3`, version: 9, supported: 1 },
  });
  expect((await store.listRuns({ tenant: 'default' })).rows).toHaveLength(1);
});

test('S3 on a full store the run stops with STORE_FULL, nothing committed is lost, and it goes on when there is room', async () => {
  const calls: string[] = [];
  const heavy = graphOf(
    'heavy',
    Array.from({ length: 40 }, (_, index) =>
      node(`n${index}`, 'write', () => {
        calls.push(`n${index}`);
        return `${index}`.repeat(20_000);
      }),
    ),
    edges('> n0', ...Array.from({ length: 39 }, (_, index) => `n${index} > n${index + 1}`), 'n39 >'),
  );
  const { engine, store } = open();
  const handle = await engine.start(heavy, {}, { runId: 'full', detach: true });
  await store.close();
  const bounded = boundedStore(path);
  const full = createEngine({
    ...createBench().options,
    store: bounded,
    blobs: createFileBlobs(join(folder, 'blobs')),
    ids: testIds('worker-1', ['worker-1']),
  });
  const stopped = await full.resume(handle.runId, { graph: heavy });
  await expect(stopped.result()).rejects.toMatchObject({
    code: 'STORE_FULL',
    retry: 'later',
    hint: 'Free some disk space, then resume run full: what was committed is kept.',
  });
  const { head = 0 } = (await bounded.readRun({ tenant: 'default', runId: 'full' })) ?? {};
  expect(head).toBeGreaterThan(5);
  bounded.free();
  const finished = await resumeToRest(full, 'full', heavy);
  const done =
    finished.status === 'paused'
      ? await answerDoubts(
          full,
          'full',
          finished.waits.map(({ waitId }) => waitId),
        )
      : finished;
  expect(done.status).toBe('completed');
  expect(new Set(calls).size).toBe(40);
  expect(calls.length).toBe(40);

  async function answerDoubts(engine: Engine, runId: string, waits: readonly string[]): Promise<{ status: string }> {
    for (const waitId of waits) await engine.answer(runId, waitId, { decision: 'happened', output: 'it did' });
    return resumeToRest(engine, runId, heavy);
  }
});

test('P6 a run that a full store did not record is started again, and not resumed', async () => {
  const store = openSqliteStore({ path });
  opened.push(store);
  const full: Store = {
    ...store,
    admitRun: () => Promise.reject(new CairnError('STORE_FULL', { store: store.name })),
  };
  const { engine } = createBench({ store: full });
  await expect(engine.start(graph, {})).rejects.toMatchObject({
    code: 'STORE_FULL',
    hint: 'Free some disk space, then do the same again.',
  });
});

/** The store at a path, which has no room after a few hundred kilobytes until it is freed. */
function boundedStore(file: string): Store & { free(): void } {
  const store = openSqliteStore({ path: file });
  opened.push(store);
  let room = 300_000;
  return {
    ...store,
    free: () => (room = Infinity),
    commit: (commit) => {
      room -= commit.checkpoint.body.byteLength;
      return room < 0 ? Promise.reject(new CairnError('STORE_FULL', { store: store.name })) : store.commit(commit);
    },
  };
}

test('O3 a store that another process keeps locked is STORE_BUSY, and the same command works when it is free', async () => {
  await pausedRun();
  const { engine } = open({ busyTimeoutMs: 20 });
  const other = new DatabaseSync(path);
  other.exec('begin immediate');
  await expect(engine.start(graph, {})).rejects.toMatchObject({ code: 'STORE_BUSY', retry: 'later' });
  await expect(engine.resume('r')).rejects.toMatchObject({ code: 'STORE_BUSY' });
  expect((await engine.inspect('r')).status).toBe('paused');
  other.exec('rollback');
  other.close();
  expect((await resumeToRest(engine, 'r', graph)).status).toBe('paused');
});

test('P6 a store opened to be read answers reads, and refuses writes as STORE_READ_ONLY', async () => {
  await pausedRun();
  chmodSync(path, 0o400);
  const { engine } = open({ readOnly: true });
  expect((await engine.inspect('r')).waits).toHaveLength(1);
  await expect(engine.start(graph, {})).rejects.toMatchObject({ code: 'STORE_READ_ONLY' });
  await expect(engine.resume('r')).rejects.toMatchObject({ code: 'STORE_READ_ONLY' });
  await expect(engine.answer('r', (await engine.inspect('r')).waits[0]?.waitId ?? '', 1)).rejects.toMatchObject({
    code: 'STORE_READ_ONLY',
  });
});

test('P6 a store that was closed, or whose blobs are gone, says so', async () => {
  await pausedRun();
  const { engine, store } = open();
  await store.close();
  await expect(engine.inspect('r')).rejects.toMatchObject({ code: 'STORE_CLOSED' });
  await expect(engine.start(graph, {})).rejects.toMatchObject({ code: 'STORE_CLOSED' });
  rmSync(join(folder, 'blobs'), { recursive: true });
  const again = open();
  const other = graphOf('g', [node('new', 'pure', () => 1)], edges('> new', 'new >'));
  await expect(again.engine.resume('r', { graph: other })).rejects.toMatchObject({ code: 'BLOB_NOT_FOUND' });
  expect((await resumeToRest(again.engine, 'r', graph)).status).toBe('paused');
});

test('O3 of two processes that resume one run, one is told who holds it', async () => {
  await pausedRun();
  const first = open();
  const held = await first.store.claimRun({ tenant: 'default', runId: 'r', workerId: 'elsewhere', leaseMs: 60_000 });
  expect(held.claim).toBeDefined();
  const { engine } = open();
  await expect(engine.resume('r')).rejects.toMatchObject({ code: 'CLAIM_TAKEN', data: { owner: 'elsewhere' } });
  if (held.claim !== undefined) await first.store.releaseClaim(held.claim);
  expect((await resumeToRest(engine, 'r', graph)).status).toBe('paused');
  expect(existsSync(path)).toBe(true);
});
