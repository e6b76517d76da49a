/** Runs that ended, in the order in which they expire; lines of removed runs; duties that one process does for all. */
import type {
  EndedQuery,
  EndedRun,
  EndedRuns,
  Remembrance,
  RemovalReason,
  RemovedRun,
} from '../../../ports/removals.ts';
import type { RunKey } from '../../../ports/store.ts';
import { expiredError } from '../../../ports/removed-runs.ts';
import {
  asBytes,
  endedCodes,
  readText,
  reportedColumns,
  statusCode,
  type Prepare,
  type Statement,
} from './run-rows.ts';

/** Runs by their end, which is a time and, for those of the same millisecond, their number. */
interface End {
  readonly ended_at: number;
  readonly no: number;
}

interface StoredEnd extends End {
  readonly run_id: Uint8Array;
  readonly has_forks: number;
  readonly has_tags: number;
}

const newestOf = (code: number): string => `
  select * from (select ended_at, no from runs indexed by runs_by_end
    where tenant = ? and graph_id = ? and status = ${code} and ended_at is not null order by ended_at desc, no desc limit ?)`;

export class EndedRows {
  readonly #graphs: Statement;
  readonly #newest: Statement;
  readonly #list: Statement;

  constructor(prepare: Prepare) {
    // Goes from one graph to the next in the index, however many runs each has.
    const first = 'select graph_id from runs indexed by runs_by_end where tenant = ? and ended_at is not null';
    this.#graphs = prepare(`with recursive g (id) as (
        select (${first} order by graph_id limit 1)
        union all select (${first} and graph_id > g.id order by graph_id limit 1) from g where g.id is not null)
      select ${asBytes('id')} from g where id is not null`);
    this.#newest = prepare(
      `${endedCodes.map(newestOf).join(' union all ')} order by ended_at desc, no desc limit 1 offset ?`,
    );
    this.#list = prepare(`select ${asBytes('r.run_id')}, r.no, r.ended_at, ${reportedColumns}
      from runs r indexed by runs_by_end
      where r.tenant = ? and r.graph_id = ? and r.status = ? and r.ended_at is not null
        and (r.ended_at, r.no) > (?, ?) and (r.ended_at, r.no) < (?, ?) order by r.ended_at, r.no limit ?`);
  }

  graphs(tenant: string): readonly string[] {
    return this.#graphs()
      .all(tenant, tenant)
      .map((row) => readText(row['id'] as Uint8Array));
  }

  list(query: EndedQuery): Awaited<ReturnType<EndedRuns['list']>> {
    const { tenant, graphId, status, limit, cursor } = query;
    const [at = -1, no = -1] = cursor === undefined ? [] : cursor.split('.').map(Number);
    const before = this.#boundOf(query);
    const values = [tenant, graphId, statusCode(status), at, no, before.ended_at, before.no, limit + 1];
    const found = this.#list().all(...values) as unknown as readonly StoredEnd[];
    const last = found[limit - 1];
    return {
      rows: found.slice(0, limit).map(toEndedRun),
      ...(last !== undefined && found.length > limit && { cursor: `${last.ended_at}.${last.no}` }),
    };
  }

  /** What expires ended before this. */
  #boundOf({ tenant, graphId, endedBefore, beyond }: EndedQuery): End {
    const byAge = { ended_at: endedBefore ?? (beyond === undefined ? Number.MAX_SAFE_INTEGER : -1), no: -1 };
    if (beyond === undefined) return byAge;
    const ofStatus = endedCodes.flatMap(() => [tenant, graphId, beyond + 1]);
    const newest = this.#newest().get(...ofStatus, beyond) as unknown as End | undefined;
    if (newest === undefined || newest.ended_at < byAge.ended_at) return byAge;
    return { ended_at: newest.ended_at, no: newest.no + 1 };
  }
}

function toEndedRun({ run_id, ended_at, has_forks, has_tags }: StoredEnd): EndedRun {
  return { runId: readText(run_id), endedAt: ended_at, hasForks: has_forks === 1, hasTags: has_tags === 1 };
}

interface StoredLine {
  readonly at: number;
  readonly until: number;
  readonly because: RemovalReason;
}

/** How many lines whose time is over go with a write. */
const forgottenAtOnce = 200;

export class RemovedRows {
  readonly #now: () => number;
  readonly #remember: Statement;
  readonly #read: Statement;
  readonly #forget: Statement;
  readonly #forgetOld: Statement;
  readonly #takeDuty: Statement;

  constructor(prepare: Prepare, now: () => number) {
    this.#now = now;
    this.#remember = prepare(
      'insert or replace into removed (tenant, run_id, at, until, because) values (?, ?, ?, ?, ?)',
    );
    this.#read = prepare('select at, until, because from removed where tenant = ? and run_id = ? and until > ?');
    this.#forget = prepare('delete from removed where tenant = ? and run_id = ?');
    this.#forgetOld = prepare(
      `delete from removed where (tenant, run_id) in (select tenant, run_id from removed where until <= ? limit ${forgottenAtOnce})`,
    );
    this.#takeDuty = prepare(`insert into duties (name, owner, until) values (?, ?, ?)
      on conflict (name) do update set owner = excluded.owner, until = excluded.until where until <= ? or owner = excluded.owner`);
  }

  remember({ tenant, runId }: RunKey, { because, rememberMs }: Remembrance): void {
    const at = Math.floor(this.#now());
    if (rememberMs > 0) this.#remember().run(tenant, runId, at, at + Math.floor(rememberMs), because);
  }

  read({ tenant, runId }: RunKey): RemovedRun | undefined {
    const line = this.#read().get(tenant, runId, Math.floor(this.#now())) as unknown as StoredLine | undefined;
    return line && { runId, removedAt: line.at, because: line.because, until: line.until };
  }

  /** @throws RUN_EXPIRED a run of this id was removed. @param revives - whether it comes back */
  admit(key: RunKey, revives = false): void {
    const line = this.read(key);
    if (line === undefined) return;
    if (!revives) throw expiredError(line);
    this.forget(key);
  }

  forget({ tenant, runId }: RunKey): boolean {
    return this.#forget().run(tenant, runId).changes === 1;
  }

  forgetOld(): void {
    this.#forgetOld().run(Math.floor(this.#now()));
  }

  takeDuty(name: string, owner: string, leaseMs: number): boolean {
    const now = Math.floor(this.#now());
    return this.#takeDuty().run(name, owner, now + leaseMs, now).changes === 1;
  }
}
