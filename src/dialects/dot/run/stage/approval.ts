/** Approval of a stage: a person is asked before its work, and sees it; and what stages say of whose answers are taken. */
import type { Question } from '../../../../graph/contracts/node-contract.ts';
import { approvalSchema, readApproval } from '../../../../schema/approval-answer.ts';
import type { Stage } from '../../model/pipeline.ts';
import { asText, expand } from '../context/context-reader.ts';
import type { StageContext } from './attempts.ts';
import type { StageOutcome } from './stage-outcome.ts';

export type Whose = Pick<Question, 'for' | 'fourEyes' | 'remindAfterMs' | 'escalateAfterMs' | 'escalateTo'>;

/** Whether the stage asks before its work. */
export const needsApproval = ({ attributes }: Pick<Stage, 'attributes'>): boolean => attributes.text('approval') !== '';

/** Whose answers are taken (W8), and what comes of a question that nobody answers (W9). */
export function whoseOf({ attributes }: Pick<StageContext, 'attributes'>): Whose {
  const assignees = attributes.list('assignees');
  const escalateTo = attributes.list('escalate_to');
  const fourEyes = attributes.text('four_eyes');
  const remindAfterMs = attributes.durationMs('remind_after');
  const escalateAfterMs = attributes.durationMs('escalate_after');
  return {
    ...(assignees.length > 0 && { for: assignees }),
    ...(fourEyes !== '' && { fourEyes }),
    ...(remindAfterMs !== undefined && { remindAfterMs }),
    ...(escalateAfterMs !== undefined && { escalateAfterMs }),
    ...(escalateTo.length > 0 && { escalateTo }),
  };
}

/**
 * Asks whether the stage may work. The context that its work reads is that of the visit, so it does what was shown.
 * @returns how the stage ends if it may not; undefined if it may
 */
export async function refusalOf(stage: StageContext): Promise<StageOutcome | undefined> {
  const { ctx, parts, attributes } = stage;
  if (!needsApproval(parts.stage)) return undefined;
  const answer = await ctx.ask({
    name: 'approval',
    prompt: expand(attributes.text('approval'), ctx.state, parts.params),
    choices: ['approve', 'reject'],
    matching: 'open',
    schema: approvalSchema(undefined, false),
    metadata: { stage: parts.stage.id, ...workOf(stage) },
    isApproval: true,
    ...whoseOf(stage),
  });
  const { approved, feedback } = readApproval(answer);
  if (approved) return undefined;
  const by = ctx.past.answeredBy('approval');
  const words = `it was rejected${by === undefined ? '' : ` by ${by}`}`;
  return { status: 'fail', failureReason: feedback === undefined ? words : `${words}: ${feedback}` };
}

/** What the stage is about to do, as a person is shown it. */
function workOf({ ctx, parts, attributes, value }: StageContext): Readonly<Record<string, unknown>> {
  const written = ['tool_command', 'agent_command', 'tools', 'stack.child_dotfile', 'llm_model', 'workdir'];
  const found = written.flatMap((name) =>
    attributes.text(name) === '' ? [] : [[name, attributes.text(name)] as const],
  );
  const prompt = attributes.text('prompt');
  const params = parts.params.map((name) => [name, asText(value(`graph.${name}`))] as const);
  return {
    ...Object.fromEntries(found),
    ...(prompt !== '' && { prompt: expand(prompt, ctx.state, parts.params) }),
    params: Object.fromEntries(params),
  };
}
