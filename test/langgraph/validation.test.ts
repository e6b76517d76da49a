/** LangGraph's own suite for checkpoint savers, over each of our stores. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deltaChannelHistoryTests, validate } from '@langchain/langgraph-checkpoint-validation';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { saverOver } from '../../src/langgraph/index.ts';
import type { Store } from '../../src/ports/store.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { openPostgresStore } from '../../src/stores/postgres/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { startPostgres } from '../support/postgres-server.ts';

// The suite expects its runner's functions to be global.
Object.assign(globalThis, { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it });

const folder = mkdtempSync(join(tmpdir(), 'cairn-saver-'));
const server = await startPostgres();
const stores: readonly (readonly [string, Store])[] = [
  ['memory', createMemoryStore()],
  ['SQLite', openSqliteStore({ path: join(folder, 'threads.db') })],
  ...(typeof server === 'string' ? [] : [['Postgres', openPostgresStore({ url: server.url })] as const]),
];
afterAll(async () => {
  for (const [, store] of stores) await store.close();
  if (typeof server !== 'string') await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('S7.2 Postgres is among the stores', (context) => {
  if (typeof server === 'string') context.skip(server);
});

let count = 0;
for (const [name, store] of stores) {
  const suite = {
    checkpointerName: `S7.2 a saver over ${name}`,
    createCheckpointer: () => saverOver(store, { tenant: `tenant-${(count += 1)}` }),
  };
  validate(suite);
  deltaChannelHistoryTests(suite);
}
