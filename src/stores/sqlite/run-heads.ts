/** What this process knows of runs it writes to, so that a commit need not search for the head. */

import type { RunKey } from '../../ports/store.ts';
import type { Prepare, Statement } from './prepare.ts';

export interface RunHead {
  /** The run's number in the tables. */
  readonly no: number;
  /** The newest claim's token. */
  token: number;
  /** Seq of the newest checkpoint. */
  head: number;
  /** The transaction in which this was last held against the database. */
  transaction: number;
}

const runsMax = 10_000;

/**
 * A head is trusted while the newest claim is the one under which it was read, as only that claim's owner can move it. The token itself
 * is read once in each transaction, inside which no other process writes.
 */
export class RunHeads {
  readonly #heads = new Map<string, RunHead>();
  readonly #selectRun: Statement;
  readonly #selectHead: Statement;
  #transaction = 0;

  constructor(prepare: Prepare) {
    this.#selectRun = prepare('select no, token from runs where tenant = ? and run_id = ?');
    this.#selectHead = prepare('select seq from checkpoints where run = ? order by seq desc limit 1');
  }

  beginTransaction(): void {
    this.#transaction += 1;
  }

  /** Nothing that was learned in this transaction came to be. */
  forget(): void {
    this.#heads.clear();
  }

  /** Inside a transaction only. The head returned is to be changed as the run is. */
  read({ tenant, runId }: RunKey): RunHead | undefined {
    const name = `${tenant}\0${runId}`;
    const known = this.#heads.get(name);
    if (known?.transaction === this.#transaction) return known;
    const row = this.#selectRun().get(tenant, runId) as { no: number; token: number } | undefined;
    if (row === undefined) {
      this.#heads.delete(name);
      return undefined;
    }
    if (known?.no === row.no && known.token === row.token) {
      known.transaction = this.#transaction;
      return known;
    }
    const { seq } = this.#selectHead().get(row.no) as { seq: number };
    const head = { no: row.no, token: row.token, head: seq, transaction: this.#transaction };
    if (this.#heads.size >= runsMax) this.#heads.clear();
    this.#heads.set(name, head);
    return head;
  }

  /** The run was removed. */
  drop({ tenant, runId }: RunKey): void {
    this.#heads.delete(`${tenant}\0${runId}`);
  }
}
