import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { networkFaults, putNetworkBefore } from '../../testing/store-suite/random/network-under-test.ts';
import { storeSuite } from '../../testing/store-suite/store-suite.ts';
import type { StoreUnderTest } from '../../testing/store-suite/examples.ts';
import { openSqliteStore } from './sqlite-store.ts';

/** In memory where the machine offers it: what is tested here is not the disk. */
const parent = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** An empty store, made once and copied: making one takes longer than most tests. */
const template = join(mkdtempSync(join(parent, 'cairn-sqlite-')), 'store.db');

beforeAll(() => openSqliteStore({ path: template }).close());
afterAll(() => rmSync(dirname(template), { recursive: true }));

function createUnderTest(): StoreUnderTest {
  const folder = mkdtempSync(join(parent, 'cairn-sqlite-'));
  const path = join(folder, 'store.db');
  copyFileSync(template, path);
  let nowMs = 1_700_000_000_000;
  const now = (): number => nowMs;
  return {
    store: openSqliteStore({ path, now }),
    advance: (byMs) => {
      nowMs += byMs;
    },
    reopen: () => openSqliteStore({ path, now }),
    dispose: () => rmSync(folder, { recursive: true }),
  };
}

describe('SQLite store', () => {
  storeSuite({ test, create: createUnderTest });
});

describe('SQLite store behind a wrapper that does nothing', () => {
  storeSuite({ test, create: () => putNetworkBefore(createUnderTest(), {}, 1), seed: 2 });
});

describe('SQLite store behind a network', () => {
  let seed = 100;
  storeSuite({ test, create: () => putNetworkBefore(createUnderTest(), networkFaults, (seed += 1)), seed: 3 });
});

test('O3.2 who watches a SQLite file is woken by what another connection writes, within 100 ms', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const folder = mkdtempSync(join(tmpdir(), 'cairn-watch-'));
  try {
    const path = join(folder, 'cairn.db');
    const [watched, other] = [openSqliteStore({ path }), openSqliteStore({ path })];
    let woken = 0;
    const stop = watched.watch?.('default', () => (woken += 1));
    vi.advanceTimersByTime(300);
    await Promise.resolve();
    expect(woken).toBe(0);
    await other.setIdentity?.('another');
    vi.advanceTimersByTime(100);
    await Promise.resolve();
    expect(woken).toBe(1);
    stop?.();
    await other.setIdentity?.('a third');
    vi.advanceTimersByTime(300);
    await Promise.resolve();
    expect(woken).toBe(1);
    await Promise.all([watched.close(), other.close()]);
  } finally {
    vi.useRealTimers();
    rmSync(folder, { recursive: true, force: true });
  }
});
