/**
 * Held runs: nobody can advance one until a person releases it. Runs are held where it is not known what they did since: in a restored
 * backup, in a copy of a store, in a server that was taken back to an earlier time.
 *
 * To a store a held run is one with a claim that lasts practically for ever, so every store can hold runs, and no worker takes them. The
 * claim outlives the process that made it, and the server.
 */
import type { StoredStatus } from './store.ts';

/** Worker id in the claim of a held run. No real worker has it. */
export const heldBy = 'held';

/** Lease of a held run: a hundred years, in milliseconds. */
export const heldMs: number = 100 * 365 * 24 * 3_600_000;

/** Statuses of runs that are not finished for good: they may go on, or a person may resume them. These are held. */
export const openStatuses: readonly Exclude<StoredStatus, 'completed' | 'cancelled'>[] = [
  'running',
  'paused',
  'cancelling',
  'failed',
];

/** Tells that a store is elsewhere than where it was used before, so that its open runs are held. */
export function warnOfMove(store: string, runs: number): void {
  if (runs === 0) return;
  process.emitWarning(
    `${store} was restored or copied to where it is now: ${runs === 1 ? 'the run that is' : `the ${runs} runs that are`} not over ${runs === 1 ? 'is' : 'are'} held, since what they did elsewhere is not known here. Look at them (cairn ls --status held), then let them go on (cairn release RUN, or --all)`,
    { code: 'CAIRN_STORE_MOVED' },
  );
}
