/** Reads of checkpoints. Those of a few checkpoints each that are asked for in one turn, of any number of runs, share a statement. */
import type { CheckpointRow, RunKey } from '../../ports/store.ts';
import type { Query } from './database.ts';
import { toBigint } from './run-reads.ts';
import { keyOf, runNo, toBytes } from './tables.ts';

/** Which checkpoints of a run are read: from one seq to another, at most so many. */
export interface CheckpointRange {
  readonly from: number;
  readonly to: number;
  readonly limit?: number;
}

/** A read of more checkpoints has a statement of its own, so that what is read at once stays small. */
const sharedSpan = 4;
/** Reads that share a statement. A worker takes up 16 runs at a time. */
const sharedReads = 64;

const rangeOfOne = `
  select seq, at, body, checksum from S.checkpoints where run = ${runNo} and seq between $3 and $4 order by seq limit $5`;

const rangesOfMany = `
  select q.i, c.seq, c.at, c.body, c.checksum
  from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) with ordinality as q(tenant, run_id, first, last, most, i)
  cross join lateral (
    select seq, at, body, checksum from S.checkpoints
    where run = (select no from S.runs where tenant = q.tenant and run_id = q.run_id) and seq between q.first and q.last
    order by seq limit q.most) c
  order by q.i, c.seq`;

interface PendingRead {
  readonly key: RunKey;
  readonly range: CheckpointRange;
  readonly resolve: (rows: readonly CheckpointRow[]) => void;
  readonly reject: (error: unknown) => void;
}

export class CheckpointReads {
  readonly #query: Query;
  #pending: PendingRead[] = [];

  constructor(query: Query) {
    this.#query = query;
  }

  read(key: RunKey, range: CheckpointRange): Promise<readonly CheckpointRow[]> {
    if (!(range.to - range.from < sharedSpan)) return this.#readOne(key, range);
    return new Promise((resolve, reject) => {
      if (this.#pending.length === 0) setImmediate(() => this.#readPending());
      this.#pending.push({ key, range, resolve, reject });
    });
  }

  #readPending(): void {
    const all = this.#pending;
    this.#pending = [];
    for (let next = 0; next < all.length; next += sharedReads) {
      const part = all.slice(next, next + sharedReads);
      this.#readShared(part).catch((error: unknown) => part.forEach(({ reject }) => reject(error)));
    }
  }

  async #readShared(part: readonly PendingRead[]): Promise<void> {
    const [only] = part;
    if (only !== undefined && part.length === 1) return only.resolve(await this.#readOne(only.key, only.range));
    const keys = part.map(({ key }) => keyOf(key));
    const columns = [
      keys.map(([tenant]) => tenant),
      keys.map(([, runId]) => runId),
      part.map(({ range }) => toBigint(range.from)),
      part.map(({ range }) => toBigint(range.to)),
      part.map(({ range }) => range.limit ?? null),
    ];
    const rows = await this.#query<CheckpointRow & { readonly i: number }>(rangesOfMany, columns);
    const found = part.map((): CheckpointRow[] => []);
    for (const row of rows) found[row.i - 1]?.push(toCheckpoint(row));
    part.forEach(({ resolve }, index) => resolve(found[index]!));
  }

  async #readOne(key: RunKey, { from, to, limit }: CheckpointRange): Promise<readonly CheckpointRow[]> {
    const values = [...keyOf(key), ...[from, to].map(toBigint), limit ?? null];
    return (await this.#query<CheckpointRow>(rangeOfOne, values)).map(toCheckpoint);
  }
}

const toCheckpoint = ({ seq, at, body, checksum }: CheckpointRow): CheckpointRow => ({
  seq,
  at,
  body: toBytes(body),
  checksum: toBytes(checksum),
});
