/** Whether all that is kept in a place is whole: each history, and what the store itself stands on (C6). */
import { CairnError } from '../../errors.ts';
import type { RunRow } from '../../ports/store.ts';
import { readAllRuns } from '../place/all-rows.ts';
import type { StatePlace } from '../place/place.ts';
import { verifyRun, type VerifyReport } from './verify.ts';

/** What was looked at, and every fault. */
export interface Verification {
  /** One a run. */
  readonly reports: readonly VerifyReport[];
  /** What is wrong with the store below its runs, a line each; looked at only where all runs are. */
  readonly damage: readonly string[];
  /** Nothing is at fault. */
  readonly isSound: boolean;
}

/** @param run - only this one; default: all, and the store. @throws STORE_* as the store */
export async function verifyPlace(place: StatePlace, run?: RunRow): Promise<Verification> {
  const { store, blobs } = place;
  const reports: VerifyReport[] = [];
  const damage: string[] = [];
  if (run !== undefined) reports.push(await verifyRun(store, blobs, run));
  else {
    try {
      damage.push(...((await store.findDamage?.()) ?? []));
      for await (const row of readAllRuns(place)) reports.push(await verifyRun(store, blobs, row));
    } catch (error) {
      // What can still be read has been looked at; the rest cannot be listed.
      if (!CairnError.is(error, 'STORE_CORRUPT')) throw error;
      damage.push(error.message);
    }
  }
  return { reports, damage, isSound: damage.length === 0 && reports.every(({ faults }) => faults.length === 0) };
}
