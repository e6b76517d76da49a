/** `post-mortem`: what happened in a run. */
import { amounts, anything, listOf, objectOf, position, text, whole } from '../declare/output-shapes.ts';
import { resolveReference } from '../../history/read/references.ts';
import { postMortem as tell } from '../../history/trace/post-mortem.ts';
import type { PostMortem } from '../../history/trace/story.ts';
import type { HistoryContext, Operation } from '../declare/operation.ts';

export type { PostMortem };

export interface PostMortemInput {
  readonly checkpoint: string;
}

export const postMortem: Operation<PostMortemInput, PostMortem, HistoryContext> = {
  name: 'post-mortem',
  summary: 'tell what happened in a run: every node, why it led where it did, questions, failures, costs',
  input: {
    checkpoint: {
      type: 'text',
      description: 'the run, or the checkpoint up to which is told: RUN, RUN@12, RUN@tag',
      isRequired: true,
      isPositional: true,
    },
  },
  output: 'the visits of nodes and what happened to the run, in order',
  outputSchema: objectOf(
    {
      runId: text,
      graphId: text,
      status: text,
      seq: whole,
      startedAt: whole,
      endedAt: whole,
      entries: listOf({ type: 'object' }),
      failures: { type: 'object' },
    },
    { forkedFrom: position, spent: amounts, saved: amounts, result: anything },
  ),
  isReadOnly: true,
  async run(context, { checkpoint }) {
    return tell(context, await resolveReference(context.store, context.tenant, checkpoint));
  },
};
