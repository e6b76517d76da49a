/** The operation `cancel`: ends a run. Its history stays. */
import { setTimeout as delay } from 'node:timers/promises';
import { CairnError } from '../../errors.ts';
import { runField } from '../contract/fields.ts';
import { objectOf, text } from '../contract/output-shapes.ts';
import type { CancelOptions } from '../../engine/api.ts';
import { doorOf } from '../contract/door.ts';
import { findRun, findRunToChange, quotedRun } from './find-run.ts';
import type { RoutedOperation, WorkContext } from '../contract/operation.ts';

export interface CancelRunInput {
  readonly run: string;
  readonly reason?: string;
  readonly by?: string;
  readonly force?: boolean;
}

export interface CancelRunOutput {
  readonly runId: string;
  /**
   * The run's status. `running`: its owner got the request to cancel it and is still ending what is under way. `cancelling`: the node that
   * follows a cancel has not ended. `failed`: that node failed; a resume tries it again, and `force` abandons it.
   */
  readonly status: string;
}

export const cancelRun: RoutedOperation<CancelRunInput, CancelRunOutput, WorkContext> = {
  name: 'cancel_run',
  command: 'cancel',
  summary: 'end a run; its history stays',
  details:
    'running: its process was asked and has yet to end it. cancelling: what follows a cancel is under way. A fork can go on from any of its checkpoints.',
  input: {
    run: runField(),
    reason: { type: 'text', description: 'why; the node that follows a cancel is told' },
    by: { type: 'text', description: 'who cancels, for the record', isActor: true },
    force: { type: 'flag', description: 'end it without the node that follows a cancel, or give up on that node' },
  },
  output: 'the run and its status',
  outputSchema: objectOf({ runId: text, status: text }),
  isReadOnly: false,
  scope: 'run',
  route: 'POST /runs/{run}/cancel',
  tool: { isDestructive: true, isIdempotent: true },
  async run(context, { run, reason, by, force }) {
    const { runId } = await findRunToChange(context, run);
    const options = {
      ...doorOf(context),
      ...(reason !== undefined && { reason }),
      ...(by !== undefined && { by }),
      ...(force === true && { force }),
    };
    return { runId, status: await cancelled(context, runId, options) };
  },
};

/** How often the run is looked at after the request to its owner, and the pause in between: two seconds in all. */
const looks = 40;
const pauseMs = 50;

/**
 * Cancels a run. Usually nobody has it, and it ends at once. Otherwise its owner gets a request, and may finish or release the run before
 * it sees it. So the run is looked at for a while: a run that was released is cancelled here, and of one that finished it is said.
 * @throws RUN_NOT_FOUND; RUN_FINISHED it has completed, maybe since the request
 */
async function cancelled(context: WorkContext, runId: string, options: CancelOptions): Promise<string> {
  await context.engine.cancel(runId, options);
  let hasBegun = false;
  for (let look = 1; ; look += 1) {
    const { status, claim } = await findRun(context, quotedRun(runId));
    // What follows a cancel may fail, or wait for somebody.
    hasBegun ||= status === 'cancelling';
    if (status === 'cancelled' || (hasBegun && status !== 'cancelling')) return status;
    if (status === 'completed') {
      const hint = 'The request came too late: it finished first. Fork it to go on from one of its checkpoints.';
      throw new CairnError('RUN_FINISHED', { runId, status, hint });
    }
    if (look === looks) return status;
    if (claim === undefined && !hasBegun) await context.engine.cancel(runId, options);
    await delay(pauseMs);
  }
}
