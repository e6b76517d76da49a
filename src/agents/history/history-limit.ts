/** Limits how much of a long conversation a model is sent. */
import type { ModelMessage } from '../../graph/contracts/model-contract.ts';
import { isPlainObject } from '../../state/values/plain.ts';

/**
 * The limits. Default: everything is sent. The system messages at the beginning are always sent, and no result is sent without its call.
 */
export interface HistoryLimit {
  /** The most messages, in addition to the system messages at the beginning. */
  readonly messagesMax?: number;
  /** The most tokens of a request: the provider's last count, plus a quarter of the bytes added since. */
  readonly tokensMax?: number;
  /** Counts tokens in place of that estimate. It must be deterministic: equal messages give equal counts. */
  readonly countTokens?: (messages: readonly ModelMessage[]) => number;
  /** Whether a model summarizes what does not fit. If not, it is left out. */
  readonly summary?: boolean | SummaryOptions;
}

export interface SummaryOptions {
  /** The model that writes summaries. Default: the agent's. */
  readonly model?: string;
  /** What the summary must contain. Replaces the default instructions. */
  readonly instructions?: string;
  /** Number of newest messages that are never summarized. Default 4. */
  readonly messagesKept?: number;
}

const limitNames = ['messagesMax', 'tokensMax', 'countTokens', 'summary'];
const summaryNames = ['model', 'instructions', 'messagesKept'];

/** What is wrong with these limits, whose types nobody has checked; undefined if nothing is. */
export function historyFault(limit: HistoryLimit): string | undefined {
  const { messagesMax, tokensMax, countTokens, summary } = limit;
  const { model, instructions, messagesKept }: SummaryOptions = isPlainObject(summary) ? summary : {};
  const stray = strayOf(limit, limitNames) ?? strayOf(summary, summaryNames);
  if (stray !== undefined) return `history has no ${stray}; it has ${[...limitNames, ...summaryNames].join(', ')}`;
  for (const [name, value] of Object.entries({ messagesMax, tokensMax }))
    if (value !== undefined && (!Number.isSafeInteger(value) || value < 1))
      return `history.${name} must be a whole number over 0`;
  if (messagesKept !== undefined && (!Number.isSafeInteger(messagesKept) || messagesKept < 0))
    return 'history.summary.messagesKept must be a whole number';
  if (countTokens !== undefined && typeof countTokens !== 'function') return 'history.countTokens must be a function';
  if (summary !== undefined && typeof summary !== 'boolean' && !isPlainObject(summary))
    return 'history.summary must be true, false or an object of options';
  for (const [name, value] of Object.entries({ model, instructions }))
    if (value !== undefined && typeof value !== 'string') return `history.summary.${name} must be a text`;
  if (summary !== undefined && summary !== false && messagesMax === undefined && tokensMax === undefined)
    return 'history.summary needs messagesMax or tokensMax, which say when a conversation is too long';
  return undefined;
}

function strayOf(value: unknown, known: readonly string[]): string | undefined {
  return isPlainObject(value) ? Object.keys(value).find((name) => !known.includes(name)) : undefined;
}
