/** Whether an answer fits its question: choices, or a subset of JSON Schema (W3, docs/spec/waits.md). */
import { CairnError } from '../errors.ts';
import { encodeValue } from '../state/codec.ts';
import { same, schemaFault, type Schema } from '../state/json-schema.ts';
import type { WaitRecord } from '../state/tree.ts';

/** The values a question offers, if it offers any. */
export function choiceValues(choices: readonly unknown[]): readonly unknown[] {
  return choices.map((choice) =>
    typeof choice === 'object' && choice !== null && 'value' in choice ? choice.value : choice,
  );
}

/** @throws ANSWER_INVALID with the reason; the wait stays open */
export function checkAnswer(wait: Pick<WaitRecord, 'choices' | 'schema'>, value: unknown): void {
  const reason = answerFault(wait, value);
  if (reason !== undefined) throw new CairnError('ANSWER_INVALID', { reason });
}

function answerFault(wait: Pick<WaitRecord, 'choices' | 'schema'>, value: unknown): string | undefined {
  if (wait.choices !== undefined) {
    const values = choiceValues(wait.choices);
    if (!values.some((choice) => same(choice, value)))
      return `${encodeValue(value)} is none of ${values.map((choice) => encodeValue(choice)).join(', ')}`;
  }
  return wait.schema === undefined ? undefined : schemaFault(wait.schema as Schema, value, 'answer');
}
