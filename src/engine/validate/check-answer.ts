/** Checks an answer against its question (choices and JSON Schema), and finds the value that it stands for (W3, docs/spec/waits.md). */
import { encodeValue } from '../../state/values/encode.ts';
import { CairnError } from '../../errors.ts';
import { placedFaults, type Schema, same } from '../../schema/json-schema.ts';
import type { WaitRecord } from '../../state/tree.ts';
import { choicesOf, type Choice } from './choices.ts';

/** The part of a wait that answers are checked against. */
export type AnswerFormat = Pick<WaitRecord, 'choices' | 'matching' | 'schema'>;

/** The value to record for an answer. @throws ANSWER_INVALID with the reason; the wait stays open */
export function checkAnswer(wait: AnswerFormat, answer: unknown): unknown {
  const { matching = 'exact', schema } = wait;
  const choices = choicesOf(wait);
  const isChosen = choices !== undefined && matching !== 'open';
  const value = isChosen ? chosenValue(choices, matching, answer) : answer;
  const faults = schema === undefined ? [] : placedFaults(schema as Schema, value, 'answer');
  if (faults.length > 0)
    throw new CairnError('ANSWER_INVALID', {
      reason: faults.map(({ sentence }) => sentence).join('; '),
      faults: faults.map(({ pointer, message }) => ({ pointer, message })),
    });
  return value;
}

/** The default answer as it would be recorded if somebody gave it. One that fits no choice is used as it is. */
export function defaultAnswerOf(wait: AnswerFormat & Pick<WaitRecord, 'defaultAnswer'>): unknown {
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
  const text = typeof answer === 'string' ? answer.trim() : encodeValue(answer);
  if (numberIn(answer) !== undefined) return refuse(`\`${text}\` is no number of a choice: 1 to ${choices.length}`);
  const labels = choices.map(({ label }) => label).join(', ');
  return refuse(`Invalid choice: ${text}: answer 1 to ${choices.length}, or one of: ${labels}`);
}

function equalChoice(choices: readonly Choice[], answer: unknown): Choice | undefined {
  return choices.find(({ value }) => same(value, answer));
}

/**
 * Finds the choice meant. A number counts choices from 1 and is not searched for in labels. Of the labels contained in a text, the first
 * choice's wins.
 */
function lenientChoice(choices: readonly Choice[], answer: unknown): Choice | undefined {
  const number = numberIn(answer);
  if (number !== undefined) return choices[number - 1] ?? equalChoice(choices, answer);
  const equal = equalChoice(choices, answer);
  if (equal !== undefined || typeof answer !== 'string') return equal;
  const text = answer.toLowerCase();
  return choices.find(({ label }) => label !== '' && text.includes(label.toLowerCase()));
}

/** The integer in an answer that is a number or its text. */
function numberIn(answer: unknown): number | undefined {
  if (typeof answer === 'number') return Number.isInteger(answer) ? answer : undefined;
  return typeof answer === 'string' && /^\s*[+-]?\d+\s*$/.test(answer) ? Number(answer) : undefined;
}

function refuse(reason: string): never {
  throw new CairnError('ANSWER_INVALID', { reason });
}
