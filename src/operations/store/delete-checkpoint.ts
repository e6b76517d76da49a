/** Removes one checkpoint: the newest with its whole run, another by folding it into the one after it (C8). */
import { objectOf, oneOf, text } from '../declare/output-shapes.ts';
import { CairnError } from '../../errors.ts';
import { checkpointId } from '../../history/stored/checkpoint.ts';
import { addNamed, collectBlobs } from '../../history/shorten/collect-blobs.ts';
import { firstSeqOf, readOwner } from '../../history/load/lineage.ts';
import { readPruneNeeds } from '../../history/shorten/prune-needs.ts';
import { pruneRun } from '../../history/shorten/prune.ts';
import { resolveReference } from '../../history/read/references.ts';
import type { RunRow } from '../../ports/store.ts';
import type { Operation, WorkContext } from '../declare/operation.ts';
import { readAllRuns } from '../runs/read-all-runs.ts';
import { removeRun } from '../runs/remove-run.ts';
import { withClaim } from '../runs/with-claim.ts';

export interface DeleteCheckpointInput {
  readonly checkpoint: string;
}

export interface DeleteCheckpointOutput {
  readonly checkpointId: string;
  readonly runId: string;
  /** `run`: it was the newest, and the run is gone with its history. `checkpoint`: only it. */
  readonly removed: 'run' | 'checkpoint';
}

/** Seqs that go together: an inner checkpoint is folded into the one after it; the oldest just goes. */
function spanOf(run: RunRow, seq: number): readonly number[] {
  return seq === Math.max(firstSeqOf(run), run.prunedBelow) ? [seq] : [seq, seq + 1];
}

/** Why a checkpoint must stay; undefined: it need not. */
async function findNeed(context: WorkContext, run: RunRow, seq: number): Promise<string | undefined> {
  const { store, blobs } = context;
  const tag = (await store.readTags(run)).find((each) => each.seq === seq);
  if (tag !== undefined) return `it has the tag ${tag.name}`;
  for await (const fork of readAllRuns(context, { parentRunId: run.runId }))
    if (fork.parent?.seq === seq) return `run ${fork.runId} was forked from it`;
  const only = spanOf(run, seq);
  const { kept } = await readPruneNeeds(store, blobs, run, { only });
  if (kept.includes(seq))
    return 'it holds an outcome or an answer that forks from before it take over, or what it opened is still open';
  const isNextKept = only.length > 1 && kept.includes(seq + 1);
  return isNextKept ? `checkpoint ${seq + 1}, which it would be folded into, is needed as it is` : undefined;
}

export const deleteCheckpoint: Operation<DeleteCheckpointInput, DeleteCheckpointOutput, WorkContext> = {
  name: 'delete',
  summary: 'remove a checkpoint that nothing needs; the newest of a run removes the run',
  input: {
    checkpoint: { type: 'text', description: 'the checkpoint', isRequired: true, isPositional: true },
  },
  output: 'what was removed',
  outputSchema: objectOf({ checkpointId: text, runId: text, removed: oneOf('run', 'checkpoint') }),
  isReadOnly: false,
  /** @throws CHECKPOINT_NEEDED, HISTORY_HAS_FORKS, CLAIM_TAKEN, CHECKPOINT_*, RUN_NOT_FOUND */
  async run(context, { checkpoint: reference }) {
    const { store, blobs, tenant } = context;
    const { run, seq } = await resolveReference(store, tenant, reference);
    const owner = await readOwner(store, run, seq);
    const id = checkpointId(owner.key, seq);
    if (seq === owner.head) {
      await removeRun.run(context, { run: owner.runId });
      return { checkpointId: id, runId: owner.runId, removed: 'run' };
    }
    const named = new Set<string>();
    await withClaim(context, owner, async (claim, claimed) => {
      const reason = await findNeed(context, claimed, seq);
      if (reason !== undefined) throw new CairnError('CHECKPOINT_NEEDED', { checkpoint: id, reason });
      await addNamed(store, claimed, named);
      await pruneRun(store, blobs, claim, claimed, { only: spanOf(claimed, seq) });
    });
    await collectBlobs(store, blobs, tenant, named);
    return { checkpointId: id, runId: owner.runId, removed: 'checkpoint' };
  },
};
