/** `resume`: goes on with a run that is paused, failed or was left by a dead process. */
import type { RunResult } from '../engine/api.ts';
import { findRun } from './find-run.ts';
import type { Operation, WorkContext } from './operation.ts';
import { followRun } from './start-run.ts';

export interface ResumeRunInput {
  readonly run: string;
  readonly file?: string;
  readonly export?: string;
}

export const resumeRun: Operation<ResumeRunInput, RunResult, WorkContext> = {
  name: 'resume',
  summary: 'go on with a run: after an answer, a failure or a crash',
  input: {
    run: { type: 'text', description: 'the run', isRequired: true, isPositional: true },
    file: { type: 'text', description: 'take the graph from this module, not from where it was' },
    export: { type: 'text', description: 'the name of the export in that module' },
  },
  output: 'where the run stands',
  isReadOnly: false,
  async run(context, { run, file, export: exportName }) {
    const { runId, head } = await findRun(context, run);
    const graph = file === undefined ? undefined : (await context.loadGraph(file, exportName)).graph;
    const handle = await context.engine.resume(runId, graph === undefined ? {} : { graph });
    return followRun(context, handle, head);
  },
};
