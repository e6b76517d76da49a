/** What a resume refuses as damaged, doctor and verify find too: seen from the operations, on a real store. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createFileBlobs } from '../../src/blobs/file-blobs.ts';
import { createEngine } from '../../src/engine/engine.ts';
import { CairnError } from '../../src/errors.ts';
import { examineStore } from '../../src/operations/store/examine-store.ts';
import type { Finding } from '../../src/history/verify/examine-runs.ts';
import { verifyRuns } from '../../src/operations/store/verify-runs.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { createBench, edges, graphOf, node, runToRest, testIds, type Bench } from '../engine-kit.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-doctor-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const graph = graphOf(
  'g',
  [node('a', 'write', () => 'x'.repeat(600_000)), node('ask', 'human', (ctx) => ctx.ask({ prompt: '?' }))],
  edges('> a', 'a > ask', 'ask >'),
);

function open(): Bench {
  const store = openSqliteStore({ path: join(folder, 'store.db') });
  return createBench({ store, blobs: createFileBlobs(join(folder, 'blobs')), findGraph: () => graph });
}

async function doctor({ store, options }: Bench): Promise<Finding | undefined> {
  const { findings } = await examineStore.run(
    {
      tenant: 'default',
      isWorkerDead: () => undefined,
      now: () => 0,
      examinePlace: () => Promise.resolve([]),
      openStore: () => Promise.resolve({ store: { ...store, close: () => Promise.resolve() }, blobs: options.blobs }),
    },
    {},
  );
  return findings.find(({ name }) => name === 'histories');
}

const sql = (statement: string) => (): void => {
  const db = new DatabaseSync(join(folder, 'store.db'));
  db.exec(`delete from snapshots; ${statement}`);
  db.close();
};

test.each<[what: string, damage: () => void]>([
  ['nothing', () => undefined],
  ['a checkpoint that was cut', sql('update checkpoints set body = substr(body, 1, length(body) / 2) where seq = 1')],
  ['a checkpoint that was lost', sql('delete from checkpoints where seq = 1')],
  ['the last checkpoint, lost', sql('delete from checkpoints where seq = (select max(seq) from checkpoints)')],
  ['a checksum of another', sql('update checkpoints set checksum = zeroblob(32) where seq = 0')],
  ['what is kept beside the run', sql("update runs set meta = cast('{no json' as blob)")],
  ['the large values and the definition, lost', () => rmSync(join(folder, 'blobs'), { recursive: true })],
])('C6 doctor, verify and resume agree about %s', async (what, damage) => {
  const before = open();
  expect((await runToRest(before.engine, graph, {}, 'r')).status).toBe('paused');
  expect(readdirSync(join(folder, 'blobs')).length).toBeGreaterThan(0);
  await before.store.close();
  damage();
  const bench = open();
  const { store, options } = bench;
  const found = await doctor(bench);
  const context = { tenant: 'default', store, blobs: options.blobs, isWorkerDead: () => undefined, now: () => 0 };
  const { isValid } = await verifyRuns.run(context, {});
  const resuming = createEngine({ ...options, ids: testIds('worker-1', ['worker-1']) }).resume('r');
  const code = await resuming.then(
    () => undefined,
    (error: unknown) => CairnError.from(error).code,
  );
  const isWhole = what === 'nothing';
  expect([found?.verdict, isValid, code === undefined]).toEqual([isWhole ? 'ok' : 'bad', isWhole, isWhole]);
  expect(found?.code).toBe(code);
  expect(found?.fix).toBe(isWhole ? undefined : 'cairn verify r');
  await store.close();
});
