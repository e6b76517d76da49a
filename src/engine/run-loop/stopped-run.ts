/** How a run stops in a process: why, as those who follow it are told, and what it leaves there. */
import { CairnError, type ErrorCode } from '../../errors.ts';
import { isEffect, type RunCore } from '../live-run/run-core.ts';

// The error that stopped a run, as those who follow it get it.

/** What has to be done first, by the code of what a store refused. */
const remedies: Readonly<Partial<Record<ErrorCode, string>>> = {
  STORE_FULL: 'Free some disk space',
  STORE_UNAVAILABLE: 'See that it can be reached',
  STORE_BUSY: 'Wait until the other process is done',
  STORE_READ_ONLY: 'Mend the file permissions',
  STORE_DENIED: 'Give the role its rights',
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

/** Whether a function is running that may be called again without a question where the run goes on, though nobody declared that it may. */
export function leavesWork(core: RunCore): boolean {
  for (const { activations } of core.frames())
    for (const { phase, node, stepsInFlight } of activations.values())
      if (phase === 'running' && !isEffect(node) && (node.isDeclared === false || stepsInFlight > 0)) return true;
  return false;
}

/** Whether a node is the one whose child run another one is in. */
export function isAround(path: readonly string[], inner: readonly string[] | undefined): boolean {
  return inner !== undefined && path.length < inner.length && path.every((id, index) => id === inner[index]);
}
