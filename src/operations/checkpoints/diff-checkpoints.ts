/** The operation `diff`: compares two checkpoints, or two runs. */
import { checkpointField } from '../contract/fields.ts';
import {
  listOf,
  nodeRow,
  objectOf,
  place,
  text,
  texts,
  described,
  valueDifference,
} from '../contract/output-shapes.ts';
import { type CheckpointDifference, diffCheckpoints as compare } from '../../history/read/log.ts';
import { resolveReference } from '../../history/read/references.ts';
import type { HistoryContext, RoutedOperation } from '../contract/operation.ts';

export interface DiffCheckpointsInput {
  readonly a: string;
  readonly b: string;
}

export interface DiffCheckpointsOutput extends CheckpointDifference {
  readonly a: { readonly runId: string; readonly seq: number };
  readonly b: { readonly runId: string; readonly seq: number };
}

export const diffCheckpoints: RoutedOperation<DiffCheckpointsInput, DiffCheckpointsOutput, HistoryContext> = {
  name: 'diff_checkpoints',
  command: 'diff',
  summary: 'show what differs between two checkpoints or runs',
  details: 'Of one run or of two: values, nodes, open questions.',
  input: { a: checkpointField(), b: checkpointField('another checkpoint') },
  output: 'the paths that differ, with old and new',
  outputSchema: objectOf(
    {
      a: place,
      b: place,
      values: listOf(valueDifference),
      nodes: listOf(objectOf({ path: texts }, { before: nodeRow, after: nodeRow })),
      waits: described(
        objectOf({ closed: texts, opened: texts }),
        'questions, and what else was waited for, that are open on one side only',
      ),
    },
    { status: described(objectOf({ before: text, after: text }), 'said where it differs') },
  ),
  isReadOnly: true,
  scope: 'read',
  route: 'GET /diff',
  tool: {},
  async run({ store, blobs, tenant }, { a, b }) {
    const before = await resolveReference(store, tenant, a);
    const after = await resolveReference(store, tenant, b);
    return {
      a: { runId: before.run.runId, seq: before.seq },
      b: { runId: after.run.runId, seq: after.seq },
      ...(await compare(store, blobs, before, after)),
    };
  },
};
