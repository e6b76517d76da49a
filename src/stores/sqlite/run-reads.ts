/** Runs by id, by prefix, and listed. */

import { CairnError } from '../../errors.ts';
import type { Page, RunKey, RunQuery, RunRow } from '../../ports/store.ts';
import type { Prepare, Statement } from './prepare.ts';
import { runColumns, statusCode, statuses, toRunRow, type StoredRun } from './run-rows.ts';

const pageSize = 100;

/** The numbers of a cursor. @throws USAGE_INVALID */
export function readCursor(cursor: string, parts: number): readonly number[] {
  const numbers = cursor.split('.').map(Number);
  if (numbers.length !== parts || numbers.some(Number.isNaN)) {
    throw new CairnError('USAGE_INVALID', { reason: `${cursor} is not a cursor of this store` });
  }
  return numbers;
}

/** Runs that may be unfinished work: each arm is found through an index, so that finished runs cost nothing. */
const candidates = `(
  select run_id from runs where tenant = ?1 and status = 0
  union select run_id from messages indexed by messages_untaken where is_taken = 0 and tenant = ?1
  union select run_id from waits where tenant = ?1 and due <= ?2) as candidate
  cross join runs r on r.tenant = ?1 and r.run_id = candidate.run_id`;

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
    this.#byPrefix = prepare(`select ${runColumns} from runs r where tenant = ?1 and run_id in (
      select run_id from runs where tenant = ?1 and run_id >= ?2 and run_id <= ?2 || char(1114111)
      union select run_id from runs indexed by runs_by_status where tenant = ?1 and key >= ?2 and key <= ?2 || char(1114111))
      order by run_id limit ?3`);
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
    const { status = statuses, limit = pageSize } = query;
    const now = this.#now();
    const codes = [...new Set(status)].map(statusCode);
    const found =
      query.claimableAt === undefined
        ? codes.flatMap((code) => this.#listStatus(query, code, limit + 1)).sort((a, b) => b.no - a.no)
        : this.#listClaimable(query, query.claimableAt, codes, limit + 1, now);
    const page = found.slice(0, limit);
    const last = page.at(-1);
    return {
      rows: page.map((row) => toRunRow(row, now)),
      ...(last !== undefined && found.length > limit ? { cursor: String(last.no) } : {}),
    };
  }

  /** One ordered listing a status, to be merged: asked for several at once, SQLite would sort all there are. */
  #listStatus(query: RunQuery, code: number, limit: number): StoredRun[] {
    const values: Value[] = [query.tenant, code];
    const place = query.parentRunId === undefined ? 'runs_by_status' : 'runs_by_parent';
    const filter = addFilters(query, values);
    values.push(limit);
    return this.#select(`runs r indexed by ${place} where tenant = ?1 and status = ?2 ${filter}`, values);
  }

  #listClaimable(query: RunQuery, at: number, codes: number[], limit: number, now: number): StoredRun[] {
    const values: Value[] = [query.tenant, at, now];
    const filter = addFilters(query, values);
    values.push(limit);
    const isFree = `(r.owner is null or r.lease_until <= ?3) and r.status in (${codes.join(', ')})`;
    return this.#select(`${candidates} where ${isFree} ${filter}`, values);
  }

  #select(from: string, values: readonly Value[]): StoredRun[] {
    const sql = `select ${runColumns} from ${from} order by r.no desc limit ?${values.length}`;
    let listing = this.#listings.get(sql);
    if (listing === undefined) this.#listings.set(sql, (listing = this.#prepare(sql)));
    return listing().all(...values) as unknown as StoredRun[];
  }
}

/** Returns conditions, and adds their values. @throws USAGE_INVALID */
function addFilters({ graphId, parentRunId, cursor }: RunQuery, values: Value[]): string {
  const conditions: string[] = [];
  const add = (condition: string, value: Value | undefined): void => {
    if (value === undefined) return;
    values.push(value);
    conditions.push(`and ${condition} ?${values.length}`);
  };
  add('r.graph_id =', graphId);
  add('r.parent_run =', parentRunId);
  add('r.no <', cursor === undefined ? undefined : readCursor(cursor, 1)[0]);
  return conditions.join(' ');
}
