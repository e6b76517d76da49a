/** The operation `fork`: makes a new run that continues from a checkpoint. */
import { objectOf, place, standing } from '../contract/output-shapes.ts';
import type { CheckpointRef } from '../../engine/api.ts';
import { refuseForkAnswers } from './reserved-answers.ts';
import { followRun } from './follow-run.ts';
import type { RoutedOperation, RunStanding, WorkContext } from '../contract/operation.ts';
import {
  branchFields,
  earlier,
  expectField,
  type BranchInput,
  type EarlierPoint,
  readBranch,
  readPoint,
  requireSame,
} from './preview-run.ts';

export interface ForkRunInput extends BranchInput {
  readonly runId?: string;
  readonly run?: boolean;
  readonly expect?: string;
}

export interface ForkRunOutput {
  /** The new run's first checkpoint. */
  readonly fork: CheckpointRef;
  /** The checkpoint that it goes on from. */
  readonly from: CheckpointRef;
  readonly earlier?: EarlierPoint;
  /** Where the new run stands, if it was advanced. */
  readonly result?: RunStanding;
}

export const forkRun: RoutedOperation<ForkRunInput, ForkRunOutput, WorkContext> = {
  name: 'fork_checkpoint',
  command: 'fork',
  summary: 'make a new run that goes on from a checkpoint; the original is untouched',
  details: 'Effects that are on record are not repeated. A fork with no effects makes no others either.',
  input: {
    ...branchFields,
    runId: { type: 'text', description: 'id of the new run' },
    // A model that forks wants to know what comes of it.
    run: { type: 'flag', description: 'run it at once', scope: 'run', modelDefault: true },
    expect: expectField,
  },
  output: 'the new run',
  outputSchema: objectOf({ fork: place, from: place }, { earlier, result: standing }),
  isReadOnly: false,
  scope: 'fork',
  route: 'POST /checkpoints/{checkpoint}/forks',
  tool: {},
  next: ({ fork, result }) =>
    result === undefined ? [{ operation: 'resume_run', input: { run: fork.runId }, why: 'run it' }] : [],
  /** @throws PREVIEW_CHANGED, ANSWER_RESERVED, and the errors of the engine's fork */
  async run(context, input) {
    const { from, origin, options } = await readBranch(context, input);
    const { runId, run = false, expect, ...branch } = input;
    // What a fork gets that cannot act counts for nothing outside, so it stands for nobody's answer.
    if (input.noEffects !== true)
      await refuseForkAnswers(context, {
        run: origin,
        checkpoint: input.checkpoint,
        set: options.set ?? [],
        answers: Object.keys(options.answers ?? {}),
        graph: options.graph,
      });
    await requireSame(context, expect, { ...branch, asFork: true });
    const fork = await context.engine.fork(from, { ...options, ...(runId !== undefined && { runId }) });
    const point = await readPoint(context, origin, from, options);
    if (!run) return { fork, ...point };
    const handle = await context.engine.resume(fork.runId, {
      ...(options.graph !== undefined && { graph: options.graph }),
      // No worker takes up a fork that cannot act.
      ...(context.isDetached === true && input.noEffects !== true && { detach: true }),
    });
    return { fork, ...point, result: await followRun(context, handle, fork.seq) };
  },
};
