/** Steps inside the user's own transaction, killed at each statement: each happens once, and nobody is asked. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  AgentGraph,
  END,
  START,
  transactionStep,
  type TransactionConnection,
  type TransactionPool,
} from '../../src/index.ts';
import type { Store } from '../../src/store.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { testIds } from '../engine-kit.ts';
import { preparePostgres, type PostgresUnderTest } from '../support/postgres-store.ts';

const found = await preparePostgres();
if (typeof found === 'string') console.warn(`Steps in transactions were not tested: ${found}`);

/** Where a process dies: at which statement, and whether the server still gets it. */
interface Death {
  readonly at: number;
  readonly when: 'before' | 'after';
  /** A process that stands still keeps its connection. */
  readonly keepsConnection?: boolean;
}

const statements = ['begin', 'settings', 'key', 'work', 'output', 'commit'];
const deaths = statements.flatMap((name, at) =>
  (['before', 'after'] as const).map((when) => [`${when} ${name}`, { at, when }] as const),
);

describe.skipIf(typeof found === 'string')(`transactionStep${typeof found === 'string' ? `: ${found}` : ''}`, () => {
  const server = found as PostgresUnderTest;
  type Pool = TransactionPool<TransactionConnection> & {
    end(): Promise<void>;
    on(event: 'error', listener: () => void): unknown;
  };
  let pool: Pool;
  /** Connections of processes that stand still. */
  const left = new Set<TransactionConnection>();
  beforeAll(async () => {
    const packageName = 'pg';
    const { default: pg } = (await import(packageName)) as { default: { Pool: new (settings: object) => Pool } };
    pool = new pg.Pool({ connectionString: server.url, max: 6 });
    pool.on('error', () => undefined);
    await server.run('create table accounts (name text primary key, amount int not null)');
    await server.run(`insert into accounts values ('ann', 100)`);
  });
  afterEach(() => server.run('update accounts set amount = 100'));
  afterAll(async () => {
    for (const connection of left) connection.release(true);
    await pool.end();
    await server.stop();
  });

  const amount = async (): Promise<unknown> => (await server.run('select amount from accounts'))[0]?.['amount'];

  /** A process with its own engine; `two` knows that `one` is dead. */
  const processOf = (
    store: Store,
    name: 'one' | 'two',
    connections: TransactionPool<TransactionConnection>,
    timeoutMs = 10_000,
  ) =>
    new AgentGraph({}, { id: 'pay' })
      .addNode(
        'pay',
        transactionStep(
          connections,
          async (tx) => {
            const { rows } = await tx.query(
              `update accounts set amount = amount - 30 where name = 'ann' returning amount`,
            );
            return { left: (rows[0] as { amount: number }).amount, at: new Date(5) };
          },
          { timeoutMs },
        ),
      )
      .addNode('after', ({ state }) => state.outputs.pay?.left)
      .addEdge(START, 'pay')
      .addEdge('pay', 'after')
      .addEdge('after', END)
      .compile({ store, wakes: false, ids: testIds(name, name === 'two' ? ['one'] : []) });

  /** Connections of a process that dies: from then on it hears nothing more. */
  function dying({ at, when, keepsConnection = false }: Death): {
    readonly connections: TransactionPool<TransactionConnection>;
    readonly died: Promise<void>;
  } {
    const { promise: died, resolve } = Promise.withResolvers<void>();
    let count = -1;
    const connect = async (): Promise<TransactionConnection> => {
      const connection = await pool.connect();
      connection.on?.('error', () => undefined);
      left.add(connection);
      const query = async (text: string, values?: unknown[]): Promise<{ readonly rows: unknown[] }> => {
        count += 1;
        if (count < at) return connection.query(text, values);
        if (count === at && when === 'after') await connection.query(text, values);
        if (count === at) {
          if (!keepsConnection) {
            left.delete(connection);
            connection.release(true);
          }
          resolve();
        }
        return new Promise(() => undefined);
      };
      return {
        query,
        release: (destroy) => {
          left.delete(connection);
          connection.release(destroy);
        },
      };
    };
    return { connections: { connect }, died };
  }

  test('X3 rows and output are committed together', async () => {
    const store = createMemoryStore();
    const graph = processOf(store, 'one', pool);
    const { status, state } = await graph.invoke({});
    expect([status, state.outputs.pay, await amount()]).toEqual(['completed', { left: 70, at: new Date(5) }, 70]);
  });

  test.each(deaths)('X3 killed %s, it happened once and nobody is asked', async (_, death) => {
    const store = createMemoryStore();
    const { connections, died } = dying(death);
    const { runId } = await processOf(store, 'one', connections).start({});
    await died;
    const { status, waits, state } = await processOf(store, 'two', pool).resume(runId);
    expect([status, waits, state.outputs.after, await amount()]).toEqual(['completed', [], 70, 70]);
  });

  test('X3 a process that stands still in its transaction is waited for only as long as the step may take', async () => {
    const store = createMemoryStore();
    const { connections, died } = dying({ at: 3, when: 'after', keepsConnection: true });
    const { runId } = await processOf(store, 'one', connections, 500).start({});
    await died;
    const { status } = await processOf(store, 'two', pool).resume(runId);
    expect([status, await amount()]).toEqual(['completed', 70]);
  });

  test('X3 what the function throws rolls everything back, and is no doubt', async () => {
    const store = createMemoryStore();
    const graph = new AgentGraph({}, { id: 'refused' })
      .addNode(
        'pay',
        transactionStep(pool, async (tx) => {
          await tx.query('update accounts set amount = 0');
          throw new Error('not today');
        }),
      )
      .addEdge(START, 'pay')
      .addEdge('pay', END)
      .compile({ store });
    const { status, waits, error } = await graph.invoke({});
    expect([status, waits, await amount()]).toEqual(['failed', [], 100]);
    expect(String(error)).toContain('not today');
  });

  /** Runs as many steps at once, each in a transaction of its own. */
  async function runAtOnce(
    count: number,
    isolation: 'serializable' | 'read committed',
    work: (tx: TransactionConnection, nth: number) => Promise<void>,
  ): Promise<unknown> {
    let calls = 0;
    const step = transactionStep(pool, (tx) => work(tx, (calls += 1)), { isolation });
    const graph = new AgentGraph({}, { id: 'at-once' })
      .addNode('pay', step)
      .addEdge(START, 'pay')
      .addEdge('pay', END)
      .compile({ store: createMemoryStore() });
    const results = await Promise.all(Array.from({ length: count }, () => graph.invoke({})));
    return [...new Set(results.map(({ status, error }) => error?.message ?? status))];
  }
  const take1 = async (tx: TransactionConnection, name: string): Promise<void> =>
    void (await tx.query('update accounts set amount = amount - 1 where name = $1', [name]));

  test('N36.1 transactions that conflict are done again, also where all want to make the table of keys', async () => {
    await server.run('drop table if exists cairn_steps');
    const statuses = await runAtOnce(20, 'serializable', (tx) => take1(tx, 'ann'));
    expect([statuses, await amount()]).toEqual([['completed'], 80]);
  });

  test('N36.1 so are those that a deadlock ended, also where a library has wrapped the error', async () => {
    await server.run(`insert into accounts values ('bob', 100)`);
    const both = Promise.withResolvers<void>();
    const statuses = await runAtOnce(2, 'read committed', async (tx, nth) => {
      await take1(tx, nth === 1 ? 'ann' : 'bob');
      if (nth === 2) both.resolve();
      await both.promise;
      await take1(tx, nth === 1 ? 'bob' : 'ann').catch((cause: unknown) => {
        throw new Error('the library says so', { cause });
      });
    });
    expect([statuses, await amount()]).toEqual([['completed'], 98]);
  });

  test('P6 what is not understood is refused when the graph is written', () => {
    expect(() => transactionStep({} as never, async () => 1)).toThrow(/needs a pool/);
    expect(() => transactionStep(pool, async () => 1, { table: 'a"; drop table x' })).toThrow(/name in lower case/);
    expect(() => transactionStep(pool, async () => 1, { isolation: 'none' as never })).toThrow(/read committed/);
  });
});
