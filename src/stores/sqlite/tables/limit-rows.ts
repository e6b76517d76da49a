/** What limits need of the database: records, and lines of runs. One writer at a time writes, so each write is one act. */
import {
  aheadMax,
  type LimitPage,
  type LimitRecord,
  type LimitWrite,
  type LineHead,
  type LineRow,
  type ParkedRun,
  type PlaceHolder,
} from '../../../ports/limits.ts';
import type { RunKey } from '../../../ports/store.ts';
import type { HostClock } from '../../host-clock.ts';
import type { CommitWrite, RunHeads } from './history-writes.ts';
import { asBytes, endedCodes, readText, statusCode, waitingCode, type Prepare, type Statement } from './run-rows.ts';

const [running, paused] = [statusCode('running'), statusCode('paused')];

/** Runs of a line that still wait in it. */
const inLine = `line l join runs r on r.tenant = l.tenant and r.run_id = l.run_id and r.status = ${paused}`;

export interface LimitParts {
  readonly prepare: Prepare;
  readonly heads: RunHeads;
  readonly commits: CommitWrite;
  readonly clock: HostClock;
}

interface StoredRecord {
  readonly name: Uint8Array;
  readonly version: Uint8Array;
  readonly body: Uint8Array;
}

const toRecord = ({ name, version, body }: StoredRecord): LimitRecord => ({
  name: readText(name),
  version: readText(version),
  body: readText(body),
});

const recordColumns = ['name', 'version', 'body'].map(asBytes).join(', ');

/** What limits read. */
export class LimitReads {
  readonly #selectRecord: Statement;
  readonly #list: Statement;
  readonly #first: Statement;
  readonly #lastRank: Statement;
  readonly #lines: Statement;
  readonly #ahead: Statement;
  readonly #place: Statement;

  constructor(prepare: Prepare) {
    this.#selectRecord = prepare(`select ${recordColumns} from limits where tenant = ? and name = ?`);
    this.#list = prepare(
      `select ${recordColumns} from limits where tenant = ? and name > ? and name >= ? and substr(name, 1, length(?)) = ? order by name limit ?`,
    );
    this.#first = prepare(
      `select ${asBytes('l.run_id')}, l.priority, l.rank from ${inLine} where l.tenant = ? and l.line = ?
        order by l.priority desc, l.rank, l.run limit ?`,
    );
    this.#lastRank = prepare(
      'select max(rank) as last from line indexed by line_by_group where tenant = ? and line = ? and part = ?',
    );
    this.#lines = prepare(
      // From each line to the next, past all that wait in it.
      `with recursive found(line) as (
        select (select l.line from line l where l.tenant = ? and l.line > ? and l.line >= ? order by l.line limit 1)
        union all
        select (select l.line from line l where l.tenant = ? and l.line > found.line order by l.line limit 1)
        from found where substr(found.line, 1, length(?)) = ? limit ?)
      select ${asBytes('line')} from found where substr(line, 1, length(?)) = ?`,
    );
    this.#place = prepare(
      `select ${asBytes('l.line')}, l.priority, l.rank, l.run from line l where l.run = (select no from runs where tenant = ? and run_id = ?)`,
    );
    this.#ahead = prepare(
      `select count(*) as ahead from (select 1 from line l where l.tenant = ? and l.line = ?
        and (l.priority > ? or (l.priority = ? and (l.rank < ? or (l.rank = ? and l.run < ?)))) limit ${aheadMax})`,
    );
  }

  read(tenant: string, names: readonly string[]): readonly LimitRecord[] {
    return names.flatMap((name) => {
      const row = this.#selectRecord().get(tenant, name) as StoredRecord | undefined;
      return row === undefined ? [] : [toRecord(row)];
    });
  }

  list(tenant: string, { prefix = '', after = '', limit }: LimitPage): readonly LimitRecord[] {
    const rows = this.#list().all(tenant, after, prefix, prefix, prefix, limit);
    return (rows as unknown as StoredRecord[]).map(toRecord);
  }

  readLine(
    tenant: string,
    line: string,
    { limit, group }: { readonly limit: number; readonly group?: string },
  ): LineHead {
    const rows = this.#first().all(tenant, line, limit) as unknown as (Omit<LineRow, 'runId'> & {
      readonly run_id: Uint8Array;
    })[];
    const last = group === undefined ? null : this.#lastRank().get(tenant, line, group)?.['last'];
    return {
      first: rows.map(({ run_id, priority, rank }) => ({ runId: readText(run_id), priority, rank })),
      ...(typeof last === 'number' && { lastRank: last }),
    };
  }

  listLines(tenant: string, { prefix = '', after = '', limit }: LimitPage): readonly string[] {
    const rows = this.#lines().all(tenant, after, prefix, tenant, prefix, prefix, limit, prefix, prefix);
    return rows.map((row) => readText(row['line'] as Uint8Array));
  }

  findInLine({ tenant, runId }: RunKey): { readonly line: string; readonly ahead: number } | undefined {
    const place = this.#place().get(tenant, runId) as
      | { readonly line: Uint8Array; readonly priority: number; readonly rank: number; readonly run: number }
      | undefined;
    if (place === undefined) return undefined;
    const { priority, rank, run } = place;
    const line = readText(place.line);
    const counted = this.#ahead().get(tenant, line, priority, priority, rank, rank, run);
    return { line, ahead: Number(counted?.['ahead'] ?? 0) };
  }
}

/** What limits write. Each method must be called inside of a transaction. */
export class LimitWrites {
  readonly #parts: LimitParts;
  readonly #selectVersion: Statement;
  readonly #put: Statement;
  readonly #remove: Statement;
  readonly #enter: Statement;
  readonly #leave: Statement;
  readonly #setPaused: Statement;
  readonly #setRunning: Statement;
  readonly #selectLease: Statement;
  readonly #selectStatus: Statement;

  constructor(parts: LimitParts) {
    this.#parts = parts;
    const { prepare } = parts;
    this.#selectVersion = prepare(`select ${asBytes('version')} from limits where tenant = ? and name = ?`);
    this.#put = prepare('insert or replace into limits (tenant, name, version, body) values (?, ?, ?, ?)');
    this.#remove = prepare('delete from limits where tenant = ? and name = ?');
    this.#enter = prepare(
      `insert or ignore into line (tenant, line, part, priority, rank, run, run_id)
        select tenant, ?, ?, priority, ?, no, run_id from runs where tenant = ? and run_id = ? and status = ${paused}`,
    );
    this.#leave = prepare('delete from line where run = (select no from runs where tenant = ? and run_id = ?)');
    this.#setPaused = prepare(
      `update runs set status = ${paused} where tenant = ? and run_id = ? and status in (${running}, ${waitingCode})`,
    );
    this.#setRunning = prepare(
      `update runs set status = ${running} where tenant = ? and run_id = ? and status = ${paused}`,
    );
    this.#selectLease = prepare(
      'select lease_until, lease_ms, owner is null as free from runs where tenant = ? and run_id = ?',
    );
    this.#selectStatus = prepare('select status from runs where tenant = ? and run_id = ?');
  }

  write({ tenant, changes, park = [], unpark = [] }: LimitWrite): boolean {
    const isExpected = changes.every(({ name, expected }) => {
      const row = this.#selectVersion().get(tenant, name);
      return (row === undefined ? undefined : readText(row['version'] as Uint8Array)) === expected;
    });
    if (!isExpected) return false;
    for (const { name, version, body } of changes)
      if (body === undefined) this.#remove().run(tenant, name);
      else this.#put().run(tenant, name, version, body);
    for (const one of park) this.#park(one);
    for (const runId of unpark) if (this.#leave().run(tenant, runId).changes > 0) this.#setRunning().run(tenant, runId);
    return true;
  }

  #park({ claim, line, rank, group = null }: Omit<ParkedRun, 'group'> & { readonly group?: string | null }): void {
    const { heads, commits } = this.#parts;
    const { tenant, runId, token } = claim;
    if (heads.read(claim)?.token !== token) return;
    commits.release({ ...claim, workerId: '', leaseMs: 0 });
    this.#setPaused().run(tenant, runId);
    this.#enter().run(line, group, rank, tenant, runId);
  }

  check(tenant: string, holders: readonly PlaceHolder[]): readonly boolean[] {
    const { heads, commits, clock } = this.#parts;
    return holders.map(({ runId, token }) => {
      const key = { tenant, runId };
      if (token === undefined) {
        const status = this.#selectStatus().get(tenant, runId)?.['status'];
        return status !== undefined && !endedCodes.includes(status as number);
      }
      if (heads.read(key)?.token !== token) return false;
      const lease = this.#selectLease().get(tenant, runId) as
        | { readonly lease_until: number; readonly lease_ms: number; readonly free: number }
        | undefined;
      if (lease === undefined || lease.free === 1) return false;
      if (clock.leaseLeftMs(lease.lease_until, lease.lease_ms) > 0) return true;
      commits.release({ ...key, workerId: '', token, leaseMs: 0 });
      return false;
    });
  }
}
