/** The operation `graph`: shows the tree of a run and its forks. */
import { anything, flag, listOf, objectOf, position, text, texts, whole } from '../declare/output-shapes.ts';
import { resolveReference } from '../../history/read/tag-checkpoint.ts';
import { graphRuns as readGraph, type RunGraph } from '../../history/trace/run-graph.ts';
import type { HistoryContext, Operation } from '../declare/operation.ts';

export interface GraphRunsInput {
  readonly run: string;
}

export type GraphRunsOutput = RunGraph;

export const graphRuns: Operation<GraphRunsInput, GraphRunsOutput, HistoryContext> = {
  name: 'graph',
  summary: 'show the tree of a run and its forks: where each left, and with what',
  input: {
    run: { type: 'text', description: 'the run, by id or its beginning', isRequired: true, isPositional: true },
  },
  output: 'the runs, each before its forks',
  outputSchema: objectOf({
    runId: text,
    runs: listOf(
      objectOf(
        {
          runId: text,
          graphId: text,
          status: text,
          head: whole,
          createdAt: whole,
          updatedAt: whole,
          tags: listOf(objectOf({ name: text, seq: whole })),
          isCurrent: flag,
        },
        {
          parent: position,
          changed: objectOf(
            { set: listOf(objectOf({ path: text }, { value: anything })), answers: texts, isOtherGraph: flag },
            { by: text },
          ),
        },
      ),
    ),
  }),
  isReadOnly: true,
  async run(context, { run }) {
    return readGraph(context, (await resolveReference(context.store, context.tenant, run)).run);
  },
};
