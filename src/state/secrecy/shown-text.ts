/**
 * Masks a text for showing. A reply kept as it came, or an error that quotes a value, often holds JSON; there, values under names of
 * secrets are masked, and all else of the text stays as it is.
 */
import { maskedText } from '../values/admit.ts';
import { isSecretKey } from './secret-keys.ts';

/**
 * Finds a key and its colon. JSON that is itself inside a JSON text has backslashes before its quotes: one, three or seven of them. The
 * most is bounded, so that a long row of backslashes is not searched again from each of them.
 */
const keyInText = /(\\{0,7}")([^"\\]{1,64})\1\s{0,8}:\s{0,8}/g;

/** What ends a number: a JSON text may be cut off anywhere. */
const numberAt = /-?\d[\d.eE+-]*/y;

/** The text with each value under the name of a secret replaced by `[redacted]`, in the quotes that its key has. */
export function shownText(text: string): string {
  if (!text.includes('":') && !text.includes('" :')) return text;
  const keys = new RegExp(keyInText);
  let masked = '';
  let taken = 0;
  for (let found = keys.exec(text); found !== null; found = keys.exec(text)) {
    const [, quote = '"', key = ''] = found;
    const start = keys.lastIndex;
    const end = isSecretKey(key) ? valueEnd(text, start, quote) : start;
    if (end === start) continue;
    masked += `${text.slice(taken, start)}${quote}${maskedText}${quote}`;
    taken = end;
    keys.lastIndex = end;
  }
  return taken === 0 ? text : masked + text.slice(taken);
}

/** Where the value that begins at a place ends; the place itself if none begins there that tells anything: `true`, `null`. */
function valueEnd(text: string, start: number, quote: string): number {
  if (text.startsWith(quote, start)) return textEnd(text, start, quote);
  if (text[start] === '{' || text[start] === '[') return bracketsEnd(text, start, quote);
  numberAt.lastIndex = start;
  return numberAt.test(text) ? numberAt.lastIndex : start;
}

/** Where a quoted text ends, its quote included; the end of the whole text if it is cut off. */
function textEnd(text: string, start: number, quote: string): number {
  const slashes = quote.length - 1;
  for (let at = text.indexOf('"', start + quote.length); at !== -1; at = text.indexOf('"', at + 1)) {
    let before = 0;
    while (at - before > start + quote.length && text[at - before - 1] === '\\') before += 1;
    // The value may end with backslashes of its own. Each of them is written as two, or as more further in.
    if (before % (2 * (slashes + 1)) === slashes) return at + 1;
  }
  return text.length;
}

/** Where an object or a list ends; the end of the whole text if it is cut off. */
function bracketsEnd(text: string, start: number, quote: string): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (text.startsWith(quote, at)) at = textEnd(text, at, quote) - 1;
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') depth -= 1;
    if (depth === 0) return at + 1;
  }
  return text.length;
}
