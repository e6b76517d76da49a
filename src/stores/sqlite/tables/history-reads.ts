/** Reads checkpoints, snapshots and tags of one run. */

import type { CheckpointRow, RunKey, SnapshotRow, TagRow } from '../../../ports/store.ts';
import { isUnplaced } from './checkpoint-places.ts';
import type { Prepare, Statement } from './prepare.ts';
import { asBytes, readText } from './text-columns.ts';

const ofRun = 'run = (select no from runs where tenant = ? and run_id = ?)';

interface CheckpointRange {
  readonly from: number;
  readonly to: number;
  readonly limit?: number;
}

export class HistoryReads {
  readonly #checkpoint: Statement;
  readonly #checkpoints: Statement;
  readonly #snapshot: Statement;
  readonly #tags: Statement;

  constructor(prepare: Prepare) {
    const fromPlaces = 'from places p cross join checkpoints c on c.id = p.id';
    this.#checkpoint = prepare(`select c.seq, c.at, c.body, c.checksum ${fromPlaces} where p.${ofRun} and p.seq = ?`);
    this.#checkpoints = prepare(
      `select p.seq as seq, c.at, c.body, c.checksum ${fromPlaces}
         where p.${ofRun} and p.seq between ? and ?
       union all select seq, at, body, checksum from checkpoints where ${isUnplaced} and ${ofRun} and seq between ? and ?
       order by seq limit ?`,
    );
    this.#snapshot = prepare(
      `select seq, body, checksum from snapshots where ${ofRun} and seq <= ? order by seq desc limit 1`,
    );
    this.#tags = prepare(`select ${asBytes('name')}, seq from tags where ${ofRun} order by tags.name`);
  }

  readCheckpoints(key: RunKey, range: CheckpointRange): CheckpointRow[] {
    const rows = this.#readOne(key, range) ?? this.#readRange(key, range);
    return rows.map(({ seq, at, body, checksum }) => ({ seq, at, body, checksum }));
  }

  /** A faster way to read a single checkpoint that has an index entry, which most of them have: a third of the work. */
  #readOne({ tenant, runId }: RunKey, { from, to, limit = 1 }: CheckpointRange): readonly CheckpointRow[] | undefined {
    if (from !== to || limit < 1) return undefined;
    const row = this.#checkpoint().get(tenant, runId, from) as unknown as CheckpointRow | undefined;
    return row && [row];
  }

  #readRange({ tenant, runId }: RunKey, { from, to, limit = -1 }: CheckpointRange): readonly CheckpointRow[] {
    const range = [tenant, runId, from, to] as const;
    return this.#checkpoints().all(...range, ...range, limit) as unknown as CheckpointRow[];
  }

  readSnapshot({ tenant, runId }: RunKey, atOrBefore: number): SnapshotRow | undefined {
    const row = this.#snapshot().get(tenant, runId, atOrBefore) as SnapshotRow | undefined;
    return row && { seq: row.seq, body: row.body, checksum: row.checksum };
  }

  readTags({ tenant, runId }: RunKey): TagRow[] {
    const rows = this.#tags().all(tenant, runId) as unknown as { name: Uint8Array; seq: number }[];
    return rows.map(({ name, seq }) => ({ name: readText(name), seq }));
  }
}
