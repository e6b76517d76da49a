/** Describes how far a run was at a checkpoint, and what it waited for there. */
import { checkpoint } from '../contract/output-shapes.ts';
import { checkpointId } from '../../history/stored/checkpoint.ts';
import { readOwner } from '../../history/load/lineage.ts';
import { resolveReference } from '../../history/read/references.ts';
import type { RunResult, RunProgress } from '../../engine/api.ts';
import { isAnswerable } from '../waits/find-wait.ts';
import type { RoutedOperation, WorkContext } from '../contract/operation.ts';
import { showCheckpoint, type ShowCheckpointInput } from './show-checkpoint.ts';
import { readStandingAt } from '../runs/standing-at.ts';

export interface DescribeCheckpointOutput extends RunProgress {
  readonly checkpointId: string;
  readonly runId: string;
  readonly seq: number;
  readonly graphId: string;
  /** Epoch ms. */
  readonly createdAt: number;
  readonly status: RunResult['status'];
  /** Whether the run was paused at this checkpoint. */
  readonly isPaused: boolean;
  /** Whether it is the run's newest checkpoint. */
  readonly isHead: boolean;
  /** The waits that were open at this checkpoint. */
  readonly waits: RunResult['waits'];
  /** The node that asked the first open question; its text is in `prompt`. */
  readonly pausedNode?: string;
  readonly prompt?: string;
}

export const describeCheckpoint: RoutedOperation<ShowCheckpointInput, DescribeCheckpointOutput, WorkContext> = {
  name: 'describe_checkpoint',
  summary: 'tell how far a run was at a checkpoint, and what it waited for',
  input: showCheckpoint.input,
  output: 'the checkpoint',
  outputSchema: checkpoint,
  isReadOnly: true,
  scope: 'read',
  route: 'GET /checkpoints/{checkpoint}/progress',
  async run(context, { checkpoint: reference }) {
    const { store, tenant } = context;
    const { run, seq } = await resolveReference(store, tenant, reference);
    const owner = await readOwner(store, run, seq);
    const [row] = await store.readCheckpoints(owner, { from: seq, to: seq, limit: 1 });
    const { result, progress } = await readStandingAt(context, run, seq);
    const { status, waits } = result;
    const asking = waits.find(isAnswerable) ?? waits[0];
    return {
      checkpointId: checkpointId(owner.key, seq),
      runId: run.runId,
      seq,
      graphId: run.graphId,
      createdAt: row?.at ?? run.updatedAt,
      status,
      isPaused: status === 'paused',
      isHead: seq === run.head,
      waits,
      ...(asking?.node !== undefined && { pausedNode: asking.node.join('/') }),
      ...(asking?.prompt !== undefined && { prompt: asking.prompt }),
      ...progress,
    };
  },
};
