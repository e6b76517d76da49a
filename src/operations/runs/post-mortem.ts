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
  promptText,
  text,
  texts,
  time,
  described,
  whole,
} from '../contract/output-shapes.ts';
import { CairnError } from '../../errors.ts';
import { resolveReference, type ResolvedReference } from '../../history/read/references.ts';
import { postMortem as tell, storyPage, type StoryPosition } from '../../history/explain/post-mortem.ts';
import type { TakenEdge } from '../../history/explain/visit-ends.ts';
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
  readonly before?: string;
}

export interface PostMortemOutput extends PostMortem {
  /** The graph as SVG, coloured by what happened. Absent: it was not requested, or is not recorded with the run. */
  readonly svg?: string;
  /** With a limit: what to give as `before` to get the entries before these. Absent: there are none. */
  readonly before?: string;
  /** With a limit: the edges that were taken in these entries, or by the last visit of a node. */
  readonly taken?: readonly TakenEdge[];
}

const point = { runId: text, seq: whole, at: time };

/** A visit of a node, or something that happened to the run as a whole. */
const storyEntryParts = objectOf(
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
    isPassing: flag,
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
        { prompt: promptText, closedAt: objectOf(point), by: text, answer: anything, isChanged: flag },
      ),
    ),
    changes: listOf({
      ...objectOf(
        { path: texts },
        {
          before: anything,
          beforeBytes: whole,
          after: anything,
          afterBytes: whole,
          isDeleted: flag,
          isAppended: flag,
          isPassing: flag,
        },
      ),
      format: 'difference',
    }),
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

const storyEntry = { ...storyEntryParts, format: 'visit' };

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
    before: {
      type: 'text',
      description: 'with limit: only what was recorded before this checkpoint, or what `before` of the last page said',
    },
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
      before: described(text, 'gives the entries before these; absent if there are none'),
      taken: listOf(objectOf({ path: texts, to: text })),
    },
  ),
  isReadOnly: true,
  scope: 'read',
  route: 'GET /checkpoints/{checkpoint}/story',
  tool: {},
  async run(context, { checkpoint, picture = false, limit, before }) {
    const found = await resolveReference(context.store, context.tenant, checkpoint);
    const whole = limit === undefined || picture ? await tell(context, found) : undefined;
    const structure = picture ? await readStructure(context, found) : undefined;
    const svg = whole && structure && pictureOf(structure, marksOf(whole));
    return { ...(await partOf(context, found, whole, { limit, before })), ...(svg !== undefined && { svg }) };
  },
};

/** @param whole - the story without a limit @throws USAGE_INVALID */
async function partOf(
  context: HistoryContext,
  found: ResolvedReference,
  whole: PostMortem | undefined,
  { limit, before }: { readonly limit: number | undefined; readonly before: string | undefined },
): Promise<PostMortemOutput> {
  if (before !== undefined && limit === undefined)
    throw new CairnError('USAGE_INVALID', { reason: '`before` is of pages', hint: 'Give a limit with it.' });
  if (whole !== undefined && limit === undefined) return whole;
  const { earlier, ...page } = await storyPage(context, found, {
    limit: limit ?? pageMax,
    ...(before !== undefined && { before: readPosition(before) }),
  });
  return { ...page, ...(earlier !== undefined && { before: `${earlier.seq}.${earlier.index}` }) };
}

function readPosition(text: string): StoryPosition {
  const [, seq, index] = /^(\d{1,15})(?:\.(\d{1,15}))?$/u.exec(text) ?? [];
  if (seq === undefined)
    throw new CairnError('USAGE_INVALID', {
      reason: `no place in a story: ${JSON.stringify(text.slice(0, 60))}`,
      hint: 'Give the number of a checkpoint, or what `before` of the last page said.',
    });
  return { seq: Number(seq), index: Number(index ?? 0) };
}

/** The story with values under names of secrets masked, for those who write it down. */
export function maskedStory(story: PostMortem): PostMortem {
  return maskedBySchema(story, postMortem.outputSchema) as PostMortem;
}
