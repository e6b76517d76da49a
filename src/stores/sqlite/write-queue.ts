/** Gathers writes into shared transactions: each is accepted or refused alone, all become durable together (E3). */

import { statSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { CairnError } from '../../errors.ts';
import { growWal } from './file/grow-wal.ts';
import { isBusy, isJobsOwnFault, mapSqliteError } from './sqlite-errors.ts';

/** A synchronous chain of nodes never returns to the event loop; at these sizes it is not waited for. */
const groupJobsMax = 128;
const groupBytesMax = 256 * 1024;

/**
 * So many bytes in the log are copied into the database at once. SQLite counts pages of the log, which may be copies of few pages or each
 * another one; to copy a log full of different pages stops everything for three times as long.
 */
const copiedBytes = 1536 * 1024;

/** How often a locked database is tried again. */
const busyRetryMs = 5;

/** How often a look at the file system makes sure that the file is still there. */
const fileCheckMs = 50;

/** A store that was opened again gets its log grown when it turns out to be written to in earnest. */
const syncsBeforeGrowth = 16;

interface Job {
  /** Runs inside the transaction; a CairnError it throws, before it has written anything, refuses this job alone. */
  readonly work: () => unknown;
  readonly needsPower: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** What is to be told once the transaction is committed. */
  reply: unknown;
  refusal: CairnError | undefined;
}

export interface WriteQueueOptions {
  readonly db: DatabaseSync;
  readonly path: string;
  readonly store: string;
  readonly durability: 'default' | 'normal' | 'full';
  readonly busyTimeoutMs: number;
  /** Whether the log is copied into the database now and then. */
  readonly copiesLog: boolean;
  /** A transaction begins: what other processes wrote is visible from here on. */
  readonly onBegin: () => void;
  /** Nothing of the transaction was written. */
  readonly onRollback: () => void;
}

export class WriteQueue {
  readonly #options: WriteQueueOptions;
  readonly #inode: number | undefined;
  readonly #beginStatement: StatementSync;
  readonly #commitStatement: StatementSync;
  /** Epoch ms at which the file was last seen in its place. */
  #fileSeen = -Infinity;
  #pending: Job[] = [];
  #pendingBytes = 0;
  #bytesInLog = 0;
  #pendingNeedsPower = false;
  #isScheduled = false;
  /** Monotonic ms at which the database was first found locked. */
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

  /** Resolves with what `work` returned once its transaction is committed. */
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

  /** Writes what is pending and resolves when nothing is. */
  async drain(): Promise<void> {
    if (this.#busySince === undefined) this.#flush();
    if (this.#pending.length > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  /** A turn of the event loop gathers the writes of runs that go on side by side; one alone gains nothing by it. */
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
      // What was acknowledged is in the log; SQLite copies it at another time.
    }
  }

  /** Puts the group back if the database is locked and there is time left. */
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

  /** What is acknowledged into a file that has no name any more is lost, so that is noticed soon. */
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

  /** Runs the group in the transaction that was begun, commits it, and tells each job. */
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
    // SQLite has rolled back by itself after some errors, such as a full disk.
    if (db.isTransaction) db.exec('rollback');
  }

  /** One job's values broke the transaction: the others must not suffer for it. */
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
