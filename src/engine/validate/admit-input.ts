/** Validates a value that comes from outside of a run: an answer, a signal, a patch of a fork. */
import { refuseMasked } from '../../state/secrecy/refuse-masked.ts';
import { admitValue, type Admitted, filesIn, encodeValue } from '../../state/values/codec.ts';
import type { EngineEnvironment } from '../live-run/run-core.ts';
import { CairnError } from '../../errors.ts';
import { schemaFault, type Schema, same } from '../../schema/json-schema.ts';
import type { WaitRecord } from '../../state/tree.ts';
import { choicesOf, type Choice } from './choices.ts';

/**
 * @param path - the value's place, for errors and for rules about what is not stored
 * @param where - what the value is, for messages: `the answer`
 * @throws VALUE_MASKED it contains one of our own masks; VALUE_UNSTORABLE, VALUE_TOO_LARGE
 */
export function admitExternal(
  { limits, intake }: Pick<EngineEnvironment, 'limits' | 'intake'>,
  value: unknown,
  path: readonly string[],
  where: string,
): Admitted {
  const admitted = admitValue(value, path, limits);
  refuseMasked(admitted.value, where);
  return intake === undefined ? admitted : admitValue(admitted.value, path, limits, intake);
}

// Checks files referred to by values from outside: they must be stored, and stay so until a checkpoint refers to them (C5).

/**
 * Resets the age of the files in a validated value, so that no clean-up removes them before the value is recorded.
 * @throws FILE_NOT_FOUND the tenant has no such file. It does not tell whether another tenant has
 */
export async function takeFiles({ blobs, tenant }: EngineEnvironment, value: unknown, what: string): Promise<void> {
  for (const { name, hash } of filesIn(value))
    if (!(await blobs.touch(tenant, hash))) throw new CairnError('FILE_NOT_FOUND', { name, hash, what });
}

// Interprets a text as the answer to a question. Everything that takes answers as text uses these rules (W3.5).

/**
 * Interprets a text.
 * - If it is the value or label of a choice, that choice is meant.
 * - If the schema names types, it is a text if texts are allowed, else what it means as JSON.
 * - Otherwise it is what it means as JSON, if that fits and would be written in the same way: `42` is a number, `1.0` and `+49 30` are
 *   texts.
 */
export function readAnswer(wait: Pick<WaitRecord, 'choices' | 'schema'>, text: string): unknown {
  const chosen = chosenBy(wait, text) ?? chosenBy(wait, text.trim());
  if (chosen !== undefined) return chosen.value;
  const schema = wait.schema as Schema | undefined;
  const types = typesOf(schema);
  if (types.includes('string')) return text;
  const meant = meaningOf(text);
  if (types.length > 0) return meant;
  const isAlike = typeof meant !== 'number' || String(meant) === text;
  return isAlike && (schema === undefined || schemaFault(schema, meant, 'answer') === undefined) ? meant : text;
}

function chosenBy(wait: Pick<WaitRecord, 'choices'>, text: string): { readonly value: unknown } | undefined {
  const choices = choicesOf(wait);
  return (
    choices?.find(({ value }) => value === text) ??
    choices?.find(({ value }) => typeof value !== 'string' && JSON.stringify(value) === text) ??
    choices?.find(({ label }) => label === text)
  );
}

function typesOf(schema: Schema | undefined): readonly unknown[] {
  const { type }: { readonly type?: unknown } = typeof schema === 'object' ? schema : {};
  if (type === undefined) return [];
  return Array.isArray(type) ? type : [type];
}

function meaningOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

// Checks an answer against its question (choices and JSON Schema), and finds the value that it stands for (W3, docs/spec/waits.md).

/** The part of a wait that answers are checked against. */
export type AnswerFormat = Pick<WaitRecord, 'choices' | 'matching' | 'schema'>;

/** The value to record for an answer. @throws ANSWER_INVALID with the reason; the wait stays open */
export function checkAnswer(wait: AnswerFormat, answer: unknown): unknown {
  const { matching = 'exact', schema } = wait;
  const choices = choicesOf(wait);
  const isChosen = choices !== undefined && matching !== 'open';
  const value = isChosen ? chosenValue(choices, matching, answer) : answer;
  const fault = schema === undefined ? undefined : schemaFault(schema as Schema, value, 'answer');
  if (fault !== undefined) refuse(fault);
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
