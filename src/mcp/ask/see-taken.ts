/** Sees to it that an answer is taken into a run that another process works on. */
import { perform } from '../../operations/declare/perform.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { CairnError } from '../../errors.ts';
import { findRun } from '../../operations/runs/find-run.ts';
import type { WorkContext } from '../../operations/declare/operation.ts';
import { resumeRun } from '../../operations/runs/resume-run.ts';

const lookEveryMs = 250;

/**
 * The process that holds a run looks for answers now and then. If it lets go of the run before it has looked, the run is paused
 * with an answer on its desk: then it goes on here.
 */
export async function seeTaken(context: WorkContext, runId: string): Promise<void> {
  for (;;) {
    await sleep(lookEveryMs, undefined, { ref: false });
    const { hasMessages } = await findRun(context, runId);
    if (!hasMessages) return;
    try {
      await perform(resumeRun, context, { run: runId });
    } catch (error) {
      if (!CairnError.is(error, 'CLAIM_TAKEN')) throw error;
    }
  }
}
