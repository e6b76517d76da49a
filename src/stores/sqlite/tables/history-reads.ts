/** Reads checkpoints, snapshots and tags of one run. */

import type { CheckpointRow, RunKey, SnapshotRow, TagRow } from '../../../ports/store.ts';
import { isUnplaced, type Prepare, type Statement, asBytes, readText } from './run-rows.ts';
import { bytesOf } from './row-check.ts';

const ofRun = 'run = (select no from runs where tenant = ? and run_id = ?)';

interface CheckpointRange {
  readonly from: number;
  readonly to: number;
  readonly limit?: number;
}

export class HistoryReads {
  readonly #placed: Statement;
  readonly #unplaced: Statement;
  readonly #checkpoints: Statement;
  readonly #snapshot: Statement;
  readonly #tags: Statement;

  constructor(prepare: Prepare) {
    const columns = 'c.seq, c.at, c.body, c.checksum';
    const placed = `from places p cross join checkpoints c on c.id = p.id where p.${ofRun}`;
    const unplaced = `from checkpoints c where ${isUnplaced} and ${ofRun}`;
    this.#placed = prepare(`select ${columns} ${placed} and p.seq = ?`);
    this.#unplaced = prepare(`select ${columns} ${unplaced} and c.seq = ?`);
    // The entries are in the order of `p.seq`. Sorted by the same number in the rows, all rows behind the page would be read for each page.
    this.#checkpoints = prepare(
      `select p.seq as seq, c.at, c.body, c.checksum ${placed} and p.seq between ? and ?
       union all select ${columns} ${unplaced} and c.seq between ? and ?
       order by 1 limit ?`,
    );
    this.#snapshot = prepare(
      `select seq, body, checksum from snapshots where ${ofRun} and seq <= ? order by seq desc limit 1`,
    );
    this.#tags = prepare(`select ${asBytes('name')}, seq from tags where ${ofRun} order by tags.name`);
  }

  readCheckpoints(key: RunKey, range: CheckpointRange): CheckpointRow[] {
    const rows = this.#readOne(key, range) ?? this.#readRange(key, range);
    return rows.map(({ seq, at, body, checksum }) => ({ seq, at, body: bytesOf(body), checksum: bytesOf(checksum) }));
  }

  /**
   * A faster way to read a single checkpoint: by its index entry, which most of them have, else among the newest. One that got its entry
   * between the two reads is found by the range.
   */
  #readOne({ tenant, runId }: RunKey, { from, to, limit = 1 }: CheckpointRange): readonly CheckpointRow[] | undefined {
    if (from !== to || limit < 1) return undefined;
    const row = this.#placed().get(tenant, runId, from) ?? this.#unplaced().get(tenant, runId, from);
    return row && [row as unknown as CheckpointRow];
  }

  #readRange({ tenant, runId }: RunKey, { from, to, limit = -1 }: CheckpointRange): readonly CheckpointRow[] {
    const range = [tenant, runId, from, to] as const;
    return this.#checkpoints().all(...range, ...range, limit) as unknown as CheckpointRow[];
  }

  readSnapshot({ tenant, runId }: RunKey, atOrBefore: number): SnapshotRow | undefined {
    const row = this.#snapshot().get(tenant, runId, atOrBefore) as SnapshotRow | undefined;
    return row && { seq: row.seq, body: bytesOf(row.body), checksum: bytesOf(row.checksum) };
  }

  readTags({ tenant, runId }: RunKey): TagRow[] {
    const rows = this.#tags().all(tenant, runId) as unknown as { name: Uint8Array; seq: number }[];
    return rows.map(({ name, seq }) => ({ name: readText(name), seq }));
  }
}
