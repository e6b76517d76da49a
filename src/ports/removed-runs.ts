/** What is said of a run that was removed. */
import { CairnError } from '../errors.ts';
import type { RemovedRun } from './removals.ts';
import type { RunKey, Store } from './store.ts';

const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** The error for whoever starts, answers or reads a run that was removed. */
export function expiredError({ runId, removedAt, because, until }: RemovedRun): CairnError {
  return new CairnError('RUN_EXPIRED', {
    runId,
    removedOn: dayOf(removedAt),
    until: dayOf(until),
    removedAt: new Date(removedAt).toISOString(),
    ...(because === 'expired' && { reason: 'its graph keeps runs no longer' }),
  });
}

/** The error for whoever wants a run that is not there: RUN_EXPIRED if it was removed and is remembered, else RUN_NOT_FOUND. */
export async function missingRun({ removals }: Pick<Store, 'removals'>, key: RunKey): Promise<CairnError> {
  const line = await removals?.read(key);
  return line === undefined ? new CairnError('RUN_NOT_FOUND', { runId: key.runId }) : expiredError(line);
}
