/** Fencing tokens where a run is removed and admitted again under its id, and the clock is not what it was (O1). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { admission, commitOf, keyOf, requireClaim, startRun } from '../../testing/store-suite/examples.ts';
import { openSqliteStore } from './sqlite-store.ts';

let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-tokens-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

const start = 1_700_000_000_000;

test.each(['in the same process', 'in another one'])(
  'O1 a token never falls, and no old claim holds again, after a run was removed and the clock set back, %s',
  async (where) => {
    let timeMs = start;
    const open = () => openSqliteStore({ path: join(folder, 'store.db'), now: () => timeMs });
    let store = open();
    const old = await startRun(store, 'run');
    await store.releaseClaim(old);
    await store.removeRun(keyOf('run'));
    if (where === 'in another one') {
      await store.close();
      store = open();
    }
    timeMs = start - 1_000;
    await store.admitRun(admission('run'));
    const claimed = await requireClaim(store, 'run', 'two');
    expect(claimed.token).toBeGreaterThan(old.token);
    await store.releaseClaim(claimed);
    await store.removeRun(keyOf('run'));
    const admitted = await startRun(store, 'run');
    expect(admitted.token).toBeGreaterThan(claimed.token);
    await expect(store.commit(commitOf(old, 1))).rejects.toMatchObject({ code: 'CLAIM_FENCED' });
    await store.close();
  },
);
