/** Releases runs that were restored from a backup, and reports which of their effects are in doubt. */
import { CairnError } from '../../errors.ts';
import type { Claim, RunRow } from '../../ports/store.ts';
import { loadState } from '../load/load.ts';
import { collectRuns } from '../place/all-rows.ts';
import { isHeld, letGo } from '../place/hold.ts';
import type { StatePlace } from '../place/place.ts';
import { encodeCheckpoint } from '../stored/checkpoint.ts';
import { viewState } from './state-view.ts';

/** A run that was released. */
export interface ReleasedRun {
  readonly runId: string;
  readonly graphId: string;
  readonly status: string;
  /**
   * Seq of the newest checkpoint that was restored. What the run did after it, before the original store was lost, may be done again with
   * the same idempotency keys; what has a `reconcile` is looked up first.
   */
  readonly head: number;
  /** Nodes whose effect had begun and has no result. They are in doubt, as after a crash. */
  readonly inDoubt: readonly string[];
}

/** Releases a run. @throws USAGE_INVALID the run is not held */
export async function releaseRun(place: StatePlace, run: RunRow): Promise<ReleasedRun> {
  const { runId, graphId, status, head } = run;
  const { store, blobs } = place;
  if (!isHeld(run))
    throw new CairnError('USAGE_INVALID', {
      reason: `run ${runId} is not held`,
      hint: 'Held runs: cairn ls --status held',
    });
  const { root, checksum } = await loadState(store, blobs, run);
  const { nodes } = viewState(root);
  await letGo(store, run, async (claim) => recordRelease(place, run, claim, checksum));
  const inDoubt = nodes.filter(({ hasOpenEffect }) => hasOpenEffect).map(({ path }) => path.join('/'));
  return { runId, graphId, status, head, inDoubt };
}

/** Records in the run's history that it was released, so that its effects are looked up before they begin (B3). */
async function recordRelease(
  { store, now }: StatePlace,
  run: RunRow,
  claim: Claim,
  checksum: Uint8Array,
): Promise<void> {
  const [seq, at] = [run.head + 1, now()];
  const change = JSON.stringify([{ kind: 'resume', by: 'release' }]);
  const encoded = encodeCheckpoint({ runKey: run.key, seq }, checksum, at, change, '[["s",["released"],true]]');
  await store.commit({ claim, checkpoint: { seq, at, ...encoded }, durability: store.capabilities.durability });
}

export async function releaseAllRuns(place: StatePlace): Promise<readonly ReleasedRun[]> {
  const released: ReleasedRun[] = [];
  for (const run of await collectRuns(place)) if (isHeld(run)) released.push(await releaseRun(place, run));
  return released;
}
