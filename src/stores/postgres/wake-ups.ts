/** Tells other processes that runs may have become claimable, and hears of it, over a connection that listens. */
import { createHash, randomUUID } from 'node:crypto';
import type { RunKey } from '../../ports/store.ts';
import { firstRetryMs, readWakeUp, retryMaxMs, Watchers } from '../watchers.ts';
import type { Database, PgConnection } from './database.ts';
import { fromText, toText } from './tables.ts';

/** Wake-ups of this many milliseconds share a statement. */
const collectMs = 2;
/** How often it is looked whether a wake-up has come. */
const probeMs = 20;
/** Payloads of Postgres are below 8,000 bytes; longer names wake everybody. */
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
  /** What is to be sent: each run once. */
  readonly #pending = new Set<string>();
  readonly #watched = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  /** Gives the connection up that listens. */
  #stop: (() => void) | undefined;
  #hasListened = false;
  /** Whether a wake-up of our own came over the connection that listens: behind some poolers none ever does. */
  #isHeard = false;
  #isClosed = false;

  constructor(database: Database, listening: Database, schema: string) {
    this.#database = database;
    this.#listening = listening;
    // Names of channels have at most 63 letters.
    this.#channel = `cairn_${createHash('sha256').update(schema).digest('hex').slice(0, 16)}`;
  }

  /** Whether writes of other processes are heard just now. */
  get isListening(): boolean {
    return this.#isHeard;
  }

  /** Whether a wake-up comes over the connection that listens. */
  async hearsWithin(ms: number): Promise<boolean> {
    const stop = this.watch('', () => undefined);
    for (let waitedMs = 0; waitedMs < ms && !this.#isHeard; waitedMs += probeMs)
      await new Promise((resolve) => setTimeout(resolve, probeMs));
    stop();
    return this.#isHeard;
  }

  watch(tenant: string, wake: (runId?: string) => void): () => void {
    const stop = this.#watchers.add(tenant, wake);
    this.#watched.set(tenant, (this.#watched.get(tenant) ?? 0) + 1);
    if (!this.#hasListened) {
      this.#hasListened = true;
      void this.#listen(firstRetryMs);
    }
    return () => {
      stop();
      this.#watched.set(tenant, (this.#watched.get(tenant) ?? 1) - 1);
    };
  }

  /** Wakes those who watch the tenant here, now, and those elsewhere, soon. */
  wake({ tenant, runId }: RunKey): void {
    this.#watchers.wake(tenant, runId);
    if (this.#isClosed) return;
    this.#pending.add(JSON.stringify([toText(tenant), toText(runId)]));
    this.#timer ??= setTimeout(() => void this.#send(), collectMs);
  }

  async #send(): Promise<void> {
    this.#timer = undefined;
    const payloads = [...this.#pending].map((payload) => (payload.length > payloadMax ? '' : payload));
    this.#pending.clear();
    await this.#notify(payloads);
  }

  /** What cannot be sent is found by polling. */
  async #notify(payloads: readonly string[]): Promise<void> {
    await this.#database
      .query(`select pg_notify($1, payload) from unnest($2::text[]) as payload`, [this.#channel, payloads])
      .catch(() => undefined);
  }

  async #listen(retryMs: number): Promise<void> {
    const again = (): void => {
      this.#stop = undefined;
      this.#isHeard = false;
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
    const probe = JSON.stringify(randomUUID());
    connection.on('error', lose);
    connection.on('end', lose);
    connection.on('notification', ({ channel, payload = '' }) => {
      if (channel !== this.#channel) return;
      if (payload === probe) {
        this.#isHeard = true;
        return;
      }
      if (payload === '') return this.#wakeAll();
      const [tenant = '', runId = ''] = readWakeUp(payload);
      this.#watchers.wake(fromText(tenant), fromText(runId));
    });
    try {
      await connection.query({ text: `listen ${this.#channel}`, values: [], types: { getTypeParser: () => String } });
    } catch {
      return lose();
    }
    if (this.#isClosed) return lose();
    this.#stop = lose;
    void this.#notify([probe]);
    // What was written while the connection was lost woke nobody.
    if (retryMs > firstRetryMs) this.#wakeAll();
  }

  #wakeAll(): void {
    for (const tenant of this.#watched.keys()) this.#watchers.wake(tenant);
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
