/** Interprets a text as the answer to a question. Everything that takes answers as text uses these rules (W3.5). */
import { schemaFault, type Schema } from '../../schema/json-schema.ts';
import type { WaitRecord } from '../../state/tree.ts';
import { choicesOf } from './choices.ts';

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
