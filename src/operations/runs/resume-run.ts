/** The operation `resume`: goes on with a run that is paused, has failed, or whose process is dead. */
import { exportField, runField } from '../contract/fields.ts';
import { standing } from '../contract/output-shapes.ts';
import type { Amounts } from '../../graph/amounts.ts';
import { fileOf } from '../../engine/commands/find-graph.ts';
import { CairnError } from '../../errors.ts';
import { doorOf } from '../contract/door.ts';
import { findCheckpointToChange } from './find-run.ts';
import type { RunRow } from '../../ports/store.ts';
import { followRun } from './follow-run.ts';
import { readWait } from '../../history/stored/wait-row.ts';
import { refuseAnswer } from './reserved-answers.ts';
import type { RoutedOperation, RunStanding, StoredDefinition, WorkContext } from '../contract/operation.ts';
import { expectField, requireSame } from './preview-run.ts';
import { isFromText } from './run-outputs.ts';

export interface ResumeRunInput {
  readonly run: string;
  readonly file?: string;
  readonly export?: string;
  readonly leaveOutAdded?: boolean;
  readonly anyVersion?: boolean;
  readonly retry?: boolean;
  readonly budget?: Amounts;
  readonly by?: string;
  readonly expect?: string;
}

/** Compares a run's definition with its file. The run uses the definition recorded with it; a difference is only reported. */
async function compareWithFile(context: WorkContext, run: RunRow): Promise<StoredDefinition | undefined> {
  const { source } = await fileOf(context, run);
  // Who calls from elsewhere has no file to compare with.
  if (source === undefined || !isFromText(run) || context.stayMs !== undefined) return undefined;
  try {
    // As a text: a module of that name is not imported only because the run names it.
    const { graph } = (await context.loadWorkflow(source)).workflow;
    return graph.hash === run.graphHash ? undefined : { source, became: 'changed' };
  } catch (error) {
    return { source, became: CairnError.is(error, 'GRAPH_INVALID') ? 'broken' : 'gone' };
  }
}

/**
 * More to spend is for people to give, as is the answer to the question about it, which a resume with a budget closes. @throws
 * ANSWER_RESERVED
 */
function refuseBudget({ reserved }: WorkContext, run: string): void {
  if (reserved === undefined) return;
  const command = reserved.command('resume', run, '--budget', 'UNIT=AMOUNT');
  throw new CairnError('ANSWER_RESERVED', { runId: run, reason: 'a budget is raised by a person', command });
}

/** A resume with `retry` answers questions about commands that ended: those may be reserved for people. @throws ANSWER_RESERVED */
async function refuseRetry(context: WorkContext, { runId }: RunRow): Promise<void> {
  const { store, tenant, reserved } = context;
  if (reserved === undefined) return;
  const [open] = (await store.listWaits({ tenant, runId, kinds: ['doubt'], limit: 1 })).rows;
  if (open !== undefined) refuseAnswer(context, { runId, waitId: open.waitId, wait: readWait(open) });
}

export const resumeRun: RoutedOperation<ResumeRunInput, RunStanding, WorkContext> = {
  name: 'resume_run',
  command: 'resume',
  summary: 'go on with a run: after an answer, a failure or a crash',
  input: {
    run: runField('the run; or a checkpoint of it: a fork goes on from one that is not the newest'),
    file: {
      type: 'text',
      description: 'take the graph from this file, not the one the run was started with',
      isLocal: true,
    },
    export: exportField,
    leaveOutAdded: {
      type: 'flag',
      description: 'go on though effects were added where the run is past: they never run',
    },
    anyVersion: {
      type: 'flag',
      description:
        'from here on workers of any version may go on with it, until one does: for those that are pinned to a version',
    },
    retry: {
      type: 'flag',
      description:
        'try commands again that ended with an exit code; without it, it is asked whether they happened. Where that is asked already, this is the answer',
    },
    budget: { type: 'assignments', description: 'what the run may spend in all from now on: usd=8' },
    by: { type: 'text', description: 'who resumes, for the record', isActor: true },
    expect: expectField,
  },
  output: 'where the run stands',
  outputSchema: standing,
  isReadOnly: false,
  scope: 'run',
  route: 'POST /runs/{run}/resume',
  /** @throws PREVIEW_CHANGED, ANSWER_RESERVED, and the errors of the engine's resume */
  async run(context, { run, file, export: exportName, leaveOutAdded, anyVersion, retry = false, budget, by, expect }) {
    if (budget !== undefined) refuseBudget(context, run);
    await requireSame(context, expect, {
      checkpoint: run,
      ...(file !== undefined && { file }),
      ...(exportName !== undefined && { export: exportName }),
      ...(leaveOutAdded !== undefined && { leaveOutAdded }),
      ...(retry && { retry }),
      ...(budget !== undefined && { budget }),
    });
    const { run: row, seq } = await findCheckpointToChange(context, run);
    const loaded = file === undefined ? undefined : await context.loadGraph(file, exportName);
    const { graph } = loaded ?? {};
    const options = { ...(graph !== undefined && { graph }), ...(leaveOutAdded !== undefined && { leaveOutAdded }) };
    const from = { runId: row.runId, seq };
    const isHead = seq === row.head;
    const next = isHead
      ? from
      : await context.engine.fork(from, { ...options, ...doorOf(context), ...(by !== undefined && { by }) });
    if (retry) await refuseRetry(context, row);
    const more = {
      ...doorOf(context),
      ...(context.isDetached === true && { detach: true }),
      ...(retry && { retry }),
      ...(anyVersion === true && { anyVersion }),
      ...(budget !== undefined && { budget }),
      ...(by !== undefined && { by }),
    };
    const { source, exportName: taken } = loaded ?? {};
    const place = source === undefined ? {} : { file: { source, ...(taken !== undefined && { exportName: taken }) } };
    const handle = await context.engine.resume(next.runId, { ...options, ...place, ...more });
    const definition = graph === undefined ? await compareWithFile(context, row) : undefined;
    const standing = await followRun(context, handle, next.seq);
    return { ...standing, ...(!isHead && { forkedFrom: from }), ...(definition !== undefined && { definition }) };
  },
};
