/** The error that stopped a run, as those who follow it get it. */
import { CairnError, type ErrorCode } from '../../errors.ts';

/** What has to be done first, by the code of what a store refused. */
const remedies: Readonly<Partial<Record<ErrorCode, string>>> = {
  STORE_FULL: 'Free some disk space',
  STORE_UNAVAILABLE: 'See that it can be reached',
  STORE_BUSY: 'Wait until the other process is done',
  STORE_READ_ONLY: 'Mend the file permissions',
};

/**
 * Elsewhere these errors say to do the same again. To start a run again that was recorded would begin another one, so that here they name
 * the run to resume.
 */
export function stoppedBy(error: unknown, runId: string): unknown {
  if (!CairnError.is(error)) return error;
  const remedy = remedies[error.code];
  if (remedy === undefined) return error;
  const hint = `${remedy}, then resume run ${runId}: what was committed is kept.`;
  return new CairnError(error.code, { ...error.data, hint }, { cause: error });
}
