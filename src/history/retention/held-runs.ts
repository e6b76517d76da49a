/** Holds runs, and releases them again: a person decides when it is known what they did since. */
import { CairnError } from '../../errors.ts';
import { heldBy, heldMs, openStatuses } from '../../ports/held-runs.ts';
import type { Claim, RunRow, Store } from '../../ports/store.ts';
import { collectRuns } from '../access/read-all.ts';
import { isHeld, refusalOf } from '../access/claim-run.ts';
import type { ReadPlace, StatePlace } from '../access/place.ts';
import { loadState } from '../load/load.ts';
import { viewState } from '../read/checkpoint-view.ts';
import { encodeCheckpoint } from '../stored/checkpoint.ts';

/** A run that is held. */
export interface HeldRun {
  readonly runId: string;
  readonly graphId: string;
  readonly status: string;
  /** Seq of the newest checkpoint that is known here. */
  readonly head: number;
}

/** A run that was released. */
export interface ReleasedRun extends HeldRun {
  /**
   * Seq of the newest checkpoint that is known here. What the run did after it elsewhere may be done again with the same idempotency keys;
   * what has a `reconcile` is looked up first.
   */
  readonly head: number;
  /** Nodes whose effect had begun and has no result. They are in doubt, as after a crash. */
  readonly inDoubt: readonly string[];
}

/** How often others may claim a run while it is taken from them. */
const takeTries = 20;

/** Whether a run may go on, so that it can be held. */
const isOpen = (run: RunRow): boolean => openStatuses.some((status) => status === run.status);

/** Takes a run over from its owner, if any, and holds it. */
async function hold(store: Store, { tenant, runId, claim }: RunRow): Promise<void> {
  const request = { tenant, runId, workerId: heldBy, leaseMs: heldMs };
  let owner = claim?.workerId;
  for (let tries = 1; ; tries += 1) {
    const reply = await store.claimRun({ ...request, ...(owner !== undefined && { takeFrom: owner }) });
    if (reply.claim !== undefined) return;
    if (tries === takeTries) throw refusalOf(runId, reply.owner, reply.remainingMs);
    owner = reply.owner;
  }
}

/**
 * Holds a run: whoever advances it loses its claim, and nobody takes it up before it is released. Answers, signals and cancellations are
 * kept for later. @throws USAGE_INVALID the run is over
 */
export async function holdRun(store: Store, run: RunRow): Promise<HeldRun> {
  const { runId, graphId, status, head } = run;
  if (!isOpen(run))
    throw new CairnError('USAGE_INVALID', {
      reason: `run ${runId} is ${status}`,
      hint: 'What is over does nothing more.',
    });
  if (!isHeld(run)) await hold(store, run);
  return { runId, graphId, status, head };
}

/** Holds every run that is not over, and was not held. */
export async function holdAllRuns(place: Pick<ReadPlace, 'store' | 'tenant'>): Promise<readonly HeldRun[]> {
  const held: HeldRun[] = [];
  for (const run of await collectRuns(place, { status: openStatuses }))
    if (!isHeld(run)) held.push(await holdRun(place.store, run));
  return held;
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
  const { tenant } = run;
  const reply = await store.claimRun({ tenant, runId, workerId: heldBy, leaseMs: heldMs, takeFrom: heldBy });
  if (reply.claim === undefined) throw refusalOf(runId, reply.owner, reply.remainingMs);
  await recordRelease(place, run, reply.claim, checksum);
  await store.releaseClaim(reply.claim);
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

/** Releases every run that is held. */
export async function releaseAllRuns(place: StatePlace): Promise<readonly ReleasedRun[]> {
  const released: ReleasedRun[] = [];
  for (const run of await collectRuns(place, { status: openStatuses }))
    if (isHeld(run)) released.push(await releaseRun(place, run));
  return released;
}
