/** Runs by id, by prefix, and listed. */

import { CairnError } from '../../errors.ts';
import type { Page, RunKey, RunQuery, RunRow } from '../../ports/store.ts';
import type { Prepare, Statement } from './prepare.ts';
import { runColumns, statusCode, toRunRow, type StoredRun } from './run-rows.ts';

const pageSize = 100;

/** The numbers of a cursor. @throws USAGE_INVALID */
export function readCursor(cursor: string, parts: number): readonly number[] {
  const numbers = cursor.split('.').map(Number);
  if (numbers.length !== parts || numbers.some(Number.isNaN)) {
    throw new CairnError('USAGE_INVALID', { reason: `${cursor} is not a cursor of this store` });
  }
  return numbers;
}

/** Runs that are unfinished work: each arm is found through an index, so that finished runs cost nothing. */
const hasWork = `r.no in (
  select no from runs where tenant = ?1 and status = 0
  union select m.run from messages m join runs on no = m.run where m.is_taken = 0 and tenant = ?1
  union select run from waits where tenant = ?1 and due <= ?2)`;

type Value = string | number;

export class RunReads {
  readonly #prepare: Prepare;
  readonly #now: () => number;
  readonly #listings = new Map<string, Statement>();
  readonly #byId: Statement;
  readonly #byPrefix: Statement;

  constructor(prepare: Prepare, now: () => number) {
    this.#prepare = prepare;
    this.#now = now;
    this.#byId = prepare(`select ${runColumns} from runs r where tenant = ? and run_id = ?`);
    // Nothing that begins with the prefix sorts after the prefix and the last code point.
    this.#byPrefix = prepare(`select ${runColumns} from runs r where no in (
      select no from runs where tenant = ?1 and run_id >= ?2 and run_id <= ?2 || char(1114111)
      union select no from runs where tenant = ?1 and key >= ?2 and key <= ?2 || char(1114111)) order by run_id limit ?3`);
  }

  readRun({ tenant, runId }: RunKey): RunRow | undefined {
    const row = this.#byId().get(tenant, runId) as StoredRun | undefined;
    return row && toRunRow(row, this.#now());
  }

  findRuns(tenant: string, prefix: string, limit: number): RunRow[] {
    const now = this.#now();
    return (this.#byPrefix().all(tenant, prefix, limit) as unknown as StoredRun[]).map((row) => toRunRow(row, now));
  }

  listRuns(query: RunQuery): Page<RunRow> {
    const { status, limit = pageSize } = query;
    const now = this.#now();
    // One ordered listing a status, merged: asked for several at once, SQLite would sort all there are.
    const listings = status === undefined ? [undefined] : [...new Set(status)];
    const found = listings
      .flatMap((one) => this.#list(query, one === undefined ? undefined : statusCode(one), limit + 1, now))
      .sort((a, b) => b.no - a.no);
    const page = found.slice(0, limit);
    const last = page.at(-1);
    return {
      rows: page.map((row) => toRunRow(row, now)),
      ...(last !== undefined && found.length > limit ? { cursor: String(last.no) } : {}),
    };
  }

  #list(query: RunQuery, status: number | undefined, limit: number, now: number): StoredRun[] {
    const { tenant, graphId, parentRunId, claimableAt, cursor } = query;
    const conditions = ['r.tenant = ?1'];
    const values: Value[] = [tenant];
    const add = (condition: string, value: Value): void => {
      values.push(value);
      conditions.push(condition.replace('?', `?${values.length}`));
    };
    if (claimableAt !== undefined) {
      values.push(claimableAt);
      conditions.push(hasWork);
      add('(r.owner is null or r.lease_until <= ?)', now);
    }
    if (status !== undefined) add('r.status = ?', status);
    if (graphId !== undefined) add('r.graph_id = ?', graphId);
    if (parentRunId !== undefined) add('r.parent_run = ?', parentRunId);
    if (cursor !== undefined) add('r.no < ?', readCursor(cursor, 1)[0] ?? 0);
    values.push(limit);
    const sql = `select ${runColumns} from runs r where ${conditions.join(' and ')} order by r.no desc limit ?${values.length}`;
    let listing = this.#listings.get(sql);
    if (listing === undefined) this.#listings.set(sql, (listing = this.#prepare(sql)));
    return listing().all(...values) as unknown as StoredRun[];
  }
}
