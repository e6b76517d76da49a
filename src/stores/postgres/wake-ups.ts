/** Tells other processes that runs may have become claimable, and hears of it, over a connection that listens. */
import { createHash } from 'node:crypto';
import { Watchers } from '../watchers.ts';
import type { Database, PgConnection } from './database.ts';
import { fromText, toText } from './tables.ts';

/** Wake-ups of this many milliseconds share a statement. */
const collectMs = 2;
/** Delays between tries to listen again, in milliseconds. */
const [firstRetryMs, retryMaxMs] = [200, 5_000];
/** Payloads of Postgres are below 8,000 bytes; a longer tenant wakes everybody. */
const payloadMax = 2_000;

/**
 * A wake-up is a hint: users go on polling. So it is sent after the write that it is about has been committed, in a statement of its own,
 * because transactions that notify are committed one after another.
 */
export class WakeUps {
  readonly #database: Database;
  /** Where to listen: another address of the same database if a pooler stands before this one. */
  readonly #listening: Database;
  readonly #channel: string;
  readonly #watchers = new Watchers();
  readonly #tenants = new Set<string>();
  readonly #watched = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  /** Gives the connection up that listens. */
  #stop: (() => void) | undefined;
  #isListening = false;
  #isClosed = false;

  constructor(database: Database, listening: Database, schema: string) {
    this.#database = database;
    this.#listening = listening;
    // Names of channels have at most 63 letters.
    this.#channel = `cairn_${createHash('sha256').update(schema).digest('hex').slice(0, 16)}`;
  }

  watch(tenant: string, wake: () => void): () => void {
    const stop = this.#watchers.add(tenant, wake);
    this.#watched.set(tenant, (this.#watched.get(tenant) ?? 0) + 1);
    if (!this.#isListening) {
      this.#isListening = true;
      void this.#listen(firstRetryMs);
    }
    return () => {
      stop();
      this.#watched.set(tenant, (this.#watched.get(tenant) ?? 1) - 1);
    };
  }

  /** Wakes those who watch the tenant here, now, and those elsewhere, soon. */
  wake(tenant: string): void {
    this.#watchers.wake(tenant);
    if (this.#isClosed) return;
    this.#tenants.add(toText(tenant));
    this.#timer ??= setTimeout(() => void this.#send(), collectMs);
  }

  async #send(): Promise<void> {
    this.#timer = undefined;
    const tenants = [...this.#tenants].map((tenant) => (tenant.length > payloadMax ? '' : tenant));
    this.#tenants.clear();
    // What cannot be sent is found by polling.
    await this.#database
      .query(`select pg_notify($1, tenant) from unnest($2::text[]) as tenant`, [this.#channel, tenants])
      .catch(() => undefined);
  }

  async #listen(retryMs: number): Promise<void> {
    const again = (): void => {
      this.#stop = undefined;
      if (this.#isClosed) return;
      const delayMs = retryMs * (0.5 + Math.random() / 2);
      this.#retry = setTimeout(() => void this.#listen(Math.min(retryMs * 2, retryMaxMs)), delayMs);
      this.#retry.unref();
    };
    let connection: PgConnection;
    try {
      connection = await this.#listening.connect();
    } catch {
      return again();
    }
    let isLost = false;
    const lose = (): void => {
      if (isLost) return;
      isLost = true;
      connection.release(true);
      again();
    };
    connection.on('error', lose);
    connection.on('end', lose);
    connection.on('notification', ({ channel, payload = '' }) => {
      if (channel !== this.#channel) return;
      const tenants = payload === '' ? [...this.#watched.keys()] : [fromText(payload)];
      for (const tenant of tenants) this.#watchers.wake(tenant);
    });
    try {
      await connection.query({ text: `listen ${this.#channel}`, values: [], types: { getTypeParser: () => String } });
    } catch {
      return lose();
    }
    if (this.#isClosed) return lose();
    this.#stop = lose;
    // What was written while the connection was lost woke nobody.
    if (retryMs > firstRetryMs) for (const tenant of this.#watched.keys()) this.#watchers.wake(tenant);
  }

  /** Sends what is still to be sent, and stops listening. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    if (this.#timer !== undefined) {
      clearTimeout(this.#timer);
      await this.#send();
    }
    this.#stop?.();
  }
}
