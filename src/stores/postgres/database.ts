/** One Postgres database: statements and transactions over the driver `pg`, or over a pool of the user's own. */
import { createHash } from 'node:crypto';
import { CairnError, maybeWritten, type ErrorCode, type ErrorData } from '../../errors.ts';
import { hearConnection, hearPool, isBroken, readBytes } from '../../postgres-driver.ts';

/** A statement as `pg` takes it. */
interface PgStatement {
  readonly text: string;
  readonly values: unknown[];
  readonly name?: string;
  readonly types: { getTypeParser: (oid: number, format?: string) => (value: string) => unknown };
}

/** What is used of a connection of `pg`. */
export interface PgConnection {
  query(statement: PgStatement): Promise<{ rows: unknown[] }>;
  on(event: 'notification', listener: (message: { channel: string; payload?: string }) => void): unknown;
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown;
  release(destroy?: Error | boolean): void;
}

/** What is used of a pool of connections: that of the package `pg`, or one that behaves like it. */
export interface PostgresPool {
  connect(): Promise<PgConnection>;
  end(): Promise<void>;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/** Runs one statement. */
export type Query = <Row>(text: string, values?: readonly unknown[]) => Promise<readonly Row[]>;

export interface DatabaseOptions {
  /** Makes the pool, on first use. */
  readonly openPool: () => Promise<PostgresPool>;
  /** Whether the pool is ours, and so ends when the database is closed. */
  readonly ownsPool: boolean;
  /** URL without secrets, for messages. */
  readonly name: string;
  /** The schema of the store's tables. */
  readonly schema: string;
  /** How long the first connection is tried for, in milliseconds. */
  readonly connectTimeoutMs: number;
  /** Whether statements are prepared once a connection. Not possible behind some poolers. */
  readonly prepares: boolean;
  /** A statement with which each new connection begins. One that this server does not know is left out. */
  readonly setUp?: string;
}

/** Between tries to connect, in milliseconds. So refused connections are at most 8 in the first 3 s. */
const firstDelayMs = 50;
const delayMaxMs = 1_000;

/** How many connections are taken before one stays. */
const takeTries = 3;

/** How often statements are tried that the server certainly took back: to end a deadlock, or because it had ended their connection before. */
const triesMax = 10;

const parsers: Readonly<Record<number, (value: string) => unknown>> = {
  16: (value) => value === 't',
  17: readBytes,
  20: Number,
  21: Number,
  23: Number,
};
const asText = (value: string): string => value;
const types: PgStatement['types'] = { getTypeParser: (oid) => parsers[oid] ?? asText };

/** Says why a call failed in a form that names no password. */
const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message || ((error as { code?: string }).code ?? error.name) : String(error)).replace(
    /postgres(?:ql)?:\/\/\S+/gi,
    'postgres://…',
  );

/** Codes of Node for a certificate that is not accepted, which no further try changes. */
const isOfCertificate =
  /^(CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_(GET_ISSUER|VERIFY)_|ERR_TLS_CERT_|INVALID_CA|HOSTNAME_)/;

/** Whether a server, or what verifies it, refused a connection, so that another try would end the same. */
function isRefusal(error: unknown): boolean {
  const state = sqlStateOf(error);
  if (state !== '') return !state.startsWith('57P');
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && (code === 'CAIRN_PASSWORD_IN_CLEAR' || isOfCertificate.test(code));
}

/** The SQLSTATE of an error that the server reported; empty if the connection failed. */
export function sqlStateOf(error: unknown): string {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown };
  return typeof code === 'string' && severity !== undefined && /^[0-9A-Z]{5}$/.test(code) ? code : '';
}

/** Whether an error that a store threw came of the values of a statement, and not of the server or the connection. */
export const isOfValues = (error: unknown): boolean => /^(22|23|54)/.test(sqlStateOf((error as Error).cause));

/** Serialization, deadlock, and a connection that was ended because nothing came over it: nothing of what was sent has been done. */
const isTakenBack = (state: string): boolean => ['40001', '40P01', '57P05', '25P03'].includes(state);

/** Whether the server has ended the connection, or it broke. */
const endsConnection = (state: string): boolean => state === '' || /^(08|57P|25P03)/.test(state);

/** A statement that was prepared is not there, or there already: the pooler has changed the connection behind it. */
const isOfPrepared = (state: string): boolean => state === '26000' || state === '42P05';

/** The role may not do what was asked of it. */
const denied = '42501';

/** Nothing can be written over this connection, whatever the role may do: so is a standby. */
const onlyRead = '25006';

/** Whether the role may not call a function: what it reads may need one. */
const isOfFunction = (error: unknown): boolean =>
  /permission denied for (?:function|routine|procedure)/u.test(reasonOf(error));

/** By the beginning of the SQLSTATE; anything else is STORE_UNAVAILABLE. */
const codes: readonly (readonly [prefix: string, code: ErrorCode])[] = [
  ['53100', 'STORE_FULL'],
  ['53200', 'STORE_FULL'],
  [onlyRead, 'STORE_READ_ONLY'],
  [denied, 'STORE_DENIED'],
  ['55P03', 'STORE_BUSY'],
  ['40', 'STORE_BUSY'],
  ['XX', 'STORE_CORRUPT'],
  // A schema, table, column, function or constraint is gone: these are not the tables that a store makes.
  ...['3F000', '42P01', '42703', '42883', '42P10', '42704'].map((state) => [state, 'STORE_CORRUPT'] as const),
  ['42P05', 'STORE_UNAVAILABLE'],
  // Any other statement or value that the server does not understand is our mistake.
  ['42', 'INTERNAL'],
  ['22', 'INTERNAL'],
];

/** After so long a connection may have been ended while this process was busy, and nobody has heard of it yet. */
const idleMs = 100;

/** Resolves when everything has been heard that the network has brought by now: from here on, the loop looks for it once as a whole. */
async function eventsOfNetwork(): Promise<void> {
  for (let turns = 0; turns < 2; turns += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

export class Database {
  readonly name: string;
  readonly #options: DatabaseOptions;
  #pool: Promise<PostgresPool> | undefined;
  #hasConnected = false;
  /** Connections that have begun. */
  readonly #begun = new WeakSet<PgConnection>();
  /** When each was given back. */
  readonly #idleSince = new WeakMap<PgConnection, number>();
  #isClosed = false;
  #prepares: boolean;
  readonly #names = new Map<string, string>();

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.#prepares = options.prepares;
    this.name = options.name;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Runs one statement, which is a transaction of its own. @throws the errors of the store port */
  readonly query: Query = async <Row>(text: string, values: readonly unknown[] = []) =>
    this.#use((run) => run<Row>(text, values));

  /** Runs several statements in one transaction. Whatever `work` throws takes back all of them. */
  async transaction<Reply>(work: (query: Query) => Promise<Reply>): Promise<Reply> {
    return this.#use(async (query) => {
      await query('begin');
      try {
        const reply = await work(query);
        await query('commit');
        return reply;
      } catch (error) {
        // If the connection is lost, the server takes the transaction back by itself.
        await query('rollback').catch(() => undefined);
        throw error;
      }
    });
  }

  /** A connection for the caller alone, which must release it. @throws STORE_UNAVAILABLE, STORE_CLOSED */
  async connect(): Promise<PgConnection> {
    if (this.#isClosed) throw new CairnError('STORE_CLOSED', { store: this.name });
    const deadline = performance.now() + this.#options.connectTimeoutMs;
    for (let delayMs = firstDelayMs; ; delayMs = Math.min(delayMs * 2, delayMaxMs)) {
      try {
        this.#pool ??= this.#options.openPool();
        const connection = await this.#take(await this.#pool);
        this.#hasConnected = true;
        return connection;
      } catch (error) {
        if (CairnError.is(error)) {
          this.#pool = undefined;
          throw error;
        }
        const isOver = this.#hasConnected || performance.now() + delayMs >= deadline;
        if (isRefusal(error) || isOver || this.#isClosed) throw this.#unavailable(error, { written: 'no' });
        await new Promise((resolve) => setTimeout(resolve, delayMs));
      }
    }
  }

  /** A connection that is set up. One that the server ends meanwhile is replaced by another. */
  async #take(pool: PostgresPool): Promise<PgConnection> {
    hearPool(pool);
    for (let tries = 1; ; tries += 1) {
      const connection = await pool.connect();
      hearConnection(connection);
      try {
        if (!this.#begun.has(connection)) await this.#setUp(connection);
        else if (performance.now() - (this.#idleSince.get(connection) ?? 0) > idleMs) await eventsOfNetwork();
        this.#begun.add(connection);
        if (!isBroken(connection)) return connection;
        throw new Error('the server ends each connection at once');
      } catch (error) {
        connection.release(true);
        if (tries >= takeTries) throw error;
      }
    }
  }

  async #setUp(connection: PgConnection): Promise<void> {
    const { setUp } = this.#options;
    if (setUp === undefined || isBroken(connection)) return;
    await connection.query({ text: setUp, values: [], types }).catch((error: unknown) => {
      // Servers that are only like Postgres know other settings.
      if (sqlStateOf(error) !== '42704') throw error;
    });
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#options.ownsPool) await (await this.#pool?.catch(() => undefined))?.end();
  }

  /** Calls a function with what runs statements on one connection. If the server has certainly taken all of them back, it is called again. */
  async #use<Reply>(work: (query: Query) => Promise<Reply>): Promise<Reply> {
    for (let tries = 1; ; tries += 1) {
      const connection = await this.connect();
      // Of this try: others that run at the same time may find out meanwhile that nothing can be prepared.
      const prepares = this.#prepares;
      try {
        const reply = await work((text, values = []) => this.#run(connection, { text, values, prepares }));
        this.#idleSince.set(connection, performance.now());
        connection.release();
        return reply;
      } catch (error) {
        const state = sqlStateOf(error);
        connection.release(endsConnection(state) ? !CairnError.is(error) : isBroken(connection));
        if (isTakenBack(state) && tries < triesMax) continue;
        if (isOfPrepared(state) && prepares) {
          this.#prepares = false;
          continue;
        }
        if (state === denied && isOfFunction(error)) throw this.#mayNotExecute(error);
        if (state === denied && (await this.#mayRead())) throw this.#readOnly(error);
        throw this.#toStoreError(error);
      }
    }
  }

  /** Whether the role may read the tables. One that may, and was refused something, may only read. */
  async #mayRead(): Promise<boolean> {
    const { schema } = this.#options;
    const text = `select has_schema_privilege($1, 'usage') and has_table_privilege($2, 'select') as reads`;
    const connection = await this.connect().catch(() => undefined);
    if (connection === undefined) return false;
    const values = [schema, `"${schema}".store`];
    const rows = await this.#run<{ reads: boolean }>(connection, { text, values, prepares: false }).catch(() => []);
    connection.release();
    return rows[0]?.reads === true;
  }

  /** A role that may read needs some functions too: it is told which right it lacks. */
  #mayNotExecute(error: unknown): CairnError {
    const data = {
      store: this.name,
      reason: reasonOf(error),
      hint: 'The role lacks the right to execute that function: cairn migrate --role viewer --to ROLE grants it.',
    };
    return new CairnError('STORE_DENIED', data, { cause: error });
  }

  #readOnly(error: unknown): CairnError {
    const data = {
      store: this.name,
      reason: reasonOf(error),
      hint: 'Use a role that may write: cairn migrate grants it.',
    };
    return new CairnError('STORE_READ_ONLY', data, { cause: error });
  }

  async #run<Row>(
    connection: PgConnection,
    {
      text,
      values,
      prepares,
    }: { readonly text: string; readonly values: readonly unknown[]; readonly prepares: boolean },
  ): Promise<readonly Row[]> {
    const name = prepares && values.length > 0 ? { name: this.#nameOf(text) } : {};
    return (await connection.query({ text, values: [...values], types, ...name })).rows as Row[];
  }

  #nameOf(text: string): string {
    let name = this.#names.get(text);
    if (name === undefined) {
      name = `cairn_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`;
      this.#names.set(text, name);
    }
    return name;
  }

  #toStoreError(error: unknown): unknown {
    if (CairnError.is(error)) return error;
    const state = sqlStateOf(error);
    // A mistake in the program is not a matter of the store.
    if (!(error instanceof Error) || error instanceof TypeError || error instanceof RangeError) return error;
    if (state === '' || state.startsWith('08') || state.startsWith('57')) return this.#unavailable(error, maybeWritten);
    const code = codes.find(([prefix]) => state.startsWith(prefix))?.[1] ?? 'STORE_UNAVAILABLE';
    const hint = state === onlyRead ? { hint: 'It may be a standby: name the server that is written.' } : {};
    return new CairnError(code, { store: this.name, reason: reasonOf(error), ...hint }, { cause: error });
  }

  #unavailable(error: unknown, written: ErrorData): CairnError {
    return new CairnError(
      'STORE_UNAVAILABLE',
      { store: this.name, reason: reasonOf(error), ...written },
      { cause: error },
    );
  }
}
