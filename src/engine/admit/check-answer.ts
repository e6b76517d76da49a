/** Whether an answer fits its question, and which value it stands for: choices, and a JSON Schema (W3, docs/spec/waits.md). */
import { CairnError } from '../../errors.ts';
import { encodeValue } from '../../state/values/codec.ts';
import { same, schemaFault, type Schema } from '../../schema/json-schema.ts';
import type { WaitRecord } from '../../state/tree.ts';
import { choicesOf, type Choice } from './choices.ts';

/** What of a wait an answer is held against. */
type Asked = Pick<WaitRecord, 'choices' | 'matching' | 'schema'>;

/** The value an answer stands for: what is recorded. @throws ANSWER_INVALID with the reason; the wait stays open */
export function checkAnswer(wait: Asked, answer: unknown): unknown {
  const { matching = 'exact', schema } = wait;
  const choices = choicesOf(wait);
  const isChosen = choices !== undefined && matching !== 'open';
  const value = isChosen ? chosenValue(choices, matching, answer) : answer;
  const fault = schema === undefined ? undefined : schemaFault(schema as Schema, value, 'answer');
  if (fault !== undefined) refuse(fault);
  return value;
}

/** A default answer as it would be recorded if it were given; one that fits no choice is what its author made it. */
export function defaultAnswerOf(wait: Asked & Pick<WaitRecord, 'defaultAnswer'>): unknown {
  const { matching, defaultAnswer } = wait;
  const choices = choicesOf(wait);
  if (choices === undefined || matching !== 'lenient') return defaultAnswer;
  const found = lenientChoice(choices, defaultAnswer);
  return found === undefined ? defaultAnswer : found.value;
}

function chosenValue(choices: readonly Choice[], matching: 'exact' | 'lenient', answer: unknown): unknown {
  const found = matching === 'lenient' ? lenientChoice(choices, answer) : equalChoice(choices, answer);
  if (found !== undefined) return found.value;
  if (matching === 'exact')
    return refuse(`${encodeValue(answer)} is none of ${choices.map(({ value }) => encodeValue(value)).join(', ')}`);
  const shown = typeof answer === 'string' ? answer.trim() : encodeValue(answer);
  if (numberIn(answer) !== undefined) return refuse(`\`${shown}\` is no number of a choice: 1 to ${choices.length}`);
  const labels = choices.map(({ label }) => label).join(', ');
  return refuse(`Invalid choice: ${shown}: answer 1 to ${choices.length}, or one of: ${labels}`);
}

function equalChoice(choices: readonly Choice[], answer: unknown): Choice | undefined {
  return choices.find(({ value }) => same(value, answer));
}

/** A number counts from 1, and is never searched for in labels; of the labels that a text contains, the first counts. */
function lenientChoice(choices: readonly Choice[], answer: unknown): Choice | undefined {
  const number = numberIn(answer);
  if (number !== undefined) return choices[number - 1] ?? equalChoice(choices, answer);
  const equal = equalChoice(choices, answer);
  if (equal !== undefined || typeof answer !== 'string') return equal;
  const text = answer.toLowerCase();
  return choices.find(({ label }) => label !== '' && text.includes(label.toLowerCase()));
}

/** The integer that an answer is, as a number or as a text. */
function numberIn(answer: unknown): number | undefined {
  if (typeof answer === 'number') return Number.isInteger(answer) ? answer : undefined;
  return typeof answer === 'string' && /^\s*[+-]?\d+\s*$/.test(answer) ? Number(answer) : undefined;
}

function refuse(reason: string): never {
  throw new CairnError('ANSWER_INVALID', { reason });
}
