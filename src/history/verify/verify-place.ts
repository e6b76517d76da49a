/** Verifies everything in a store: each run's history, and the medium below them (C6). */
import { CairnError } from '../../errors.ts';
import type { RunRow } from '../../ports/store.ts';
import { readAllRuns, type StatePlace } from '../access/place.ts';
import { verifyRun, type VerifyReport } from './verify.ts';

/** The reports of all runs, and every fault found. */
export interface Verification {
  /** One report for each run. */
  readonly reports: readonly VerifyReport[];
  /** Damage of the store's medium, one line each. It is examined only when all runs are verified. */
  readonly damage: readonly string[];
  /** Whether no fault was found. */
  readonly isValid: boolean;
}

/** Verifies a store. @param run - only this run; default: all runs and the medium. @throws STORE_* as the store */
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
      // What could be read has been verified. The remaining runs cannot be listed.
      if (!CairnError.is(error, 'STORE_CORRUPT')) throw error;
      damage.push(error.message);
    }
  }
  return { reports, damage, isValid: damage.length === 0 && reports.every(({ faults }) => faults.length === 0) };
}
