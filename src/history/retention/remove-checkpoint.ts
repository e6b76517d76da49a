/**
 * Removes one checkpoint. The newest is removed with its whole run; another is combined with the one after it (C8), or only passed over
 * from now on if a fork may take over what it recorded.
 */
import { CairnError } from '../../errors.ts';
import type { RunRow } from '../../ports/store.ts';
import { checkpointId } from '../stored/checkpoint.ts';
import { firstSeqOf, readOwner } from '../load/lineage.ts';
import { readAllRuns } from '../access/read-all.ts';
import type { WritePlace } from '../access/place.ts';
import { withClaim } from '../access/claim-run.ts';
import { markDeleted, readUserTags } from '../read/deleted-marks.ts';
import type { ResolvedReference } from '../read/references.ts';
import { addDropped, collectBlobs, readBeforePrune, type NamedBefore, type NamedBlobs } from './collect-blobs.ts';
import { readPruneNeeds } from './prune-needs.ts';
import { pruneRun } from './prune.ts';
import { removeRun } from './remove-run.ts';

/** What was removed. */
export interface RemovedCheckpoint {
  readonly checkpointId: string;
  readonly runId: string;
  /** `run`: it was the newest checkpoint, so the whole run was removed. `checkpoint`: only this checkpoint was. */
  readonly removed: 'run' | 'checkpoint';
}

/** Seqs to combine: an inner checkpoint is combined with the one after it; the oldest is removed by itself. */
function spanOf(run: RunRow, seq: number): readonly number[] {
  return seq === Math.max(firstSeqOf(run), run.prunedBelow) ? [seq] : [seq, seq + 1];
}

/** How a checkpoint goes: its row with it, or only from lists and names, since a fork may take over what is recorded there or after it. */
type Removal = 'row' | 'mark';

/** @throws CHECKPOINT_NEEDED it is tagged, forked from, or what it opened is still open */
async function decideRemoval(place: WritePlace, run: RunRow, seq: number): Promise<Removal> {
  const { store, blobs } = place;
  const refuse = (reason: string): never => {
    throw new CairnError('CHECKPOINT_NEEDED', { checkpoint: checkpointId(run.key, seq), reason });
  };
  const tag = (await readUserTags(store, run)).find((each) => each.seq === seq);
  if (tag !== undefined) return refuse(`it has the tag ${tag.name}`);
  for await (const fork of readAllRuns(place, { parentRunId: run.runId }))
    if (fork.parent?.seq === seq) return refuse(`run ${fork.runId} was forked from it`);
  const only = spanOf(run, seq);
  const { retained, takenOver } = await readPruneNeeds(store, blobs, run, { only });
  if (retained.includes(seq)) return takenOver.has(seq) ? 'mark' : refuse('what it opened is still open');
  return only.length > 1 && retained.includes(seq + 1) ? 'mark' : 'row';
}

/** Removes a checkpoint. @throws CHECKPOINT_NEEDED, HISTORY_HAS_FORKS, CLAIM_TAKEN, CHECKPOINT_CORRUPT */
export async function removeCheckpoint(place: WritePlace, { run, seq }: ResolvedReference): Promise<RemovedCheckpoint> {
  const { store, blobs, tenant } = place;
  const owner = await readOwner(store, run, seq);
  const id = checkpointId(owner.key, seq);
  if (seq === owner.head) {
    await removeRun(place, owner.runId);
    return { checkpointId: id, runId: owner.runId, removed: 'run' };
  }
  let before: NamedBefore | undefined;
  await withClaim(place, owner, async (claim, claimed) => {
    if ((await decideRemoval(place, claimed, seq)) === 'mark') return markDeleted(store, claimed, seq);
    before = await readBeforePrune(store, claimed);
    await pruneRun(store, blobs, claim, claimed, { only: spanOf(claimed, seq) });
  });
  const named: NamedBlobs = new Map();
  if (before !== undefined) await addDropped(store, before, named);
  await collectBlobs(store, blobs, tenant, named);
  return { checkpointId: id, runId: owner.runId, removed: 'checkpoint' };
}
