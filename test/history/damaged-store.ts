/** A store whose rows are changed on the way out: for tests of what damage is noticed. */
import type { CheckpointRow, SnapshotRow, Store } from '../../src/ports/store.ts';

export interface Damage {
  /** Undefined: the row is lost. */
  readonly checkpoint?: (row: CheckpointRow, runId: string) => CheckpointRow | undefined;
  readonly snapshot?: (row: SnapshotRow, runId: string) => SnapshotRow;
}

export function damageStore(store: Store, { checkpoint, snapshot }: Damage): Store {
  return {
    ...store,
    readCheckpoints: async (key, range) => {
      const rows = await store.readCheckpoints(key, range);
      if (checkpoint === undefined) return rows;
      return rows.map((row) => checkpoint(row, key.runId)).filter((row) => row !== undefined);
    },
    readSnapshot: async (key, seq) => {
      const row = await store.readSnapshot(key, seq);
      return row === undefined || snapshot === undefined ? row : snapshot(row, key.runId);
    },
  };
}

/** The same bytes but for one. */
export function flipByte(bytes: Uint8Array, place: number, flip = 1): Uint8Array {
  return bytes.map((byte, index) => (index === place % bytes.length ? byte ^ flip : byte));
}
