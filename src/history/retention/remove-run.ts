/** Removes runs with everything that belongs to them. */
import { CairnError } from '../../errors.ts';
import { rememberedMs } from '../../graph/retention.ts';
import { readAllRuns } from '../access/read-all.ts';
import { loadState } from '../load/load.ts';
import { experimentGraphId, isOfExperiment } from '../stored/run-ids.ts';
import { isHeld } from '../access/claim-run.ts';
import type { StatePlace } from '../access/place.ts';
import { addNamed, collectBlobs, type CollectedBlobs, type NamedBlobs } from './collect-blobs.ts';

/** What was removed with a run. */
export interface RemovedRuns extends CollectedBlobs {
  /** Ids of the runs removed, forks first. */
  readonly removed: readonly string[];
  /** Id of a run that was removed before and is forgotten now. */
  readonly forgotten?: string;
}

export interface RemoveOptions {
  /** Whether runs forked from it are removed too. Default: a run with forks is refused. */
  readonly withForks?: boolean;
  /** Whether to only report what would be removed. Nothing is changed. */
  readonly dryRun?: boolean;
  /** Whether it is forgotten, so that its id may be used again. Default: it is remembered for 30 days. */
  readonly forget?: boolean;
}

/** The runs that an experiment is of; none for any other run. Its forks are forks of those. */
async function itemsOf({ store, blobs, tenant }: StatePlace, runId: string): Promise<readonly string[]> {
  if (!isOfExperiment(runId)) return [];
  const run = await store.readRun({ tenant, runId });
  if (run?.graphId !== experimentGraphId) return [];
  const { input } = (await loadState(store, blobs, run)).root.frame;
  return (input as { readonly items?: readonly string[] }).items ?? [];
}

/** The run and all its forks at any depth, those without forks of their own first. */
async function readFamily(place: StatePlace, runId: string): Promise<readonly string[]> {
  const families: (readonly string[])[] = [];
  for await (const fork of readAllRuns(place, { parentRunId: runId }))
    families.push(await readFamily(place, fork.runId));
  for (const item of await itemsOf(place, runId)) {
    for await (const fork of readAllRuns(place, { parentRunId: item }))
      if (fork.runId.startsWith(`${runId}:`)) families.push(await readFamily(place, fork.runId));
    if (item.startsWith(`${runId}:`)) families.push([item]);
  }
  return [...families.flat(), runId];
}

/** Forgets a run that was removed. @returns undefined if none of this id is remembered */
export async function forgetRun(
  { store, tenant }: Pick<StatePlace, 'store' | 'tenant'>,
  runId: string,
  isDry = false,
): Promise<RemovedRuns | undefined> {
  const line = await store.removals?.read({ tenant, runId });
  if (line === undefined) return undefined;
  if (!isDry) await store.removals?.forget({ tenant, runId });
  return { removed: [], forgotten: runId, blobs: 0 };
}

/** Removes a run. @param runId - its id. @throws RUN_NOT_FOUND, CLAIM_TAKEN, RUN_HELD; HISTORY_HAS_FORKS it has forks that are to stay */
export async function removeRun(
  place: StatePlace,
  runId: string,
  { withForks = false, dryRun = false, forget = false }: RemoveOptions = {},
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
  await addNamed(store, tenant, family, named);
  for (const member of family) {
    await store.removeRun(
      { tenant, runId: member },
      forget ? undefined : { because: 'removed', rememberMs: rememberedMs },
    );
  }
  return { removed: family, ...(await collectBlobs(store, blobs, tenant, named)) };
}
