/** `post-mortem`: what happened in a run. */
import { amounts, anything, listOf, objectOf, position, text, texts, whole } from '../contract/output-shapes.ts';
import { resolveReference } from '../../history/read/tag-checkpoint.ts';
import { postMortem as tell } from '../../history/explain/post-mortem.ts';
import { readStructure } from '../../history/explain/structures.ts';
import type { PostMortem } from '../../history/explain/story.ts';
import { pictureOf } from '../../dialects/dot/picture/picture.ts';
import { marksOf } from './picture-marks.ts';
import type { HistoryContext, Operation } from '../contract/operation.ts';
import { maskedBySchema } from '../contract/perform.ts';

export type { PostMortem };

export interface PostMortemInput {
  readonly checkpoint: string;
  readonly picture?: boolean;
  readonly limit?: number;
}

export interface PostMortemOutput extends PostMortem {
  /** The graph as SVG, coloured by what happened. Absent: it was not requested, or is not recorded with the run. */
  readonly svg?: string;
  /** How many entries were omitted before those listed, if there is a limit. */
  readonly earlier?: number;
  /** The edges that were taken in all entries, by the path of their source, if there is a limit. */
  readonly taken?: readonly TakenEdge[];
}

/** An edge that was taken at least once. */
export interface TakenEdge {
  readonly path: readonly string[];
  readonly to: string;
}

function takenIn({ entries }: PostMortem): readonly TakenEdge[] {
  const taken = new Map<string, TakenEdge>();
  for (const entry of entries)
    if (entry.kind === 'visit')
      for (const { to, fired } of entry.edges)
        if (fired) taken.set(`${entry.path.join('/')}\n${to}`, { path: entry.path, to });
  return [...taken.values()];
}

export const postMortem: Operation<PostMortemInput, PostMortemOutput, HistoryContext> = {
  name: 'post_mortem',
  command: 'post-mortem',
  summary: 'tell what happened in a run: every node, why it led where it did, questions, failures, costs',
  input: {
    checkpoint: {
      type: 'checkpoint',
      description: 'the run, or the checkpoint up to which is told: RUN, RUN@12, RUN@tag',
      isRequired: true,
      isPositional: true,
    },
    picture: { type: 'flag', description: 'with the graph as SVG, coloured by what happened' },
    limit: { type: 'integer', description: 'only the newest so many entries; default all' },
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
      failures: { type: 'object', additionalProperties: objectOf({ code: text, message: text }) },
    },
    {
      forkedFrom: position,
      spent: amounts,
      saved: amounts,
      result: anything,
      svg: text,
      earlier: whole,
      taken: listOf(objectOf({ path: texts, to: text })),
    },
  ),
  isReadOnly: true,
  scope: 'read',
  route: 'GET /checkpoints/{checkpoint}/story',
  async run(context, { checkpoint, picture = false, limit }) {
    const found = await resolveReference(context.store, context.tenant, checkpoint);
    const story = await tell(context, found);
    const structure = picture ? await readStructure(context, found) : undefined;
    const newest = limit === undefined ? story.entries : story.entries.slice(-limit);
    return {
      ...story,
      entries: newest,
      ...(limit !== undefined && { earlier: story.entries.length - newest.length, taken: takenIn(story) }),
      ...(structure !== undefined && { svg: pictureOf(structure, marksOf(story)) }),
    };
  },
};

/** The story with values under names of secrets masked, for those who write it down. */
export function maskedStory(story: PostMortem): PostMortem {
  return maskedBySchema(story, postMortem.outputSchema) as PostMortem;
}
