import { afterAll, describe, expect, test } from 'vitest';
import { openOn, preparePostgres, type PostgresUnderTest } from '../../../test/support/postgres-store.ts';
import { AgentGraph, END, humanNode, openHistory, START } from '../../index.ts';
import { isProving } from '../../../test/support/scale.ts';
import { blobSuite } from '../../testing/blob-suite.ts';
import { memoriesSuite } from '../../testing/memories-suite.ts';
import { networkFaults, putNetworkBefore } from '../../testing/store-suite/random/network-under-test.ts';
import { storeSuite } from '../../testing/store-suite/store-suite.ts';
import { admission, commitOf, startRun, tenant, type StoreUnderTest } from '../../testing/store-suite/examples.ts';
import { openPostgresStore, type PostgresPool } from './index.ts';

const server = await preparePostgres();
if (typeof server === 'string') console.warn(`The Postgres store was not tested: ${server}`);

const serverOf = (): PostgresUnderTest => server as PostgresUnderTest;

async function createUnderTest(): Promise<StoreUnderTest> {
  await serverOf().empty();
  const { advance, crash } = serverOf();
  return { store: openOn(serverOf()), advance, ...(crash && { crash }), reopen: () => openOn(serverOf()) };
}

describe.skipIf(typeof server === 'string')(`Postgres store${typeof server === 'string' ? `: ${server}` : ''}`, () => {
  afterAll(() => serverOf().stop());

  describe('alone', () => {
    storeSuite({ test, create: createUnderTest });
  });

  // Replies that are really lost are in the gate: test/stores/postgres-connections.test.ts.
  describe.skipIf(!isProving)('behind a network, in npm run prove: it takes as long as all else here', () => {
    let seed = 500;
    storeSuite({
      test,
      create: async () => putNetworkBefore(await createUnderTest(), networkFaults, (seed += 1)),
      seed: 4,
    });
  });

  blobSuite({
    test,
    create: async () => {
      await serverOf().empty();
      const store = openOn(serverOf());
      return { blobs: store.blobs, advance: serverOf().advance, dispose: () => store.close() };
    },
  });

  test('L5.1 pieces of a run are read in order after a number, by other connections, and removed by number or all at once', async () => {
    await serverOf().empty();
    const [store, other] = [openOn(serverOf()), openOn(serverOf())];
    const run = { tenant: 't', runId: 'r\0' };
    const pieces = [1, 2, 3].map((n) => ({ n, node: ['a', 'b\0'], detail: { text: `${n}\0` } }));
    await store.live?.write(run, { add: pieces });
    expect(await other.live?.read(run, 1)).toEqual(pieces.slice(1));
    await store.live?.write(run, { remove: [2], add: [{ n: 4, node: ['a'], detail: 4 }] });
    expect((await other.live?.read(run, -1))?.map(({ n }) => n)).toEqual([1, 3, 4]);
    await store.live?.write(run, { remove: 'all' });
    expect(await other.live?.read(run, -1)).toEqual([]);
    await Promise.all([store.close(), other.close()]);
  });

  test('P6 tables of a newer layout are refused by name, with both numbers, and nothing is written', async () => {
    await serverOf().empty();
    const [{ version } = {}] = await serverOf().run('select version from cairn.store');
    await serverOf().run('update cairn.store set version = 1000');
    const store = openOn(serverOf());
    try {
      const refused = { code: 'STORE_VERSION_UNKNOWN', data: { version: 1000, supported: version } };
      await expect(store.admitRun(admission('r'))).rejects.toMatchObject(refused);
      await expect(store.listRuns({ tenant })).rejects.toMatchObject(refused);
      await expect(store.migrate()).rejects.toMatchObject(refused);
      expect(await serverOf().run('select count(*)::int as n from cairn.runs')).toEqual([{ n: 0 }]);
    } finally {
      await serverOf().run(`update cairn.store set version = ${String(version)}`);
      await store.close();
    }
  });

  test('S3.3 bytes are read as they were written, however the server writes them, over our connections and those of a pool', async () => {
    await serverOf().empty();
    const packageName = 'pg';
    const { default: pg } = (await import(packageName)) as {
      default: { Pool: new (settings: object) => PostgresPool };
    };
    await serverOf().run('alter role current_user set bytea_output = escape');
    const pool = new pg.Pool({ connectionString: serverOf().url });
    const bytes = Uint8Array.from({ length: 512 }, (_, i) => i % 256);
    try {
      for (const store of [openOn(serverOf()), openPostgresStore({ pool })]) {
        const hash = await store.blobs.put({ tenant }, bytes);
        expect(await store.blobs.get(tenant, hash)).toEqual(bytes);
        await store.close();
      }
      const store = openOn(serverOf());
      const open = () =>
        new AgentGraph({}, { id: 'asks' })
          .addNode('ask', humanNode({ prompt: 'Öffnen?', choices: ['ja', 'nein'] }))
          .addEdge(START, 'ask')
          .addEdge('ask', END)
          .compile({ store });
      const { runId } = await open().invoke({ text: '\\x \\ 0 \n é' });
      expect((await open().resume(runId, { answers: { ask: 'ja' } })).status).toBe('completed');
      expect(await openHistory(store).verify(runId)).toMatchObject({ isValid: true });
      await store.close();
    } finally {
      await serverOf().run('alter role current_user reset bytea_output');
      await pool.end();
    }
  });

  test('S3 reads of a few checkpoints of many runs share a statement, and each gets its own, in order', async () => {
    await serverOf().empty();
    const packageName = 'pg';
    const { default: pg } = (await import(packageName)) as {
      default: { Pool: new (settings: object) => PostgresPool };
    };
    const pool = new pg.Pool({ connectionString: serverOf().url });
    const sent: string[] = [];
    const counting = new Set<object>();
    const counted: PostgresPool = {
      connect: async () => {
        const connection = await pool.connect();
        if (counting.has(connection)) return connection;
        counting.add(connection);
        const query = connection.query.bind(connection);
        connection.query = (statement) => {
          sent.push(statement.text);
          return query(statement);
        };
        return connection;
      },
      end: () => pool.end(),
      on: (event, listener) => pool.on(event, listener),
    };
    const store = openPostgresStore({ pool: counted });
    try {
      for (const runId of ['a\0', 'b', 'c']) {
        const claim = await startRun(store, runId);
        await store.commit(commitOf(claim, 1));
        await store.commit(commitOf(claim, 2));
      }
      sent.length = 0;
      const read = async (runId: string, range: { from: number; to: number; limit?: number }) => {
        const rows = await store.readCheckpoints({ tenant, runId }, range);
        return rows.map(({ seq }) => seq);
      };
      const together = [
        read('b', { from: 0, to: 2 }),
        read('a\0', { from: 1, to: 2, limit: 1 }),
        read('none', { from: 0, to: 0 }),
        read('b', { from: 2, to: -1 }),
        read('c', { from: 1, to: 3 }),
        // A read of many is by itself.
        read('c', { from: 0, to: Infinity }),
      ];
      expect(await Promise.all(together)).toEqual([[0, 1, 2], [1], [], [], [1, 2], [0, 1, 2]]);
      const reads = sent.filter((text) => text.includes('checkpoints'));
      expect(reads).toHaveLength(2);
      const [row] = await store.readCheckpoints({ tenant, runId: 'b' }, { from: 1, to: 1 });
      const [[same] = []] = await Promise.all(
        [1, 2].map((seq) => store.readCheckpoints({ tenant, runId: 'b' }, { from: seq, to: seq })),
      );
      expect(same).toEqual(row);
    } finally {
      await store.close();
      await pool.end();
    }
  });

  memoriesSuite({
    test,
    create: async () => {
      await serverOf().empty();
      const store = openOn(serverOf());
      return { ...store.memories, close: () => store.close() };
    },
  });
});
