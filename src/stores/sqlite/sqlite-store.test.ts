import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { storeSuite } from '../../testing/store-suite.ts';
import type { StoreUnderTest } from '../../testing/store-suite/suite.ts';
import { openSqliteStore } from './sqlite-store.ts';

function createUnderTest(): StoreUnderTest {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-sqlite-'));
  const path = join(folder, 'store.db');
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
