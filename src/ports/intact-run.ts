/** Runs whose row is not as it was written: nobody goes on with them (C6). */
import { CairnError } from '../errors.ts';
import type { RunKey, RunRow } from './store.ts';

/** The error for such a run. @param store - the store's name */
export function damagedRun(store: string, { runId }: Pick<RunKey, 'runId'>): CairnError {
  return new CairnError('STORE_CORRUPT', { store, reason: `the row of run ${runId} was changed` });
}

/** Returns a row that is as it was written. @throws STORE_CORRUPT it is not */
export function requireIntact(store: string, run: RunRow): RunRow {
  if (run.isDamaged === true) throw damagedRun(store, run);
  return run;
}
