/** A version that does not know of references may still have the file open: what it writes is found, and read before anything is removed (C5). */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { admission, commitOf, keyOf, message, requireClaim, tenant } from '../../testing/store-suite/examples.ts';
import type { BlobReferences } from '../../ports/blob-references.ts';
import type { Store } from '../../ports/store.ts';
import { openSqliteStore } from './index.ts';

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-older-'));
  path = join(folder, 'runs.db');
});
afterEach(() => rmSync(folder, { recursive: true }));

const hash = 'a'.repeat(64);
const withReferences = { blobs: [] } as const;

/** A file of layout 12, brought up to date. */
function openUpgraded(): Store {
  writeFileSync(path, gunzipSync(readFileSync(join(import.meta.dirname, 'golden/layout-12.db.gz'))));
  return openSqliteStore({ path });
}

const referencesIn = (store: Store): BlobReferences => {
  if (store.references === undefined) throw new Error('it has none');
  return store.references;
};

const unreadIn = async (store: Store): Promise<readonly string[]> =>
  (await referencesIn(store).listUnread(tenant, { limit: 100 })).rows;

/** Runs statements as an older version has them. */
function asOlder(
  ...statements: readonly (readonly [sql: string, ...values: (string | number | Uint8Array)[]])[]
): void {
  const db = new DatabaseSync(path);
  for (const [sql, ...values] of statements) db.prepare(sql).run(...values);
  db.close();
}

const grantOfOlder =
  "update runs set claims = claims + 1, token = token + 1, owner = 'older', lease_until = 0 where tenant = ? and run_id = ?";
const releaseOfOlder =
  'update runs set token = token + 1, owner = null, lease_until = 0 where tenant = ? and run_id = ?';

test('C5 runs of an older layout are unread; a new one is not', async () => {
  const store = openUpgraded();
  expect(await unreadIn(store)).toEqual(['run', 'fork']);
  await store.admitRun(admission('new', withReferences));
  expect(await unreadIn(store)).toEqual(['run', 'fork']);
  // One has a message, the other none. Whoever claims one knows nothing of what was written before.
  for (const runId of ['run', 'fork']) await requireClaim(store, runId, 'two');
  expect(await unreadIn(store)).toEqual(['run', 'fork']);
  await store.close();
});

test('C5 a run that an older version has claimed is unread, until its texts are read when nobody has it', async () => {
  const store = openUpgraded();
  await store.admitRun(admission('new', withReferences));
  asOlder([grantOfOlder, tenant, 'new']);
  expect(await unreadIn(store)).toContain('new');
  const seen = { head: 0, claims: 1, messages: [] };
  await referencesIn(store).add(keyOf('new'), [hash], seen);
  expect(await unreadIn(store)).toContain('new');
  asOlder([releaseOfOlder, tenant, 'new']);
  await referencesIn(store).add(keyOf('new'), [hash], seen);
  expect(await unreadIn(store)).not.toContain('new');
  const claim = await requireClaim(store, 'new', 'two');
  await store.commit(commitOf(claim, 1, { releases: true }));
  expect(await unreadIn(store)).not.toContain('new');
  await store.close();
});

test('C5 a run that an older version has admitted, or has posted a message to, is unread', async () => {
  const store = openUpgraded();
  await store.admitRun(admission('new', withReferences));
  await store.postMessage(message('new'));
  expect(await unreadIn(store)).not.toContain('new');
  const older =
    "insert into messages (run, kind, name, tenant, run_id, checksum, body, at, is_taken) select no, 'signal', 'older', tenant, run_id, null, ?, 1, 0 from runs where tenant = ? and run_id = ?";
  asOlder([older, Buffer.from('{}'), tenant, 'new']);
  expect(await unreadIn(store)).toContain('new');
  const messages = (await store.readMessages(keyOf('new'))).map(({ id }) => id);
  const seen = { head: 0, claims: 0 };
  await referencesIn(store).add(keyOf('new'), [hash], { ...seen, messages: messages.slice(0, 1) });
  expect(await unreadIn(store)).toContain('new');
  expect((await referencesIn(store).of(tenant, ['new']))[0]?.isRead).toBe(false);
  await referencesIn(store).add(keyOf('new'), [hash], { ...seen, messages });
  expect(await unreadIn(store)).not.toContain('new');
  // The columns of layout 12, of a row that is there.
  const columns =
    'no, tenant, run_id, key, graph_id, graph_hash, code, status, created_at, parent_run, parent_seq, meta, token, owner, lease_until, lease_ms, queue, queue_key, priority, due, head_seen, check_value, claims, ended_at, pruned_below';
  const copy = columns.replace('no,', '1000,').replace('run_id,', "'older',").replace('check_value', 'null');
  asOlder([`insert into runs (${columns}) select ${copy} from runs where tenant = ? and run_id = 'new'`, tenant]);
  expect(await unreadIn(store)).toContain('older');
  await store.close();
});

test('C5 what a run names that an older version has removed is needed no longer', async () => {
  const store = openUpgraded();
  await store.admitRun(admission('new', { blobs: [hash] }));
  expect(await referencesIn(store).named(tenant, [hash])).toEqual([hash]);
  asOlder(['delete from runs where tenant = ? and run_id = ?', tenant, 'new']);
  expect(await referencesIn(store).named(tenant, [hash])).toEqual([]);
  await store.close();
});
