/** What a file may say of every block that asks: whose answers are taken (W8), and what comes of a question that nobody answers (W9). */
import type { Question } from '../../../graph/contracts/node-contract.ts';
import type { InputField, Inputs } from '../../../graph/contracts/node-type.ts';

const duration = { type: ['number', 'string'], pattern: '^\\d+(?:\\.\\d+)?(?:ms|s|m|h|d)?$', minimum: 0 };
const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const names = { type: 'array', minItems: 1, items: { type: 'string', minLength: 1 } };

/** A block's own inputs of these names come first. */
export const askingInputs: Readonly<Record<string, InputField>> = {
  assignees: {
    schema: names,
    description: 'Whose answers are taken: people by name, and roles such as `role:finance`. Default: everybody’s.',
  },
  four_eyes: {
    schema: { type: 'string', minLength: 1 },
    description: 'Another block that asks: who answered that, or started the run, does not answer this.',
  },
  remind_after: {
    schema: { anyOf: [duration, { type: 'array', maxItems: 20, items: duration }] },
    description: 'When the question is reminded of: seconds, or a text such as 30m, 4h, 2d; or several of them.',
  },
  escalate_after: {
    schema: duration,
    description: 'From when on it is for those of escalate_to too: seconds, or a text such as 30m, 4h, 2d.',
  },
  escalate_to: { schema: names, description: 'For whom it is then, beside the assignees.' },
  deadline: {
    schema: duration,
    description:
      'How long it stays open: seconds, or a text such as 30m, 4h, 2d. Without a default_answer the block fails then.',
  },
  default_answer: { schema: {}, description: 'The answer when the deadline is over.' },
};

/** Milliseconds of a number of seconds, or of a text such as `30m`. */
function msOf(value: unknown): number {
  const [, amount = '', unit = 's'] = /^([\d.]+)(ms|s|m|h|d)?$/.exec(String(value)) ?? [];
  return Number(amount) * (units[unit] ?? 1_000);
}

/** What the inputs say of the question. @param own - the block's own inputs */
export function askingOf(inputs: Inputs, own: Readonly<Record<string, InputField>>): Partial<Question> {
  const said = (name: string): unknown => (own[name] === undefined ? inputs[name] : undefined);
  const reminders = said('remind_after');
  const texts = (name: string): readonly string[] | undefined => said(name) as readonly string[] | undefined;
  const [assignees, escalateTo] = [texts('assignees'), texts('escalate_to')];
  const fourEyes = said('four_eyes') as string | undefined;
  return {
    ...(assignees !== undefined && { for: assignees }),
    ...(fourEyes !== undefined && { fourEyes }),
    ...(reminders !== undefined && { remindAfterMs: [reminders].flat().map(msOf) }),
    ...(said('escalate_after') !== undefined && { escalateAfterMs: msOf(said('escalate_after')) }),
    ...(escalateTo !== undefined && { escalateTo }),
    ...(said('deadline') !== undefined && { timeoutMs: msOf(said('deadline')) }),
    ...(said('default_answer') !== undefined && { defaultAnswer: said('default_answer') }),
  };
}
