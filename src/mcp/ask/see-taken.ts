/** Makes sure that an answer is taken by a run that another process is advancing. */
import { perform } from '../../operations/declare/perform.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { CairnError } from '../../errors.ts';
import { findRun } from '../../operations/runs/find-run.ts';
import type { WorkContext } from '../../operations/declare/operation.ts';
import { resumeRun } from '../../operations/runs/resume-run.ts';

const lookEveryMs = 250;

/**
 * Waits until the answer is taken. The process that holds the run looks for answers from time to time. If it releases the run before it
 * sees the answer, the run is paused with an answer waiting, and is resumed here.
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
