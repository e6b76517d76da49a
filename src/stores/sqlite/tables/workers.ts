/** Who works on the store's runs, and which runs their code could not go on with. */
import type { ClaimableQuery, WorkerBeat, WorkerRow } from '../../../ports/store.ts';
import { clockSlackMs, isAhead } from '../../host-clock.ts';
import { bytesOf } from './row-check.ts';
import { asBytes, isUnplaced, readText, type Prepare, type Statement } from './run-rows.ts';

/** The most refusals of a run that are recorded. */
const refusalsMax = 32;
/** How long a worker is listed after it was last heard of. */
const listedMs = 24 * 3_600_000;

/** Whether a refusal `f` stands at the head of its run: no newer checkpoint is there. */
const isAtHead = `f.head >= coalesce((select max(seq) from places where run = f.run), 0)
  and f.head >= coalesce((select max(seq) from checkpoints where ${isUnplaced} and run = f.run), 0)`;

/**
 * Condition on a run `r`, for the code of whoever asks as a JSON list of pairs: it has not refused the run at its head, and has the run's
 * own code, or no live worker has and the asker is not pinned. {@link codeValues} gives its values.
 */
export const fitsCode: string = `(? is null or not exists (
  select 1 from json_each(?) c where c.value ->> 0 = r.graph_id and (
    exists (select 1 from refusals f where f.run = r.no and f.refused_by = c.value ->> 1 and ${isAtHead})
    or (c.value ->> 1 <> coalesce(r.code, r.graph_hash) and r.code is not '' and (? or exists (
      select 1 from workers w, json_each(w.graphs) g
      where w.tenant = r.tenant and w.alive_until > ? and w.seen_at <= ? and g.value ->> 0 = r.graph_id
        and g.value ->> 1 = coalesce(r.code, r.graph_hash)))))))`;

export function codeValues(
  { codes, isPinned = false }: Pick<ClaimableQuery, 'codes' | 'isPinned'>,
  now: number,
): readonly [string | null, string | null, number, number, number] {
  const code = codes === undefined ? null : JSON.stringify(Object.entries(codes));
  return [code, code, Number(isPinned), now, now + clockSlackMs];
}

interface StoredWorker {
  readonly worker_id: Uint8Array;
  readonly graphs: Uint8Array;
  readonly seen_at: number;
  readonly alive_until: number;
  readonly body: Uint8Array;
}

export class WorkerRows {
  readonly #now: () => number;
  readonly #layout: number;
  readonly #put: Statement;
  readonly #forget: Statement;
  readonly #list: Statement;
  readonly #refuse: Statement;
  readonly #forgetRefusals: Statement;

  constructor(prepare: Prepare, layout: number, now: () => number) {
    this.#now = now;
    this.#layout = layout;
    this.#put = prepare(
      'insert or replace into workers (tenant, worker_id, graphs, seen_at, alive_until, body) values (?, ?, ?, ?, ?, ?)',
    );
    this.#forget = prepare('delete from workers where seen_at < ?');
    this.#list = prepare(
      `select ${asBytes('worker_id')}, ${asBytes('graphs')}, seen_at, alive_until, body from workers
       where tenant = ? and seen_at >= ? order by worker_id`,
    );
    this.#refuse = prepare('insert or replace into refusals (run, refused_by, head, at) values (?, ?, ?, ?)');
    this.#forgetRefusals = prepare(
      `delete from refusals where run = ? and (head < ? or refused_by not in (
         select refused_by from refusals where run = ? order by at desc, rowid desc limit ${refusalsMax}))`,
    );
  }

  note({ tenant, workerId, graphs, aliveMs, body }: WorkerBeat): void {
    const now = this.#now();
    this.#put().run(tenant, workerId, JSON.stringify(Object.entries(graphs)), now, now + aliveMs, body);
    this.#forget().run(now - listedMs);
  }

  list(tenant: string): readonly WorkerRow[] {
    if (this.#layout < 6) return [];
    const now = this.#now();
    const rows = this.#list().all(tenant, now - listedMs) as unknown as StoredWorker[];
    return rows.map(({ worker_id, graphs, seen_at, alive_until, body }) => ({
      tenant,
      workerId: readText(worker_id),
      graphs: Object.fromEntries(JSON.parse(readText(graphs)) as [string, string][]),
      seenAt: seen_at,
      remainingMs: isAhead(seen_at, now) ? 0 : alive_until - now,
      body: bytesOf(body),
    }));
  }

  /** Notes who could not go on with a run from its head. */
  refuse(run: number, head: number, by: string): void {
    this.#refuse().run(run, by, head, this.#now());
    this.#forgetRefusals().run(run, head, run);
  }
}
