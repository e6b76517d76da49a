/** A node inside a transaction of the user's own Postgres: its rows and the fact that it happened are committed together, or not at all. */
import { CairnError } from '../errors.ts';
import {
  NodeFailure,
  type NodeContext,
  type Reconciliation,
  type StateView,
} from '../graph/contracts/node-contract.ts';
import type { RetryPolicy } from '../graph/contracts/contracts.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import { decodeJson, encodeValue } from '../state/values/codec.ts';
import { draftNode, type NodeDraft, type NodeOptions } from './draft/node-draft.ts';
import type { TypedContext } from './draft/node-parts.ts';

/** What is used of a connection: a client of the package `pg` has it. */
export interface TransactionConnection {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: unknown[] }>;
  release(destroy?: Error | boolean): void;
  on?(event: 'error', listener: () => void): unknown;
  off?(event: 'error', listener: () => void): unknown;
}

/** What is used of a pool: that of the package `pg`, or one that behaves like it. */
export interface TransactionPool<Connection extends TransactionConnection> {
  connect(): Promise<Connection>;
}

export interface TransactionStepConfig {
  /** Table of keys, `name` or `schema.name`. It is made if it is not there. Default `cairn_steps`. */
  readonly table?: string;
  /** Isolation of the transaction. Default: the server's. */
  readonly isolation?: 'read committed' | 'repeatable read' | 'serializable';
  /** The server ends a transaction that stands still for this long, so a process that hangs holds no locks. Default 60,000 ms. */
  readonly timeoutMs?: number;
  readonly retry?: RetryPolicy;
}

const configKeys = [
  'table',
  'isolation',
  'timeoutMs',
  'retry',
] as const satisfies readonly (keyof TransactionStepConfig)[];
const isolations: readonly unknown[] = [undefined, 'read committed', 'repeatable read', 'serializable'];

/**
 * Makes a node that runs in one transaction of Postgres, your own or the store's. Its output and its key are written in the same
 * transaction as your rows. So it happens exactly once, and nobody is asked: in doubt, the key is looked up. If the function throws,
 * everything is rolled back, and the node fails as one that certainly changed nothing.
 *
 * @param pool - connections to the database, such as a `Pool` of the package `pg`. It stays yours
 * @param work - what is done. Statements go through `tx`; do not commit. What it returns is the node's output
 * @throws CONFIG_INVALID no pool, no function, or a setting that is not understood
 */
export function transactionStep<S extends StateView, Connection extends TransactionConnection, Output>(
  pool: TransactionPool<Connection>,
  work: (tx: Connection, ctx: TypedContext<S>) => Promise<Output>,
  config: TransactionStepConfig = {},
  options: Omit<NodeOptions, 'effectClass' | 'idempotent'> = {},
): NodeDraft<S, Output> {
  refuseUnknownKeys('transactionStep', config, configKeys);
  const { table = 'cairn_steps', isolation, timeoutMs = 60_000, retry } = config;
  const invalid = (path: string, reason: string): CairnError =>
    new CairnError('CONFIG_INVALID', { path: `transactionStep: ${path}`, reason });
  if (typeof (pool as Partial<typeof pool> | undefined)?.connect !== 'function')
    throw invalid('pool', 'it needs a pool of connections');
  if (typeof work !== 'function') throw invalid('work', 'it is a function of a transaction');
  if (!/^[a-z_][a-z0-9_]{0,62}(\.[a-z_][a-z0-9_]{0,62})?$/.test(table))
    throw invalid('table', 'it is a name in lower case');
  if (!isolations.includes(isolation)) throw invalid('isolation', `it is one of ${isolations.slice(1).join(', ')}`);
  if (!(Number.isSafeInteger(timeoutMs) && timeoutMs > 0))
    throw invalid('timeoutMs', 'it is a whole number, 1 or more');
  const keys = new KeyTable(pool, table, isolation, timeoutMs);
  return draftNode(
    {
      type: 'function',
      effect: 'external',
      config: { transaction: table, isolation },
      retry,
      timeoutMs,
      implementation: {
        run: (ctx: NodeContext) => keys.once(ctx, (tx) => work(tx, ctx as unknown as TypedContext<S>)),
        reconcile: ({ idempotencyKey }) => keys.find(idempotencyKey),
        codeText: String(work),
      },
    },
    options,
  );
}

/** A connection that breaks fails its statement, too. */
const ignore = (): void => undefined;

const sqlStateOf = (error: unknown): unknown => (error as { readonly code?: unknown } | undefined)?.code;

/** The keys of what has happened, each with its output. */
class KeyTable<Connection extends TransactionConnection> {
  readonly #pool: TransactionPool<Connection>;
  readonly #table: string;
  readonly #begin: string;
  readonly #timeoutMs: number;

  constructor(pool: TransactionPool<Connection>, table: string, isolation: string | undefined, timeoutMs: number) {
    this.#pool = pool;
    this.#table = table;
    this.#begin = isolation === undefined ? 'begin' : `begin isolation level ${isolation}`;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Does the work in a transaction that holds the key. Whoever has the same key waits until it is known how that transaction ended, so the
   * work is done once even if a process that was thought dead goes on.
   */
  async once<Output>(
    { idempotencyKey: key, signal }: Pick<NodeContext, 'idempotencyKey' | 'signal'>,
    work: (tx: Connection) => Promise<Output>,
  ): Promise<unknown> {
    const connection = await beforeCommit(() => {
      signal.throwIfAborted();
      return this.#pool.connect();
    });
    connection.on?.('error', ignore);
    let isLost = false;
    try {
      const output = await beforeCommit(async () => {
        await this.#open(connection);
        const found = await this.#take(connection, key);
        if (found !== undefined) return found;
        const done: unknown = await beforeAbort(signal, work(connection));
        await connection.query(`update ${this.#table} set output = $2 where key = $1`, [key, encodeValue(done)]);
        return { output: done };
      });
      await connection.query('commit').catch(refuseCommit);
      return output.output;
    } catch (error) {
      // What still runs on an abandoned connection is rolled back by the server.
      isLost =
        signal.aborted ||
        (await connection.query('rollback').then(
          () => false,
          () => true,
        ));
      throw error;
    } finally {
      connection.off?.('error', ignore);
      connection.release(isLost);
    }
  }

  /** Whether what has the key happened. A transaction that still holds it is awaited. */
  async find(key: string): Promise<Reconciliation> {
    const connection = await this.#pool.connect();
    connection.on?.('error', ignore);
    let isLost = true;
    try {
      await this.#open(connection);
      const found = await this.#take(connection, key);
      await connection.query('rollback');
      isLost = false;
      return found === undefined ? { happened: false } : { happened: true, output: found.output };
    } finally {
      connection.off?.('error', ignore);
      connection.release(isLost);
    }
  }

  async #open(connection: Connection): Promise<void> {
    await connection.query(this.#begin);
    await connection.query(
      `select set_config('idle_in_transaction_session_timeout', $1, true), set_config('lock_timeout', $1, true)`,
      [String(this.#timeoutMs)],
    );
  }

  /** Takes the key for this transaction; if it is there already, what it stands for. */
  async #take(connection: Connection, key: string): Promise<{ readonly output: unknown } | undefined> {
    await connection.query('savepoint cairn_key');
    const insert = `insert into ${this.#table} (key, output) values ($1, '') on conflict (key) do nothing returning key`;
    const take = (): Promise<{ readonly rows: unknown[] }> => connection.query(insert, [key]);
    const { rows } = await take().catch(async (error: unknown) => {
      if (sqlStateOf(error) !== '42P01') throw error;
      await connection.query('rollback to savepoint cairn_key');
      await this.#create();
      return take();
    });
    if (rows.length > 0) return undefined;
    const found = await connection.query(`select output from ${this.#table} where key = $1`, [key]);
    return { output: decodeJson((found.rows[0] as { readonly output: string }).output) };
  }

  /** Makes the table, on another connection: it stays when the transaction is rolled back. */
  async #create(): Promise<void> {
    const connection = await this.#pool.connect();
    try {
      await connection.query(
        `create table if not exists ${this.#table} (
          key text primary key, output text not null, at timestamptz not null default now())`,
      );
    } catch (error) {
      // Another process makes it at the same time.
      if (!['23505', '42P07'].includes(String(sqlStateOf(error)))) throw error;
    } finally {
      connection.release();
    }
  }
}

/** What the promise gives, or the reason of the signal if that comes first. */
async function beforeAbort<Done>(signal: AbortSignal, promise: Promise<Done>): Promise<Done> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener('abort', abort);
  try {
    signal.throwIfAborted();
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
    promise.catch(ignore);
  }
}

/** The server says why it did not commit; or nothing is known, and the key is looked up. */
function refuseCommit(error: unknown): never {
  const state = String(sqlStateOf(error));
  if (!/^(23|40)/.test(state) || state === '40003') throw error;
  throw new NodeFailure((error as Error).message, { code: state, applied: 'no', cause: error });
}

/** Whatever fails here was rolled back, so it certainly changed nothing. */
async function beforeCommit<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NodeFailure) throw error;
    const message = error instanceof Error ? error.message : String(error);
    const state = sqlStateOf(error);
    throw new NodeFailure(message, {
      code: typeof state === 'string' ? state : 'TRANSACTION_FAILED',
      applied: 'no',
      cause: error,
    });
  }
}
