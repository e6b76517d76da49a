/** The operation `graph`: shows the tree of a run and its forks. */
import { checkpointField, runField } from '../contract/fields.ts';
import {
  anything,
  definition,
  flag,
  listOf,
  objectOf,
  position,
  text,
  texts,
  time,
  whole,
} from '../contract/output-shapes.ts';
import { resolveReference } from '../../history/read/references.ts';
import { readStructure } from '../../history/explain/structures.ts';
import { CairnError } from '../../errors.ts';
import { graphRuns as readGraph, type RunGraph } from '../../history/explain/run-graph.ts';
import type { HistoryContext, RoutedOperation } from '../contract/operation.ts';

export interface GraphRunsInput {
  readonly run: string;
}

export type GraphRunsOutput = RunGraph;

export const graphRuns: RoutedOperation<GraphRunsInput, GraphRunsOutput, HistoryContext> = {
  name: 'graph_runs',
  command: 'graph',
  summary: 'show the tree of a run and its forks: where each left, and with what',
  details: 'Each run comes before its forks.',
  input: {
    run: runField('the run, by id or its beginning'),
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
          createdAt: time,
          updatedAt: time,
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
  scope: 'read',
  route: 'GET /runs/{run}/forks',
  tool: {},
  async run(context, { run }) {
    return readGraph(context, (await resolveReference(context.store, context.tenant, run)).run);
  },
};

export interface ReadRunStructureInput {
  readonly checkpoint: string;
}

export interface ReadRunStructureOutput {
  readonly runId: string;
  readonly seq: number;
  readonly graphId: string;
  /** The graph as data, without code: nodes with their effects and graphs within, edges, channels. */
  readonly structure: unknown;
}

export const readRunStructure: RoutedOperation<ReadRunStructureInput, ReadRunStructureOutput, HistoryContext> = {
  name: 'read_structure',
  summary: 'show the graph that a run had at a checkpoint, as data',
  input: {
    checkpoint: checkpointField('the run, or a checkpoint of it: RUN, RUN@12, RUN@tag'),
  },
  output: 'the graph: its nodes and edges',
  outputSchema: objectOf({ runId: text, seq: whole, graphId: text, structure: definition }),
  isReadOnly: true,
  scope: 'read',
  route: 'GET /checkpoints/{checkpoint}/structure',
  /** @throws USAGE_INVALID the run was started by a version that recorded no structure */
  async run(context, { checkpoint }) {
    const found = await resolveReference(context.store, context.tenant, checkpoint);
    const structure = await readStructure(context, found);
    const { runId, graphId } = found.run;
    if (structure === undefined)
      throw new CairnError('USAGE_INVALID', {
        reason: `no structure is recorded with ${runId}`,
        hint: 'Runs of older versions have none.',
      });
    return { runId, seq: found.seq, graphId, structure };
  },
};
