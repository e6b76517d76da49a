/** The state after each checkpoint in which a visit of a node ended, in one pass: for those who write each down. */
import type { RunTree } from '../../state/tree.ts';
import { foldStored } from '../load/fold-stored.ts';
import { firstSeqOf, readHistory } from '../load/lineage.ts';
import type { StatePlace } from '../access/place.ts';
import type { ResolvedReference } from '../read/references.ts';
import type { Change } from '../stored/change.ts';
import { resolveValues } from '../stored/checkpoint.ts';
import { StoredState } from '../stored/stored-state.ts';
import { referencesIn, type CheckpointRecords } from './read-records.ts';
import { Structures } from './structures.ts';

/** A checkpoint with why it was made; `records` only where a visit ended in it. */
export interface WalkedState {
  readonly runId: string;
  readonly seq: number;
  /** Epoch ms. */
  readonly at: number;
  readonly change: Change;
  readonly records?: CheckpointRecords;
}

/** Oldest first, through the ancestors. @throws what loading a checkpoint throws */
export async function* walkStates(
  { store, blobs }: Pick<StatePlace, 'store' | 'blobs'>,
  { run, seq }: ResolvedReference,
): AsyncGenerator<WalkedState> {
  const structures = new Structures(blobs);
  let state = new StoredState({}, false);
  for await (const { run: owner, checkpoint } of readHistory(store, run, { from: 0, to: seq })) {
    const isCut = checkpoint.seq === owner.prunedBelow && checkpoint.seq > firstSeqOf(owner);
    if (isCut) ({ state } = await foldStored(store, blobs, owner, checkpoint.seq));
    else await state.apply(blobs, owner, checkpoint);
    const { at, change } = checkpoint;
    const walked = { runId: owner.runId, seq: checkpoint.seq, at, change };
    if (!change.some(({ kind }) => kind === 'settle' || kind === 'replay')) {
      yield walked;
      continue;
    }
    const stored = state.root as unknown as RunTree;
    const structure = await structures.of(owner, stored.definition);
    const root = (await resolveValues(blobs, run.tenant, structuredClone(stored))) as RunTree;
    const records = {
      runId: owner.runId,
      seq: checkpoint.seq,
      at,
      status: root.status,
      frame: root.frame,
      ...(structure !== undefined && { structure }),
      references: referencesIn(stored.frame),
    };
    yield { ...walked, records };
  }
}
