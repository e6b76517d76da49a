/** `post-mortem`: what happened in a run. */
import { checkpointField } from '../contract/fields.ts';
import {
  amounts,
  anything,
  failedWith,
  flag,
  listOf,
  objectOf,
  position,
  text,
  texts,
  time,
  described,
  whole,
} from '../contract/output-shapes.ts';
import { resolveReference } from '../../history/read/references.ts';
import { postMortem as tell } from '../../history/explain/post-mortem.ts';
import { readStructure } from '../../history/explain/structures.ts';
import type { PostMortem } from '../../history/explain/story.ts';
import { pictureOf } from '../../dialects/dot/picture/picture.ts';
import { marksOf } from './picture-marks.ts';
import { pageMax } from '../contract/cursor.ts';
import type { HistoryContext, RoutedOperation } from '../contract/operation.ts';
import { maskedBySchema } from '../contract/perform.ts';

export type { PostMortem };

export interface PostMortemInput {
  readonly checkpoint: string;
  readonly picture?: boolean;
  readonly limit?: number;
  readonly skip?: number;
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

const point = { runId: text, seq: whole, at: time };

/** A visit of a node, or something that happened to the run as a whole. */
const storyEntry = objectOf(
  {
    ...point,
    kind: described(
      text,
      'visit, of a node; else what happened to the run: start, fork, resume, pause, cancel, end or fold',
    ),
  },
  {
    path: texts,
    visit: whole,
    type: text,
    status: text,
    verdict: text,
    attempts: whole,
    isUnfinished: flag,
    durationMs: whole,
    spent: amounts,
    saved: amounts,
    error: failedWith,
    value: described(anything, 'what the node gave'),
    when: text,
    retries: listOf(objectOf({ ...point, attempt: whole }, { step: text, error: failedWith, by: text })),
    repeats: listOf(objectOf({ ...point, by: text }, { step: text, worker: text, attempt: whole, key: text })),
    agentChanges: listOf(objectOf({ ...point, call: whole, changes: listOf(text) })),
    steps: listOf(
      objectOf(
        { ...point, step: text, status: text },
        { effect: text, error: failedWith, durationMs: whole, spent: amounts },
      ),
    ),
    questions: listOf(
      objectOf(
        { ...point, kind: text, name: text },
        { prompt: text, closedAt: objectOf(point), by: text, answer: anything, isChanged: flag },
      ),
    ),
    changes: listOf(
      objectOf(
        { path: texts },
        { before: anything, beforeBytes: whole, after: anything, afterBytes: whole, isDeleted: flag, isAppended: flag },
      ),
    ),
    edges: listOf(objectOf({ to: text, fired: flag, because: text }, { label: text, condition: text, holds: flag })),
    by: text,
    takenFrom: position,
    from: position,
    detail: anything,
    pruned: described(
      objectOf({ upTo: whole }, { after: described(whole, 'the last one before them') }),
      'checkpoints that were pruned into one',
    ),
  },
);

export const postMortem: RoutedOperation<PostMortemInput, PostMortemOutput, HistoryContext> = {
  name: 'post_mortem',
  command: 'post-mortem',
  summary: 'tell what happened in a run: every node, why it led where it did, questions, failures, costs',
  input: {
    checkpoint: checkpointField('the run, or the checkpoint up to which is told: RUN, RUN@12, RUN@tag'),
    picture: { type: 'flag', description: 'with the graph as SVG, coloured by what happened', isForEyes: true },
    limit: {
      type: 'integer',
      description: 'only the newest so many entries; default all',
      min: 1,
      max: pageMax,
      modelDefault: 100,
    },
    skip: { type: 'integer', description: 'leave out so many of the newest first', min: 0 },
  },
  output: 'the visits of nodes and what happened to the run, in order',
  outputSchema: objectOf(
    {
      runId: text,
      graphId: text,
      status: text,
      seq: whole,
      startedAt: time,
      endedAt: time,
      entries: listOf(storyEntry),
      failures: { type: 'object', additionalProperties: failedWith },
    },
    {
      forkedFrom: position,
      spent: amounts,
      saved: amounts,
      deaths: whole,
      result: anything,
      svg: text,
      earlier: described(whole, 'how many entries came before those listed'),
      taken: listOf(objectOf({ path: texts, to: text })),
    },
  ),
  isReadOnly: true,
  scope: 'read',
  route: 'GET /checkpoints/{checkpoint}/story',
  tool: {},
  async run(context, { checkpoint, picture = false, limit, skip = 0 }) {
    const found = await resolveReference(context.store, context.tenant, checkpoint);
    const story = await tell(context, found);
    const structure = picture ? await readStructure(context, found) : undefined;
    const upTo = Math.max(0, story.entries.length - skip);
    const listed = story.entries.slice(limit === undefined ? 0 : Math.max(0, upTo - limit), upTo);
    return {
      ...story,
      entries: listed,
      ...(limit !== undefined && { earlier: upTo - listed.length, taken: takenIn(story) }),
      ...(structure !== undefined && { svg: pictureOf(structure, marksOf(story)) }),
    };
  },
};

/** The story with values under names of secrets masked, for those who write it down. */
export function maskedStory(story: PostMortem): PostMortem {
  return maskedBySchema(story, postMortem.outputSchema) as PostMortem;
}
