/** Verifies everything in a store: each run's history, and the medium below them (C6). */
import { CairnError } from '../../errors.ts';
import type { RunRow } from '../../ports/store.ts';
import { readAllRuns } from '../access/read-all.ts';
import type { StatePlace } from '../access/place.ts';
import { SoundBlobs, verifyRun, type VerifyReport } from './verify.ts';

/** What is found beside the runs' reports. */
export interface VerifiedPlace {
  /** Damage of the store's medium, one line each. It is examined only when all runs are verified. */
  readonly damage: readonly string[];
  /** Whether no fault was found. */
  readonly isValid: boolean;
}

/** The reports of all runs, and every fault found. */
export interface Verification extends VerifiedPlace {
  /** One report for each run. */
  readonly reports: readonly VerifyReport[];
}

/** Runs that are read at the same time. */
const atOnce = 8;

/** Verifies a store. @param run - only this run; default: all runs and the medium. @throws STORE_* as the store */
export async function verifyPlace(place: StatePlace, run?: RunRow): Promise<Verification> {
  if (run !== undefined) {
    const report = await verifyRun(place.store, place.blobs, run);
    return { reports: [report], damage: [], isValid: report.faults.length === 0 };
  }
  const reports: VerifyReport[] = [];
  const each = verifyEach(place);
  for (let next = await each.next(); ; next = await each.next()) {
    if (next.done === true) return { reports, ...next.value };
    reports.push(next.value);
  }
}

/**
 * Verifies all runs and the medium, and gives each run's report as soon as it is made, newest run first: memory does not grow with the
 * store. @throws STORE_* as the store
 */
export async function* verifyEach(place: StatePlace): AsyncGenerator<VerifyReport, VerifiedPlace> {
  const { store, blobs } = place;
  const damage: string[] = [];
  const sound = new SoundBlobs();
  const pending: Promise<VerifyReport>[] = [];
  let isValid = true;
  const next = async (): Promise<VerifyReport> => {
    const report = await (pending.shift() as Promise<VerifyReport>);
    isValid &&= report.faults.length === 0;
    return report;
  };
  try {
    damage.push(...((await store.findDamage?.()) ?? []));
    for await (const row of readAllRuns(place)) {
      const report = verifyRun(store, blobs, row, sound);
      // Whoever stops reading hears of no later one.
      report.catch(() => undefined);
      pending.push(report);
      if (pending.length >= atOnce) yield await next();
    }
    while (pending.length > 0) yield await next();
  } catch (error) {
    // What could be read has been verified. The remaining runs cannot be listed.
    if (!CairnError.is(error, 'STORE_CORRUPT')) throw error;
    damage.push(error.message);
  }
  return { damage, isValid: isValid && damage.length === 0 };
}
