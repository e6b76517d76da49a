/** `blame_value`, `bisect_run`, `graph_runs`, `post_mortem`: how a run came to be what it is. */
import { perform } from '../../operations/contract/perform.ts';
import { toJson } from '../../operations/contract/to-json.ts';
import { bisectRun as bisect } from '../../operations/checkpoints/bisect-run.ts';
import { blameValue as blame } from '../../operations/checkpoints/blame-value.ts';
import { graphRuns as graph } from '../../operations/runs/graph-runs.ts';
import { postMortem as tell, type PostMortem } from '../../operations/runs/post-mortem.ts';
import { readsOnly, text, type Tool, type ToolAnswer } from './tool.ts';

// Times as tools tell them (M6): seconds since 1970, and beside them ISO text under the same name with `Iso`.

type Times<Name extends string> = Readonly<Record<Name, number>>;
type WithIso<Name extends string> = Readonly<Record<Name, number> & Record<`${Name}Iso`, string>>;

/** The data with these of its fields, which hold epoch ms, as tools tell them. */
export function tellTimes<Name extends string, Data extends Times<Name>>(
  data: Data,
  ...names: readonly Name[]
): Data & WithIso<Name> {
  const times = names.flatMap((name) => [
    [name, data[name] / 1000],
    [`${name}Iso`, new Date(data[name]).toISOString()],
  ]);
  return { ...data, ...(Object.fromEntries(times) as WithIso<Name>) };
}

type Entry = PostMortem['entries'][number];

const checkpointText = 'Id of a checkpoint, RUN@SEQ, or a run_id for its newest.';
const answer = (content: object): ToolAnswer => ({ content: toJson(content) as ToolAnswer['content'] });

export const blameValue: Tool<{ readonly checkpoint_id: string; readonly path: string; readonly in?: string }> = {
  name: 'blame_value',
  title: 'Blame a value',
  description:
    'Say which checkpoint, block and attempt last wrote each part of a value: keys, appended items, pieces of a text.',
  input: {
    checkpoint_id: text(checkpointText, { minLength: 1 }),
    path: text('The value, by dotted path: outputs.BLOCK, scratch.plan.', { minLength: 1 }),
    in: text('Of this child run: BLOCK/NAME.'),
  },
  required: ['checkpoint_id', 'path'],
  output: {
    type: 'object',
    properties: {
      parts: {
        type: 'array',
        items: { type: 'object' },
        description: 'path, value, runId, seq, at (seconds since 1970; atIso), node, visit, attempt, by.',
      },
    },
    required: ['parts'],
  },
  hints: readsOnly,
  async run({ context }, { checkpoint_id: checkpoint, path, in: inside }) {
    const input = { checkpoint, path, ...(inside !== undefined && { in: inside }) };
    const { parts, ...rest } = await perform(blame, context, input);
    return answer({ ...rest, parts: parts.map((part) => tellTimes(part, 'at')) });
  },
};

export const bisectRun: Tool<{ readonly run_id: string; readonly when: string }> = {
  name: 'bisect_run',
  title: 'Find when a condition came to hold',
  description:
    'Find the first checkpoint of a run at which a condition holds. It reads status, input, scratch, artifacts, diagnostics, outputs and failures: has(failures.pay), size(outputs.list) > 3.',
  input: {
    run_id: text('The run, or a checkpoint of it up to which is looked.', { minLength: 1 }),
    when: text('The condition.', { minLength: 1 }),
  },
  required: ['run_id', 'when'],
  output: {
    type: 'object',
    properties: { found: { type: 'object', description: 'Absent: it holds nowhere.' }, read: { type: 'integer' } },
    required: ['read'],
  },
  hints: readsOnly,
  async run({ context }, { run_id: checkpoint, when }) {
    const { found, ...rest } = await perform(bisect, context, { checkpoint, when });
    return answer({ ...rest, ...(found !== undefined && { found: tellTimes(found, 'at') }) });
  },
};

export const graphRuns: Tool<{ readonly run_id: string }> = {
  name: 'graph_runs',
  title: 'Show a run with its forks',
  description: 'Show the tree of a run and its forks: status, where each left its original, and what it was given.',
  input: { run_id: text('Any run of the tree.', { minLength: 1 }) },
  required: ['run_id'],
  output: {
    type: 'object',
    properties: { runs: { type: 'array', items: { type: 'object' }, description: 'Each before its forks.' } },
    required: ['runs'],
  },
  hints: readsOnly,
  async run({ context }, { run_id: run }) {
    const { runs, ...rest } = await perform(graph, context, { run });
    return answer({ ...rest, runs: runs.map((one) => tellTimes(one, 'createdAt', 'updatedAt')) });
  },
};

/** An entry with its times, and those of what happened within a visit. */
function tellEntry(entry: Entry): object {
  const own = tellTimes(entry, 'at');
  if (own.kind !== 'visit') return own;
  return {
    ...own,
    retries: own.retries.map((retry) => tellTimes(retry, 'at')),
    steps: own.steps.map((step) => tellTimes(step, 'at')),
    questions: own.questions.map(({ closedAt, ...question }) => ({
      ...tellTimes(question, 'at'),
      ...(closedAt !== undefined && { closedAt: tellTimes(closedAt, 'at') }),
    })),
  };
}

/** A model gets so much unless it requests more. */
const entriesDefault = 100;

export const postMortem: Tool<{ readonly checkpoint_id: string; readonly limit?: number; readonly skip?: number }> = {
  name: 'post_mortem',
  title: 'Tell what happened in a run',
  description:
    'Tell what happened in a run, in order: each block with its outcome, attempts, questions and what it changed, and every edge with why it was taken or not.',
  input: {
    checkpoint_id: text(checkpointText, { minLength: 1 }),
    limit: { type: 'integer', minimum: 1, maximum: 1_000, description: `How many entries. Default ${entriesDefault}.` },
    skip: { type: 'integer', minimum: 0, description: 'How many to pass over at the beginning. Default 0.' },
  },
  required: ['checkpoint_id'],
  output: {
    type: 'object',
    properties: {
      status: { type: 'string' },
      entries: { type: 'array', items: { type: 'object' } },
      failures: { type: 'object', description: 'What failed the run, by block.' },
      total: { type: 'integer', description: 'Of entries.' },
    },
    required: ['status', 'entries', 'failures', 'total'],
  },
  hints: readsOnly,
  async run({ context }, { checkpoint_id: checkpoint, limit = entriesDefault, skip = 0 }) {
    const story = await perform(tell, context, { checkpoint });
    const entries = story.entries.slice(skip, skip + limit).map(tellEntry);
    return answer({ ...tellTimes(story, 'startedAt', 'endedAt'), entries, total: story.entries.length });
  },
};
