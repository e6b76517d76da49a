/** The tools `diff_checkpoints`, `preview_resume` and `fork_checkpoint`. */
import { perform } from '../../operations/contract/perform.ts';
import { readStanding } from '../../operations/runs/read-standing.ts';
import { diffCheckpoints as diff } from '../../operations/checkpoints/diff-checkpoints.ts';
import { forkRun } from '../../operations/runs/fork-run.ts';
import { previewRun, type EarlierPoint } from '../../operations/runs/preview-run.ts';
import type { WorkContext } from '../../operations/contract/operation.ts';
import { nameCheckpoint } from '../../operations/checkpoints/name-checkpoint.ts';
import { toJson } from '../../operations/contract/to-json.ts';
import { converse } from './resume-workflow.ts';
import {
  followRun,
  showStanding,
  amountsSchema,
  standingSchema,
  readsOnly,
  runsWorkflows,
  expectInput,
  text,
  type Tool,
  type ToolAnswer,
  type ToolQuestions,
} from './tool.ts';
import type { JsonSchema } from '../ask/ask-client.ts';

interface BranchInput {
  readonly checkpoint_id: string;
  readonly set?: Readonly<Record<string, unknown>>;
  readonly answers?: Readonly<Record<string, unknown>>;
}

const branchInput: { readonly [Name in keyof Required<BranchInput>]: JsonSchema } = {
  checkpoint_id: text('Id of the checkpoint, RUN@SEQ, or a run_id for its newest.', { minLength: 1 }),
  set: {
    type: 'object',
    description:
      'Changes by dotted path: input.NAME, or outputs.BLOCK for all that a block recorded; it must be what the block could have given.',
  },
  answers: {
    type: 'object',
    description: 'Other answers than were given, by wait id, block id or the question’s name.',
  },
};

const checkpointText = 'Id of a checkpoint, RUN@SEQ, or a run_id for its newest.';

const earlierSchema: { readonly [Name in 'instead_of' | 'because']: JsonSchema } = {
  instead_of: {
    type: 'string',
    description: 'The checkpoint that was named, where a fork goes on from an earlier one.',
  },
  because: { type: 'string', description: 'Why it does.' },
};

async function showEarlier(
  context: WorkContext,
  earlier: EarlierPoint | undefined,
): Promise<Readonly<Record<string, string>>> {
  if (earlier === undefined) return {};
  const { insteadOf, because } = earlier;
  return { instead_of: await nameCheckpoint(context, insteadOf.runId, insteadOf.seq), because };
}

export const diffCheckpoints: Tool<{ readonly from: string; readonly to: string }> = {
  name: 'diff_checkpoints',
  title: 'Compare checkpoints',
  description: 'Show what differs between two checkpoints, of one run or of two: values, blocks, open questions.',
  input: { from: text(checkpointText, { minLength: 1 }), to: text(checkpointText, { minLength: 1 }) },
  required: ['from', 'to'],
  output: {
    type: 'object',
    properties: {
      from: { type: 'string' },
      to: { type: 'string' },
      status: { type: 'object' },
      values: { type: 'array', items: { type: 'object' }, description: 'path, before, after.' },
      blocks: { type: 'array', items: { type: 'object' }, description: 'path, before, after.' },
      waits: { type: 'object', description: 'Ids of questions opened and closed.' },
    },
    required: ['from', 'to', 'values', 'blocks', 'waits'],
  },
  hints: readsOnly,
  async run({ context }, { from, to }) {
    const { a, b, status, values, nodes, waits } = await perform(diff, context, { a: from, b: to });
    const content = {
      from: await nameCheckpoint(context, a.runId, a.seq),
      to: await nameCheckpoint(context, b.runId, b.seq),
      ...(status !== undefined && { status }),
      values: toJson(values),
      blocks: toJson(nodes),
      waits,
    };
    return { content };
  },
};

export const previewResume: Tool<BranchInput & { readonly as_fork?: boolean; readonly retry?: boolean }> = {
  name: 'preview_resume',
  title: 'Preview a resume or a fork',
  description:
    'Say what a resume (of the newest checkpoint, without changes) or a fork (of an older one, or with changes) would restore, replay and run again. Runs nothing.',
  input: {
    ...branchInput,
    as_fork: { type: 'boolean', description: 'Preview a fork even of the newest checkpoint, unchanged.' },
    retry: {
      type: 'boolean',
      description: 'What resume_workflow with retry would do: commands that ended with an exit code are run again.',
    },
  },
  required: ['checkpoint_id'],
  output: {
    type: 'object',
    properties: {
      checkpoint_id: { type: 'string' },
      run_id: { type: 'string' },
      etag: { type: 'string', description: 'Names all that is said here: pass it as expect.' },
      ...earlierSchema,
      blocks: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            block: { type: 'string' },
            visit: { type: 'integer' },
            effect: { type: 'string' },
            prediction: { type: 'string', description: 'restored, replayed, reused, runs again, runs, asks, …' },
            because: { type: 'string' },
            cost: { ...amountsSchema, description: 'What it cost when it was last done, by unit.' },
          },
          required: ['block', 'prediction'],
        },
      },
      cost: {
        type: 'object',
        properties: { again: amountsSchema, saved: amountsSchema },
        description: 'What it cost to do what would be done again, and what is taken over.',
      },
    },
    required: ['checkpoint_id', 'run_id', 'etag', 'blocks'],
  },
  hints: readsOnly,
  async run({ context }, { checkpoint_id: checkpoint, set, answers, as_fork: asFork, retry }) {
    const input = {
      checkpoint,
      ...(set !== undefined && { set }),
      ...(answers !== undefined && { answer: answers }),
      ...(asFork !== undefined && { asFork }),
      ...(retry !== undefined && { retry }),
    };
    const { runId, seq, rows, cost: sums, earlier, etag } = await perform(previewRun, context, input);
    const blocks = rows.map(({ node, visit, effect, prediction, because, cost }) => ({
      block: node.join('/'),
      visit,
      effect,
      prediction,
      ...(because !== undefined && { because }),
      ...(cost !== undefined && { cost }),
    }));
    const hasCosts = rows.some(({ cost }) => cost !== undefined);
    return {
      content: {
        checkpoint_id: await nameCheckpoint(context, runId, seq),
        run_id: runId,
        etag,
        ...(await showEarlier(context, earlier)),
        blocks,
        ...(hasCosts && { cost: sums }),
      },
    };
  },
};

interface ForkInput extends BranchInput {
  readonly run_id?: string;
  readonly run?: boolean;
  readonly expect?: string;
}

export const forkCheckpoint: Tool<ForkInput> = {
  name: 'fork_checkpoint',
  title: 'Fork a checkpoint',
  description:
    'Make a new run that goes on from a checkpoint, with changes if given, and run it. The original is untouched, and effects it has recorded are not repeated.',
  input: {
    ...branchInput,
    run_id: text('Id for the new run.', { minLength: 1 }),
    run: { type: 'boolean', description: 'false: make it, and do not run it. Default true.' },
    expect: expectInput,
  },
  required: ['checkpoint_id'],
  output: { ...standingSchema, properties: { ...(standingSchema['properties'] as object), ...earlierSchema } },
  hints: { ...runsWorkflows, isDestructive: false },
  async run(call, { checkpoint_id: checkpoint, set, answers, run_id: runId, run = true, expect }) {
    const { context } = call;
    const input = {
      checkpoint,
      ...(set !== undefined && { set }),
      ...(answers !== undefined && { answer: answers }),
      ...(runId !== undefined && { runId }),
      ...(expect !== undefined && { expect }),
    };
    const { fork, earlier } = await perform(forkRun, context, input);
    const standing: ToolAnswer | ToolQuestions = run
      ? await converse(call, () => followRun(call, fork.runId))
      : await showStanding(context, await perform(readStanding, context, { run: fork.runId }));
    if ('inputRequired' in standing) return standing;
    return { ...standing, content: { ...standing.content, ...(await showEarlier(context, earlier)) } };
  },
};
