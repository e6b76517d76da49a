/** Examines a store for `cairn doctor`: which runs need a person, and whether unfinished runs could be resumed. */
import { commandText } from '../../errors.ts';
import type { Store, StoredStatus } from '../../ports/store.ts';
import { isHeld } from '../access/claim-run.ts';
import type { StatePlace } from '../access/place.ts';
import { openStatuses } from '../../ports/held-runs.ts';
import { isStopped } from '../read/list-runs.ts';
import { examineRuns, type Finding, type Progressed } from './examine-runs.ts';

const countedRuns = 1_000;
const listedMax = 5;
/** Smaller differences between times are none. */
const clockSlackMs = 1_000;
/** Less free room than this is not worth a word. */
const worthVacuumBytes = 16 * 1024 ** 2;

async function countRuns(store: Store, tenant: string): Promise<Finding> {
  const counts = new Map<StoredStatus, number>();
  const { rows, cursor } = await store.listRuns({ tenant, limit: countedRuns });
  for (const { status } of rows) counts.set(status, (counts.get(status) ?? 0) + 1);
  const parts = [...counts].map(([status, count]) => `${count} ${status}`);
  const more = cursor === undefined ? '' : ` among the newest ${countedRuns}`;
  return { name: 'runs', verdict: 'ok', detail: parts.length === 0 ? 'none' : parts.join(', ') + more };
}

async function findStopped({ store, tenant, isWorkerDead }: StatePlace): Promise<Finding> {
  const { rows } = await store.listRuns({ tenant, status: ['running'], limit: countedRuns });
  const stopped = rows.filter((run) => isStopped(run, isWorkerDead)).map(({ runId }) => runId);
  if (stopped.length === 0) return { name: 'stopped runs', verdict: 'ok', detail: 'none' };
  return {
    name: 'stopped runs',
    verdict: 'warning',
    detail: `${stopped.length} without a process: ${stopped.slice(0, listedMax).join(', ')}`,
    fix: commandText('resume', stopped[0] ?? 'RUN'),
  };
}

/** Runs whose workers ended while they advanced them. Undefined if there are none. */
async function findDeaths({ store, tenant }: StatePlace): Promise<Finding | undefined> {
  const { rows } = await store.listRuns({ tenant, status: ['running', 'cancelling', 'paused'], limit: countedRuns });
  const found = rows.filter(({ deaths }) => deaths > 0);
  if (found.length === 0) return undefined;
  const listed = found.slice(0, listedMax).map(({ runId, deaths }) => `${runId} (${deaths})`);
  return {
    name: 'lost processes',
    verdict: 'warning',
    detail: `${found.length} runs whose process ended while it advanced them, and how often in a row: ${listed.join(', ')}`,
    fix: commandText('log', found[0]?.runId ?? 'RUN'),
  };
}

async function findDoubts(store: Store, tenant: string): Promise<Finding> {
  const { rows } = await store.listWaits({ tenant, kinds: ['doubt'], isAnswered: false, limit: countedRuns });
  const runs = [...new Set(rows.map(({ runId }) => runId))];
  if (runs.length === 0) return { name: 'runs in doubt', verdict: 'ok', detail: 'none' };
  return {
    name: 'runs in doubt',
    verdict: 'warning',
    detail: `${runs.length}: ${runs.slice(0, listedMax).join(', ')}`,
    fix: 'cairn inbox',
  };
}

/** Reports runs that are held. Undefined if there are none, as in every store that was never restored from a backup. */
async function findHeld({ store, tenant }: StatePlace): Promise<Finding | undefined> {
  const { rows } = await store.listRuns({ tenant, status: openStatuses, limit: countedRuns });
  const runIds = rows.filter(isHeld).map(({ runId }) => runId);
  if (runIds.length === 0) return undefined;
  return {
    name: 'held runs',
    verdict: 'warning',
    detail: `${runIds.length} held and not released: ${runIds.slice(0, listedMax).join(', ')}`,
    fix: commandText('release', runIds[0] ?? 'RUN'),
  };
}

/**
 * Reports that the clock was set back: something was written later than now. Undefined if nothing was, and of a store on a server, which has
 * a clock of its own.
 */
async function findClock({ store, tenant, now }: StatePlace): Promise<Finding | undefined> {
  if (store.readTime !== undefined) return undefined;
  const { rows } = await store.listRuns({ tenant, limit: countedRuns });
  const workers = await store.listWorkers(tenant);
  const newest = Math.max(0, ...rows.map(({ updatedAt }) => updatedAt), ...workers.map(({ seenAt }) => seenAt));
  const setBackMs = newest - now();
  if (setBackMs <= clockSlackMs) return undefined;
  const writtenAt = new Date(newest).toISOString();
  return {
    name: 'clock',
    verdict: 'warning',
    detail: `it was set back by at least ${Math.ceil(setBackMs / 1_000)} s: the newest entry was written at ${writtenAt}`,
    fix: 'if the clock is wrong now, set it right; due times are corrected when their runs are taken up',
  };
}

/** Free room is reported where it is much, since it returns to the file system on request only. */
async function findSpace(store: Store): Promise<readonly Finding[]> {
  const space = await store.readSpace?.();
  if (space === undefined) return [];
  const { sizeBytes, freeBytes } = space;
  const isMuch = freeBytes >= worthVacuumBytes && freeBytes * 2 >= sizeBytes;
  const mib = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
  return [
    {
      name: 'room',
      verdict: isMuch && store.vacuum !== undefined ? 'warning' : 'ok',
      detail: `${mib(sizeBytes)}, of which ${mib(freeBytes)} are free for what is written later`,
      ...(isMuch && store.vacuum !== undefined && { fix: 'cairn cleanup --vacuum' }),
    },
  ];
}

/** Examines a store and returns one finding for each thing examined. @throws STORE_* as the store */
export async function examinePlace(place: StatePlace, progressed?: Progressed): Promise<readonly Finding[]> {
  const { store, blobs, tenant } = place;
  const { durability, isShared } = store.capabilities;
  const detail = `${store.name}: survives ${durability === 'power' ? 'a power cut' : durability === 'process' ? 'a killed process' : 'nothing'}${isShared ? ', can be shared by processes' : ''}`;
  const [held, clock, deaths] = [await findHeld(place), await findClock(place), await findDeaths(place)];
  return [
    { name: 'store', verdict: 'ok', detail },
    ...((await store.examine?.()) ?? []),
    ...(await findSpace(store)),
    await countRuns(store, tenant),
    await findStopped(place),
    ...(held === undefined ? [] : [held]),
    ...(clock === undefined ? [] : [clock]),
    ...(deaths === undefined ? [] : [deaths]),
    await findDoubts(store, tenant),
    await examineRuns(store, blobs, tenant, progressed),
  ];
}
