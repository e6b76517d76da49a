/** Whether a text matches a pattern that anybody wrote, in bounded time: some patterns take ages on some texts. */
import { createContext, Script } from 'node:vm';

/** Far more than a pattern needs that is meant to match, and little enough to wait for. */
const limitMs = 1_000;

/** Steps that are taken without a look at the time: some tens of milliseconds. */
const quickSteps = 1e7;

/** Only here can an expression be stopped that is being matched: it heeds no signal. */
const slow = new Script('new RegExp(pattern, flags).test(text)');
let context: { pattern: string; flags: string; text: string } | undefined;

/**
 * @param flags - of the expression, such as `u`
 * @throws Error the pattern is none, or it takes longer than a second on this text
 */
export function fitsPattern(text: string, pattern: string, flags: string): boolean {
  if (isQuick(text, pattern)) return new RegExp(pattern, flags).test(text);
  context ??= createContext({ pattern: '', flags: '', text: '' }) as { pattern: string; flags: string; text: string };
  Object.assign(context, { pattern, flags, text });
  try {
    return slow.runInContext(context, { timeout: limitMs }) as boolean;
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string };
    const reason =
      code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' ? `${pattern} takes over ${limitMs} ms on this text` : message;
    throw new Error(reason, { cause: error });
  } finally {
    context.text = '';
  }
}

/**
 * Without a repeated group, each quantifier tries at most as many places as the text has, and so does the beginning of the match.
 * What only looks like a repeated group, such as `\)+`, is merely looked at with care.
 */
function isQuick(text: string, pattern: string): boolean {
  if (/\)[*+?{]/.test(pattern)) return false;
  const quantifiers = pattern.match(/[*+?{]/g)?.length ?? 0;
  return (text.length + 1) ** (quantifiers + 1) <= quickSteps;
}
