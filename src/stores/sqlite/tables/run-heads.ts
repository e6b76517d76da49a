/** A cache of the runs that this process writes to, so that a commit need not look up the head. */

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
  /** Version of the database that this was read from. */
  readonly version: number;
}

const runsMax = 10_000;

/** Heads of runs. They are valid as long as no other connection has written to the database, which SQLite's data version tells. */
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

  /** Call when a transaction has begun; from then on no other connection writes. Returns the version of the database. */
  beginTransaction(): number {
    return (this.#version = (this.#selectVersion().get() as unknown as [number])[0]);
  }

  /** Drops what was learned in a transaction that was rolled back. */
  forget(): void {
    this.#tenants.clear();
    this.#size = 0;
  }

  /** Call inside of a transaction only. The caller must update the returned head when it changes the run. */
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

  /** Drops a run that was removed. */
  drop({ tenant, runId }: RunKey): void {
    if (this.#tenants.get(tenant)?.delete(runId) === true) this.#size -= 1;
  }
}
