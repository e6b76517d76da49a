/** Writes messages (answers, signals, cancel requests). The first of a name wins (O1). */

import { CairnError } from '../../../errors.ts';
import type { Message, MessageReply } from '../../../ports/store.ts';
import type { Prepare, Statement } from './prepare.ts';
import { bytesOf } from './byte-columns.ts';

export class MessageWrite {
  readonly #selectRun: Statement;
  readonly #selectFirst: Statement;
  readonly #selectWait: Statement;
  readonly #remove: Statement;
  readonly #insert: Statement;

  constructor(prepare: Prepare) {
    this.#selectRun = prepare('select no from runs where tenant = ? and run_id = ?');
    this.#selectFirst = prepare('select id, body, is_taken from messages where run = ? and kind = ? and name = ?');
    this.#selectWait = prepare('select 1 from waits where run = ? and wait_id = ?');
    this.#remove = prepare('delete from messages where id = ?');
    this.#insert = prepare(
      'insert into messages (run, kind, name, tenant, run_id, checksum, body, at, is_taken) values (?, ?, ?, ?, ?, ?, ?, ?, 0)',
    );
  }

  /** Must be called inside of a transaction. @throws RUN_NOT_FOUND */
  postMessage({ tenant, runId, kind, name, body, at, checksum }: Message): MessageReply {
    const run = this.#selectRun().get(tenant, runId) as { no: number } | undefined;
    if (run === undefined) throw new CairnError('RUN_NOT_FOUND', { runId });
    const isOpen = kind === 'answer' && this.#selectWait().get(run.no, name) !== undefined;
    const first = this.#selectFirst().get(run.no, kind, name) as
      { id: number; body: Uint8Array; is_taken: number } | undefined;
    // A wait that was opened again can be answered again, and after a cancel that was carried out another may follow.
    const isSpent = first?.is_taken === 1 && (isOpen || kind === 'cancel');
    if (first !== undefined && !isSpent) {
      const taken = bytesOf(first.body);
      return Buffer.compare(taken, body) === 0 ? { status: 'equal' } : { status: 'taken', first: taken };
    }
    if (kind === 'answer' && !isOpen) return { status: 'closed' };
    if (first !== undefined) this.#remove().run(first.id);
    this.#insert().run(run.no, kind, name, tenant, runId, checksum ?? null, body, at);
    return { status: 'accepted' };
  }
}
