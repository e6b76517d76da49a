/** Reads what is open in a store, for the gauges that one process of a fleet tells. */
import { countOpen, listWorkers, readBacklog } from '../../history/read/list-workers.ts';
import type { ReadPlace } from '../../history/access/place.ts';
import type { Gauges } from './metrics.ts';

/** A store that has not answered by then is down. */
const answerMs = 2_000;

/** Asks the store for what is open; what has ended costs nothing. If it does not answer, `cairn_store_up` is 0, and is all there is. */
export async function readStoreGauges(
  place: Pick<ReadPlace, 'store' | 'tenant' | 'isWorkerDead' | 'now'>,
): Promise<Gauges> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('late')), answerMs);
  try {
    return await Promise.race([readOpen(place), late]);
  } catch {
    return { cairn_store_up: [{ value: 0 }] };
  } finally {
    clearTimeout(timer);
  }
}

async function readOpen(place: Pick<ReadPlace, 'store' | 'tenant' | 'isWorkerDead' | 'now'>): Promise<Gauges> {
  const { store, tenant, now } = place;
  const { runs, waits, overdue } = await countOpen(store, tenant, now());
  const { ready, oldestMs = 0 } = await readBacklog(store, now(), { tenant });
  const workers = await listWorkers(place);
  const space = await store.readSpace?.();
  return {
    cairn_store_up: [{ value: 1 }],
    cairn_runs_open: Object.entries(runs).map(([status, value]) => ({ labels: { status }, value })),
    cairn_waits_open: [{ value: waits }],
    cairn_waits_overdue: [{ value: overdue }],
    cairn_backlog_runs: [{ value: ready }],
    cairn_backlog_age_seconds: [{ value: oldestMs / 1_000 }],
    cairn_workers: [{ value: workers.filter(({ isAlive }) => isAlive).length }],
    ...(space && { cairn_store_bytes: [{ value: space.sizeBytes }] }),
  };
}
