/** A node inside a transaction of the user's own Postgres: its rows and the fact that it happened are committed together, or not at all. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CairnError } from '../errors.ts';
import {
  NodeFailure,
  type NodeContext,
  type Reconciliation,
  type StateView,
} from '../graph/contracts/node-contract.ts';
import type { RetryPolicy } from '../graph/contracts/retry-policy.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import { decodeJson } from '../state/values/revive.ts';
import { encodeValue } from '../state/values/encode.ts';
import { hearConnection, hearPool } from '../postgres-driver.ts';
import { draftNode, type NodeDraft, type NodeOptions } from './draft/node-draft.ts';
import type { TypedContext } from './draft/computed.ts';

/** What is used of a connection: a client of the package `pg` has it. */
export interface TransactionConnection {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: unknown[] }>;
  release(destroy?: Error | boolean): void;
  on?(event: 'error', listener: () => void): unknown;
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
 * everything is rolled back, and the node fails as one that certainly changed nothing. If the server takes the transaction back because of
 * others at the same time (serialization, deadlock), it is done again: so the function does nothing else that lasts than through `tx`.
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

const ignore = (): void => undefined;

const sqlStateOf = (error: unknown): unknown => (error as { readonly code?: unknown } | undefined)?.code;

/** How often a transaction is tried that others stand in the way of, and how long is waited between two tries at most, in milliseconds. */
const [conflictTries, conflictWaitMaxMs] = [30, 500];

/** Whether the server took a transaction back because of others at the same time: serialization, deadlock. What wraps the error is looked through. */
function isConflict(error: unknown): boolean {
  if (['40001', '40P01'].includes(String(sqlStateOf(error)))) return true;
  return error instanceof Error && error.cause !== undefined && isConflict(error.cause);
}

/** Does it again while others stand in the way, after a wait of random length: those that met would else meet again. */
async function untilAlone<Done>(signal: AbortSignal | undefined, act: () => Promise<Done>): Promise<Done> {
  for (let tries = 1; ; tries += 1)
    try {
      return await act();
    } catch (error) {
      if (!isConflict(error) || tries >= conflictTries || signal?.aborted === true) throw error;
      const waitMs = Math.random() * Math.min(conflictWaitMaxMs, 10 * 2 ** tries);
      // When the time is over, what is known is that the last try changed nothing.
      await sleep(waitMs, undefined, { signal }).catch(() => {
        throw error;
      });
    }
}

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
   * work is done once even if a process that was thought dead goes on. A transaction that conflicts with others was certainly rolled back,
   * and is done again.
   */
  once<Output>(
    ctx: Pick<NodeContext, 'idempotencyKey' | 'signal'>,
    work: (tx: Connection) => Promise<Output>,
  ): Promise<unknown> {
    return untilAlone(ctx.signal, () => this.#once(ctx, work));
  }

  async #once<Output>(
    { idempotencyKey: key, signal }: Pick<NodeContext, 'idempotencyKey' | 'signal'>,
    work: (tx: Connection) => Promise<Output>,
  ): Promise<unknown> {
    const connection = await beforeCommit(() => {
      signal.throwIfAborted();
      return this.#connect();
    });
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
      connection.release(isLost);
    }
  }

  /** Whether what has the key happened. A transaction that still holds it is awaited. */
  find(key: string): Promise<Reconciliation> {
    return untilAlone(undefined, () => this.#find(key));
  }

  async #find(key: string): Promise<Reconciliation> {
    const connection = await this.#connect();
    let isLost = true;
    try {
      await this.#open(connection);
      const found = await this.#take(connection, key);
      await connection.query('rollback');
      isLost = false;
      return found === undefined ? { happened: false } : { happened: true, output: found.output };
    } finally {
      connection.release(isLost);
    }
  }

  /** A connection whose errors are heard. One that breaks fails its statement, too. */
  async #connect(): Promise<Connection> {
    hearPool(this.#pool);
    const connection = await this.#pool.connect();
    hearConnection(connection);
    return connection;
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
    const insert = `insert into ${this.#table} (key, output) values ($1, '') on conflict (key) do nothing returning key`;
    const take = (): Promise<{ readonly rows: unknown[] }> => connection.query(insert, [key]);
    const { rows } = await take().catch(async (error: unknown) => {
      if (sqlStateOf(error) !== '42P01') throw error;
      // Nothing else has been done in this transaction.
      await connection.query('rollback');
      await this.#create(connection);
      await this.#open(connection);
      return take();
    });
    if (rows.length > 0) return undefined;
    const found = await connection.query(`select output from ${this.#table} where key = $1`, [key]);
    return { output: decodeJson((found.rows[0] as { readonly output: string }).output) };
  }

  /** Makes the table, outside of a transaction: it stays when one is rolled back. */
  async #create(connection: Connection): Promise<void> {
    const create = `create table if not exists ${this.#table} (
      key text primary key, output text not null, at timestamptz not null default now())`;
    await connection.query(create).catch((error: unknown) => {
      // Another process makes it at the same time.
      if (!['23505', '42P07'].includes(String(sqlStateOf(error)))) throw error;
    });
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
