/** What a damaged file does: it is told, at opening or when somebody looks. */
import { copyFileSync, mkdtempSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Store } from '../../ports/store.ts';
import { commitMany, startRun, tenant } from '../../testing/store-suite/examples.ts';
import { openSqliteStore } from './sqlite-store.ts';

const pageBytes = 16_384;
const runIds = Array.from({ length: 12 }, (_, index) => `run ${index}`);

let folder = '';
let path = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-damage-'));
  path = join(folder, 'store.db');
});

afterEach(() => rmSync(folder, { recursive: true }));

async function fill(store: Store): Promise<void> {
  for (const runId of runIds) await commitMany(store, await startRun(store, runId), 1, 30);
}

const listIds = async (store: Store): Promise<readonly string[]> =>
  (await store.listRuns({ tenant })).rows.map(({ runId }) => runId).reverse();

test.each([1, 100, pageBytes / 2, pageBytes - 1, pageBytes, 2 * pageBytes + 5])(
  'P6 a file that lost its last %i bytes is STORE_CORRUPT, for readers and writers alike',
  async (lostBytes) => {
    const store = openSqliteStore({ path });
    await fill(store);
    await store.close();
    truncateSync(path, statSync(path).size - lostBytes);
    for (const readOnly of [true, false])
      expect(() => openSqliteStore({ path, readOnly })).toThrow(expect.objectContaining({ code: 'STORE_CORRUPT' }));
  },
);

test.each([0, 1, 2.5])(
  'P6 what a kill leaves of a copy of the log into the file, %d pages of it, is no damage, and nothing is missing',
  async (copiedPages) => {
    const store = openSqliteStore({ path, walAutoCheckpointPages: 0 });
    await fill(store);
    const killed = join(folder, 'killed.db');
    copyFileSync(path, killed);
    copyFileSync(`${path}-wal`, `${killed}-wal`);
    const { size } = statSync(killed);
    truncateSync(killed, size + copiedPages * pageBytes);
    await store.close();
    for (const readOnly of [true, false]) {
      const again = openSqliteStore({ path: killed, readOnly });
      expect(await listIds(again)).toEqual(runIds);
      expect(await again.findDamage?.()).toEqual([]);
      await again.close();
    }
  },
);
