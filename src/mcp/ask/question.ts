/** Converts open questions for clients, and clients' answers for the engine. */
import type { WorkContext } from '../../operations/declare/operation.ts';
import { choicesOf, isAnswerable, nodeNameOf, type OpenQuestion } from '../../operations/waits/find-wait.ts';
import { isForPeople } from '../../operations/runs/reserved-answers.ts';
import { toJson } from '../../operations/declare/to-json.ts';
import type { JsonSchema } from './json-schema.ts';

/** The questions among the waits, in the order in which they were opened. */
export function questionsOf(waits: readonly OpenQuestion[]): readonly OpenQuestion[] {
  return waits.filter(isAnswerable);
}

/** A question as clients see it. */
export function showQuestion(
  wait: OpenQuestion,
  context: Pick<WorkContext, 'reserved'>,
): Readonly<Record<string, unknown>> {
  const { waitId, prompt = '', kind, metadata, schema, dueAt, defaultAnswer, replaces } = wait;
  if (wait.isDamaged === true) {
    const message = 'The stored question is damaged: what it asks cannot be shown, and it takes no answer.';
    return { wait: waitId, block: '', prompt: '', is_damaged: true, message };
  }
  const choices = choicesOf(wait);
  return {
    wait: waitId,
    block: nodeNameOf(wait),
    kind,
    prompt,
    ...(choices !== undefined && { choices: choices.map(({ value }) => toJson(value)) }),
    ...(choices?.some(({ label, value }) => label !== value) === true && {
      labels: choices.map(({ label }) => label),
    }),
    ...(schema !== undefined && { schema: toJson(schema) }),
    ...(metadata !== undefined && { metadata: toJson(metadata) }),
    ...(dueAt !== undefined && { due_at: new Date(dueAt).toISOString() }),
    ...(defaultAnswer !== undefined && { default_answer: toJson(defaultAnswer) }),
    ...(replaces !== undefined && { replaces }),
    message:
      context.reserved === undefined || !isForPeople(context, wait)
        ? `Answer with resume_workflow, answers: {"${waitId}": …}`
        : `A person answers: ${context.reserved.command('answer', wait.runId, waitId, 'VALUE', '--resume')}`,
  };
}

export const questionSchema: JsonSchema = {
  type: 'object',
  properties: {
    wait: { type: 'string', description: 'Id of the question: the key of its answer.' },
    block: { type: 'string', description: 'The block that asks, from the root of the run.' },
    kind: { type: 'string', description: 'question; or doubt: whether an effect happened.' },
    prompt: { type: 'string' },
    choices: { type: 'array', description: 'What is offered.' },
    labels: { type: 'array', items: { type: 'string' }, description: 'What the choices are called.' },
    schema: { description: 'JSON Schema that an answer must fit.' },
    metadata: {},
    due_at: { type: 'string', description: 'When it closes by itself.' },
    default_answer: { description: 'What it closes with then.' },
    replaces: {
      type: 'string',
      description:
        'Present where it took the place of another question of this block, because that one changed: open or answered. An answer to that one is not used.',
    },
    is_damaged: { type: 'boolean', description: 'Present where the stored question is damaged.' },
    message: { type: 'string' },
  },
  required: ['wait', 'block', 'prompt', 'message'],
};
