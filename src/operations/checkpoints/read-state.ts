/** `state`: the state of a run at a checkpoint, or a part of it. */
import { anything, objectOf, text, texts, whole } from '../declare/output-shapes.ts';
import { resolveReference } from '../../history/read/references.ts';
import { pickPart, readStateAt } from '../../history/read/state-at.ts';
import type { HistoryContext, Operation } from '../declare/operation.ts';
import { parsePath } from '../../history/read/state-path.ts';

export interface ReadStateInput {
  readonly checkpoint: string;
  readonly path?: string;
}

export interface ReadStateOutput {
  readonly runId: string;
  readonly seq: number;
  /** Of the value, from the state on; empty: it is the whole state. */
  readonly path: readonly string[];
  readonly value: unknown;
}

export const readState: Operation<ReadStateInput, ReadStateOutput, HistoryContext> = {
  name: 'state',
  summary: 'show the state of a run at any checkpoint',
  input: {
    checkpoint: {
      type: 'text',
      description: 'the checkpoint: RUN for the newest, RUN@12, RUN@tag, RUN@head~2 or its id',
      isRequired: true,
      isPositional: true,
    },
    path: { type: 'text', description: 'only this part: scratch.plan.0.title', isPositional: true },
  },
  output: 'the value',
  outputSchema: objectOf({ runId: text, seq: whole, path: texts }, { value: anything }),
  isReadOnly: true,
  async run({ store, blobs, tenant }, { checkpoint, path }) {
    const found = await resolveReference(store, tenant, checkpoint);
    const state = await readStateAt({ store, blobs }, found);
    const keys = path === undefined ? [] : parsePath(path);
    return { runId: found.run.runId, seq: found.seq, path: keys, value: pickPart(state, keys, checkpoint) };
  },
};
