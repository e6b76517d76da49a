/** Plans what to read for a state: the newest usable snapshot at or before its checkpoint, and the rows after it (C4, P3). */
import { CairnError } from '../../errors.ts';
import type { RunRow, Store } from '../../ports/store.ts';
import { checkpointId } from '../stored/checkpoint.ts';
import { firstSeqOf, readParent, type LineagePart } from './lineage.ts';
import { decodeSnapshot, type DecodedSnapshot } from '../stored/snapshot.ts';

/** Rows of one run that a load reads. */
export interface Span {
  readonly run: RunRow;
  readonly from: number;
  readonly to: number;
}

/** What to read to load a state. */
export interface LoadPlan {
  readonly base?: DecodedSnapshot;
  /** Oldest first. The first span begins with the row of the snapshot's own checkpoint. */
  readonly spans: readonly Span[];
  /** Why a newer snapshot could not be used; undefined if none was skipped. */
  readonly damage?: CairnError;
}

/** Finds the newest sound snapshot at or before a checkpoint, going back through the lineage, and the rows to read from there. */
export async function planLoad(store: Store, run: RunRow, seq: number): Promise<LoadPlan> {
  const spans: Span[] = [];
  let damage: CairnError | undefined;
  let part: LineagePart | undefined = { run, upTo: seq };
  while (part !== undefined) {
    const { run: owner, upTo }: LineagePart = part;
    const first = firstSeqOf(owner);
    if (upTo >= first) {
      if (upTo < owner.prunedBelow) throw prunedError(owner, upTo, owner.prunedBelow);
      const found = await findSnapshot(store, owner, upTo);
      damage ??= found.damage;
      spans.unshift({ run: owner, from: found.snapshot?.seq ?? first, to: upTo });
      if (found.snapshot !== undefined) return { base: found.snapshot, spans, ...(damage && { damage }) };
    }
    const parent: LineagePart | undefined = await readParent(store, owner);
    part = parent && { run: parent.run, upTo: Math.min(parent.upTo, upTo) };
  }
  return { spans, ...(damage && { damage }) };
}

async function findSnapshot(
  store: Store,
  run: RunRow,
  upTo: number,
): Promise<{ snapshot?: DecodedSnapshot; damage?: CairnError }> {
  let damage: CairnError | undefined;
  for (let row = await store.readSnapshot(run, upTo); row !== undefined;) {
    try {
      return { snapshot: decodeSnapshot(run.key, row), ...(damage && { damage }) };
    } catch (error) {
      if (!CairnError.is(error)) throw error;
      damage ??= error;
      row = row.seq > 0 ? await store.readSnapshot(run, row.seq - 1) : undefined;
    }
  }
  return damage === undefined ? {} : { damage };
}

export function prunedError(run: RunRow, seq: number, remains: number): CairnError {
  return new CairnError('CHECKPOINT_PRUNED', {
    checkpoint: checkpointId(run.key, seq),
    remains: checkpointId(run.key, remains),
  });
}
