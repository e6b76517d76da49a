/** Removes runs with everything that belongs to them. */
import { CairnError } from '../../errors.ts';
import { readAllRuns, isHeld, type StatePlace } from '../access/place.ts';
import { addNamed, collectBlobs, type CollectedBlobs, type NamedBlobs } from './collect-blobs.ts';

/** What was removed with a run. */
export interface RemovedRuns extends CollectedBlobs {
  /** Ids of the runs removed, forks first. */
  readonly removed: readonly string[];
}

export interface RemoveOptions {
  /** Whether runs forked from it are removed too. Default: a run with forks is refused. */
  readonly withForks?: boolean;
  /** Whether to only report what would be removed. Nothing is changed. */
  readonly dryRun?: boolean;
}

/** The run and all its forks at any depth, those without forks of their own first. */
async function readFamily(place: StatePlace, runId: string): Promise<readonly string[]> {
  const families: (readonly string[])[] = [];
  for await (const fork of readAllRuns(place, { parentRunId: runId }))
    families.push(await readFamily(place, fork.runId));
  return [...families.flat(), runId];
}

/** Removes a run. @param runId - its id. @throws RUN_NOT_FOUND, CLAIM_TAKEN, RUN_HELD; HISTORY_HAS_FORKS it has forks that are to stay */
export async function removeRun(
  place: StatePlace,
  runId: string,
  { withForks = false, dryRun = false }: RemoveOptions = {},
): Promise<RemovedRuns> {
  const { store, blobs, tenant } = place;
  const family = await readFamily(place, runId);
  const forks = family.slice(0, -1);
  if (forks.length > 0 && !withForks) throw new CairnError('HISTORY_HAS_FORKS', { runId, forks });
  for (const member of family) {
    const run = await store.readRun({ tenant, runId: member });
    if (run !== undefined && isHeld(run)) throw new CairnError('RUN_HELD', { runId: member });
  }
  if (dryRun) return { removed: family, blobs: 0 };
  const named: NamedBlobs = new Map();
  for (const member of family) {
    await addNamed(store, { tenant, runId: member }, named);
    await store.removeRun({ tenant, runId: member });
  }
  return { removed: family, ...(await collectBlobs(store, blobs, tenant, named)) };
}
