/** Builds the state of a checkpoint from what is stored: the newest sound snapshot at or before it, and the deltas since (C4, C6). */
import { CairnError } from '../../errors.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { RunRow, Store } from '../../ports/store.ts';
import { decodeOrNothing, missingError, type Chain } from '../stored/chain.ts';
import { checkpointId } from '../stored/checkpoint.ts';
import { FoldedState } from './folded-state.ts';
import { readOwner, readRows } from './lineage.ts';
import { planLoad, prunedError, type LoadPlan } from './load-plan.ts';

/**
 * Builds the state at a checkpoint, with values in their stored form. Everything read is verified, from the snapshot on.
 * @throws CHECKPOINT_NOT_FOUND, CHECKPOINT_PRUNED, CHECKPOINT_CORRUPT with the newest intact ancestor, CHECKPOINT_VERSION_UNKNOWN,
 * RUN_NOT_FOUND an ancestor is gone, BLOB_NOT_FOUND, BLOB_CORRUPT
 */
export async function foldStored(store: Store, blobs: BlobStore, run: RunRow, seq: number): Promise<FoldedState> {
  if (!Number.isSafeInteger(seq) || seq < 0 || seq > run.head) {
    throw new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint: checkpointId(run.key, seq) });
  }
  const plan = await planLoad(store, run, seq);
  try {
    return await foldPlan(store, blobs, run, plan);
  } catch (error) {
    if (!CairnError.is(error, 'CHECKPOINT_CORRUPT')) throw error;
    return foldAgain(store, blobs, run, seq);
  }
}

/** Reads a second time before damage is reported, because pruning that happens between two reads looks like damage. */
async function foldAgain(store: Store, blobs: BlobStore, known: RunRow, seq: number): Promise<FoldedState> {
  const run = (await store.readRun(known)) ?? known;
  const plan = await planLoad(store, run, seq);
  try {
    return await foldPlan(store, blobs, run, plan);
  } catch (error) {
    throw await nameIntact(store, blobs, run, error, plan);
  }
}

async function foldPlan(store: Store, blobs: BlobStore, run: RunRow, plan: LoadPlan): Promise<FoldedState> {
  const folded = new FoldedState(run, blobs, plan.base);
  for (const span of plan.spans) {
    for await (const rows of readRows(store, span.run, span.from, span.to)) await folded.apply(span.run, rows);
    if (folded.chain?.seq !== span.to) throw await explainMissing(store, span, folded.chain);
  }
  return folded;
}

/** Completes the report of a damaged checkpoint with the newest intact one before it, which the rows read so far may not show. */
async function nameIntact(
  store: Store,
  blobs: BlobStore,
  run: RunRow,
  error: unknown,
  plan: LoadPlan,
): Promise<unknown> {
  if (!CairnError.is(error, 'CHECKPOINT_CORRUPT') || error.data['intact'] !== undefined) return error;
  const first = plan.spans[0]!;
  if (plan.base === undefined) {
    // The earlier checkpoints were pruned, so the only start was the snapshot that could not be used: report its damage.
    return plan.damage !== undefined && first.run.prunedBelow > 0 ? plan.damage : error;
  }
  const before = plan.base.seq - 1;
  try {
    await foldStored(store, blobs, first.run, before);
    return withIntact(error, checkpointId((await readOwner(store, first.run, before)).key, before));
  } catch (earlier) {
    const intact = CairnError.is(earlier) ? earlier.data['intact'] : undefined;
    return intact === undefined ? error : withIntact(error, intact);
  }
}

function withIntact(error: CairnError, intact: unknown): CairnError {
  return new CairnError('CHECKPOINT_CORRUPT', { ...error.data, intact }, { cause: error.cause });
}

/** Explains why the last row read is not the one asked for: it was pruned, or it is lost. */
async function explainMissing(
  store: Store,
  { run, from, to }: LoadPlan['spans'][number],
  chain: Chain | undefined,
): Promise<CairnError> {
  const [next] = await store.readCheckpoints(run, { from: to, to: run.head, limit: 1 });
  const fold = next && decodeOrNothing(run, next)?.fold;
  if (next !== undefined && fold !== undefined && fold.after < to) return prunedError(run, to, next.seq);
  return missingError(run, Math.max(from, (chain?.seq ?? -1) + 1), chain?.intact);
}
