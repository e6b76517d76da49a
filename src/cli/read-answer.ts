/** Reads what a person typed as the answer to a question. */
import { choicesOf, type OpenWaitView } from '../operations/find-wait.ts';
import { parseValue } from './parse.ts';

/**
 * A text that is one of the choices is that choice, whether by its value or by its label; a question for a text gets the text as
 * it is; all else is JSON where it parses as such.
 */
export function readAnswer(wait: OpenWaitView, text: string): unknown {
  const choices = choicesOf(wait);
  const chosen =
    choices?.find(({ value }) => value === text) ??
    choices?.find(({ value }) => typeof value !== 'string' && JSON.stringify(value) === text) ??
    choices?.find(({ label }) => label === text);
  if (chosen !== undefined) return chosen.value;
  const { type } = (wait.schema ?? {}) as { readonly type?: unknown };
  const isText = Array.isArray(type) ? type.includes('string') : type === 'string';
  const value = parseValue(text);
  // A number that would be written otherwise is a text: a version, a telephone number.
  const isOther = typeof value === 'number' && String(value) !== text;
  return isText || isOther ? text : value;
}
