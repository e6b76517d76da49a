/** Collects writes into shared transactions. Each write is accepted or refused by itself, and all become durable together (E3). */

import { statSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { CairnError } from '../../errors.ts';
import { growWal } from './file/open-database.ts';
import { isBusy, isJobsOwnFault, mapSqliteError } from './sqlite-errors.ts';

/** At these sizes a group is written at once, because a synchronous chain of nodes never returns to the event loop. */
const groupJobsMax = 128;
const groupBytesMax = 256 * 1024;

/**
 * After this many bytes, the log is copied into the database. SQLite itself counts pages of the log, which may be copies of a few pages or
 * all different; copying a log full of different pages would block everything for three times as long.
 */
const copiedBytes = 1536 * 1024;

/** Delay in ms between tries when the database is locked. */
const busyRetryMs = 5;

/** Interval in ms of checks that the file still exists. */
const fileCheckMs = 50;

/** When a reopened store has synced this often, its log is grown: it is then known to be used for more than a few writes. */
const syncsBeforeGrowth = 16;

interface Job {
  /** Runs inside of the transaction. If it throws a CairnError before it has written anything, only this job is refused. */
  readonly work: () => unknown;
  readonly needsPower: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** The result to report after the commit. */
  reply: unknown;
  refusal: CairnError | undefined;
}

export interface WriteQueueOptions {
  readonly db: DatabaseSync;
  readonly path: string;
  readonly store: string;
  readonly durability: 'default' | 'normal' | 'full';
  readonly busyTimeoutMs: number;
  /** Whether to copy the log into the database from time to time. */
  readonly copiesLog: boolean;
  /** Called when a transaction begins. From then on, writes of other processes are visible. */
  readonly onBegin: () => void;
  /** Called when a transaction was rolled back. */
  readonly onRollback: () => void;
}

export class WriteQueue {
  readonly #options: WriteQueueOptions;
  readonly #inode: number | undefined;
  readonly #beginStatement: StatementSync;
  readonly #commitStatement: StatementSync;
  /** When the file was last seen, in epoch ms. */
  #fileSeen = -Infinity;
  #pending: Job[] = [];
  #pendingBytes = 0;
  #bytesInLog = 0;
  #pendingNeedsPower = false;
  #isScheduled = false;
  /** When the database was first found locked, in monotonic ms. */
  #busySince: number | undefined;
  #isSynchronous = false;
  #syncs = 0;
  readonly #whenIdle: (() => void)[] = [];

  constructor(options: WriteQueueOptions) {
    this.#options = options;
    this.#inode = this.#readInode();
    this.#beginStatement = options.db.prepare('begin immediate');
    this.#commitStatement = options.db.prepare('commit');
  }

  /** Resolves with the result of `work` once its transaction is committed. */
  enqueue<Reply>(work: () => Reply, needsPower: boolean, bytes: number, isAlone = false): Promise<Reply> {
    return new Promise<Reply>((resolve, reject) => {
      const tell = resolve as (value: unknown) => void;
      this.#pending.push({ work, needsPower, resolve: tell, reject, reply: undefined, refusal: undefined });
      this.#pendingBytes += bytes;
      this.#pendingNeedsPower ||= needsPower;
      if (this.#busySince !== undefined) return;
      if (this.#pending.length >= groupJobsMax || this.#pendingBytes >= groupBytesMax) this.#flush();
      else this.#schedule(needsPower && isAlone);
    });
  }

  /** Writes everything pending, and resolves when nothing is pending any more. */
  async drain(): Promise<void> {
    if (this.#busySince === undefined) this.#flush();
    if (this.#pending.length > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  /** Writes everything pending, and rewrites the file without its free pages. Tries again while another process writes. */
  async vacuum(): Promise<void> {
    const { db, busyTimeoutMs, onRollback, store } = this.#options;
    const since = performance.now();
    for (;;) {
      await this.drain();
      try {
        this.#requireFile();
        db.exec('vacuum');
        // The file shrinks when the log is copied into it: now, or by the last reader that still needs what the log holds.
        db.exec('pragma wal_checkpoint(truncate)');
        this.#bytesInLog = 0;
        return onRollback();
      } catch (error) {
        if (!isBusy(error) || performance.now() - since >= busyTimeoutMs) throw mapSqliteError(error, store);
      }
      await new Promise((resolve) => void setTimeout(resolve, busyRetryMs));
    }
  }

  /** Schedules a flush. One turn of the event loop collects the writes of parallel runs; for a single run there is nothing to wait for. */
  #schedule(isUrgent: boolean): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    if (isUrgent) queueMicrotask(this.#onTurn);
    else setImmediate(this.#onTurn);
  }

  readonly #onTurn = (): void => {
    this.#isScheduled = false;
    if (this.#busySince === undefined) this.#flush();
  };

  #flush(): void {
    const group = this.#pending;
    if (group.length === 0) return;
    const needsPower = this.#pendingNeedsPower;
    this.#bytesInLog += this.#pendingBytes;
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#pendingNeedsPower = false;
    try {
      this.#begin(needsPower);
    } catch (error) {
      this.#rollBack();
      if (this.#waitForOthers(error, group, needsPower)) return;
      this.#refuseAll(group, error);
      return;
    }
    this.#busySince = undefined;
    this.#write(group);
    if (this.#bytesInLog >= copiedBytes) this.#copyLog();
    if (this.#whenIdle.length > 0) this.#tellIdle();
  }

  #copyLog(): void {
    this.#bytesInLog = 0;
    const { db, copiesLog } = this.#options;
    try {
      if (copiesLog) db.exec('pragma wal_checkpoint(passive)');
    } catch {
      // Acknowledged writes are in the log. SQLite copies it at another time.
    }
  }

  /** Puts the group back into the queue if the database is locked and time remains. @returns whether it did */
  #waitForOthers(error: unknown, group: Job[], needsPower: boolean): boolean {
    const now = performance.now();
    this.#busySince ??= now;
    if (!isBusy(error) || now - this.#busySince >= this.#options.busyTimeoutMs) {
      this.#busySince = undefined;
      return false;
    }
    this.#pending = group.concat(this.#pending);
    this.#pendingNeedsPower ||= needsPower;
    setTimeout(() => this.#flush(), busyRetryMs);
    return true;
  }

  #begin(needsPower: boolean): void {
    const { db, durability, onBegin, path } = this.#options;
    this.#requireFile();
    const isSynchronous = durability === 'full' || (durability === 'default' && needsPower);
    if (isSynchronous !== this.#isSynchronous) {
      db.exec(`pragma synchronous = ${isSynchronous ? 'full' : 'normal'}`);
      this.#isSynchronous = isSynchronous;
    }
    this.#beginStatement.run();
    if (isSynchronous && ++this.#syncs === syncsBeforeGrowth) growWal(path);
    onBegin();
  }

  /** Checks that the file still has its name. Writes to a deleted file would be lost, so this must be noticed soon. */
  #requireFile(): void {
    const now = Date.now();
    if (Math.abs(now - this.#fileSeen) < fileCheckMs) return;
    if (this.#readInode() !== this.#inode) {
      const reason = 'its file was removed or replaced while it was open';
      throw new CairnError('STORE_UNAVAILABLE', { store: this.#options.store, reason });
    }
    this.#fileSeen = now;
  }

  #readInode(): number | undefined {
    return statSync(this.#options.path, { throwIfNoEntry: false })?.ino;
  }

  /** Runs the group in the transaction that was begun, commits it, and reports to each job. */
  #write(group: readonly Job[]): void {
    try {
      for (const job of group) runJob(job);
      this.#commitStatement.run();
    } catch (error) {
      this.#rollBack();
      if (group.length > 1 && isJobsOwnFault(error)) this.#writeEachAlone(group);
      else this.#refuseAll(group, error);
      return;
    }
    for (const job of group) answerJob(job);
  }

  #rollBack(): void {
    const { db, onRollback } = this.#options;
    onRollback();
    // After some errors, such as a full disk, SQLite has rolled back by itself.
    if (db.isTransaction) db.exec('rollback');
  }

  /** The values of one job broke the transaction, so each job gets a transaction of its own. */
  #writeEachAlone(group: readonly Job[]): void {
    for (const job of group) {
      job.refusal = undefined;
      try {
        this.#begin(job.needsPower);
      } catch (error) {
        this.#rollBack();
        this.#refuseAll([job], error);
        continue;
      }
      this.#write([job]);
    }
  }

  #refuseAll(group: readonly Job[], error: unknown): void {
    const refusal = mapSqliteError(error, this.#options.store);
    for (const job of group) job.reject(refusal);
    this.#tellIdle();
  }

  #tellIdle(): void {
    if (this.#pending.length === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
  }
}

function runJob(job: Job): void {
  try {
    job.reply = job.work();
  } catch (error) {
    if (!CairnError.is(error)) throw error;
    job.refusal = error;
  }
}

function answerJob(job: Job): void {
  if (job.refusal === undefined) job.resolve(job.reply);
  else job.reject(job.refusal);
}
