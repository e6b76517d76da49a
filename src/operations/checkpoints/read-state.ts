/** The operation `state`: shows the state of a run at a checkpoint, or a part of it. */
import { checkpointField } from '../contract/fields.ts';
import { anything, objectOf, text, texts, whole } from '../contract/output-shapes.ts';
import type { AgentState } from '../../agents/view/agent-state.ts';
import type { PipelineCheckpoint } from '../../dialects/dot/view/pipeline-view.ts';
import { CairnError } from '../../errors.ts';
import { resolveReference, type ResolvedReference } from '../../history/read/references.ts';
import { pickPart, readStateAt } from '../../history/read/state-at.ts';
import type { HistoryContext, RoutedOperation } from '../contract/operation.ts';
import { parsePath } from '../../history/read/state-path.ts';

export interface ReadStateInput {
  readonly checkpoint: string;
  readonly path?: string;
  /** An agent's node, to show the agent's state: the node's id, or its path separated by `/`. */
  readonly agent?: string;
  /** Whether the checkpoint of a pipeline is shown as its format describes one. */
  readonly pipeline?: boolean;
}

export interface ReadStateOutput {
  readonly runId: string;
  readonly seq: number;
  /** Path of the value from the state's root; empty for the whole state. */
  readonly path: readonly string[];
  readonly value: unknown;
}

export const readState: RoutedOperation<ReadStateInput, ReadStateOutput, HistoryContext> = {
  name: 'read_state',
  command: 'state',
  summary: 'show the state of a run at any checkpoint',
  input: {
    checkpoint: checkpointField(),
    path: { type: 'text', description: 'only this part: scratch.plan.0.title', isPositional: true },
    agent: {
      type: 'text',
      description: 'the state of the agent of this node: its conversation, its loops, what is under way',
    },
    pipeline: {
      type: 'flag',
      description: 'a checkpoint of a pipeline: current node, context, goal gates, the edge that is next, counters',
    },
  },
  output: 'the value',
  outputSchema: objectOf({ runId: text, seq: whole, path: texts }, { value: anything }),
  isReadOnly: true,
  scope: 'read',
  route: 'GET /checkpoints/{checkpoint}/state',
  async run({ store, blobs, tenant }, { checkpoint, path, agent, pipeline = false }) {
    const found = await resolveReference(store, tenant, checkpoint);
    const place = { store, blobs };
    const state = pipeline
      ? await readPipelineAt(place, found)
      : agent === undefined
        ? await readStateAt(place, found)
        : await readAgent(place, found, agent);
    const keys = path === undefined ? [] : parsePath(path);
    return { runId: found.run.runId, seq: found.seq, path: keys, value: pickPart(state, keys, checkpoint) };
  },
};

/** The code that reads pipelines is loaded on demand. */
async function readPipelineAt(
  place: Pick<HistoryContext, 'store' | 'blobs'>,
  found: ResolvedReference,
): Promise<PipelineCheckpoint> {
  const { readRecords } = await import('../../history/explain/read-records.ts');
  const { pipelineOf } = await import('../../dialects/dot/view/pipeline-view.ts');
  const checkpoint = pipelineOf(await readRecords(place, found));
  if (checkpoint !== undefined) return checkpoint;
  throw new CairnError('USAGE_INVALID', {
    reason: `${found.run.runId} is of no pipeline`,
    hint: 'Ask for its state without --pipeline.',
  });
}

/** The code that reads agents is loaded on demand. */
async function readAgent(
  place: Pick<HistoryContext, 'store' | 'blobs'>,
  found: ResolvedReference,
  agent: string,
): Promise<AgentState> {
  const { readVisit } = await import('../../history/read/read-visit.ts');
  const { agentStateOf } = await import('../../agents/view/agent-state.ts');
  const state = agentStateOf(await readVisit(place, found, agent.split('/')));
  if (state !== undefined) return state;
  throw new CairnError('USAGE_INVALID', { reason: `${agent} has asked no model`, hint: 'Name the node of an agent.' });
}
