/** What this process knows of runs it writes to, so that a commit need not search for the head. */

import type { RunKey } from '../../../ports/store.ts';
import { headSeq, joinHead } from './checkpoint-places.ts';
import type { Prepare, Statement } from './prepare.ts';

export interface RunHead {
  /** The run's number in the tables. */
  readonly no: number;
  /** The newest claim's token. */
  token: number;
  /** Seq of the newest checkpoint. */
  head: number;
  /** The version of the database that this was read from. */
  readonly version: number;
}

const runsMax = 10_000;

/** What is known of a run holds as long as no other connection has written to the database, which SQLite tells by a number. */
export class RunHeads {
  readonly #tenants = new Map<string, Map<string, RunHead>>();
  #size = 0;
  #version = -1;
  readonly #selectVersion: Statement;
  readonly #selectRun: Statement;

  constructor(prepare: Prepare) {
    this.#selectVersion = prepare('pragma data_version', 'arrays');
    this.#selectRun = prepare(
      `select r.no, r.token, ${headSeq('r.head_seen')} as seq from runs r ${joinHead} where r.tenant = ? and r.run_id = ?`,
    );
  }

  /** A transaction has begun: from here on no other connection writes. Returns the version of the database. */
  beginTransaction(): number {
    return (this.#version = (this.#selectVersion().get() as unknown as [number])[0]);
  }

  /** Nothing that was learned in this transaction came to be. */
  forget(): void {
    this.#tenants.clear();
    this.#size = 0;
  }

  /** Inside a transaction only. The head returned is to be changed as the run is. */
  read(key: RunKey): RunHead | undefined {
    const known = this.#tenants.get(key.tenant)?.get(key.runId);
    return known?.version === this.#version ? known : this.#readAgain(key);
  }

  #readAgain(key: RunKey): RunHead | undefined {
    const row = this.#selectRun().get(key.tenant, key.runId) as { no: number; token: number; seq: number } | undefined;
    if (row === undefined) {
      this.drop(key);
      return undefined;
    }
    const head = { no: row.no, token: row.token, head: row.seq, version: this.#version };
    this.#keep(key, head);
    return head;
  }

  #keep({ tenant, runId }: RunKey, head: RunHead): void {
    if (this.#size >= runsMax) this.forget();
    const runs = this.#tenants.get(tenant) ?? new Map<string, RunHead>();
    if (!runs.has(runId)) this.#size += 1;
    this.#tenants.set(tenant, runs.set(runId, head));
  }

  /** The run was removed. */
  drop({ tenant, runId }: RunKey): void {
    if (this.#tenants.get(tenant)?.delete(runId) === true) this.#size -= 1;
  }
}
