/** How much of a long conversation a model is sent. */
import type { ModelMessage } from '../../graph/contracts/model-contract.ts';

/** Default: all of it. The system messages at the beginning stay, and no result is sent without its call. */
export interface HistoryLimit {
  /** Messages, beside the system messages at the beginning. */
  readonly messagesMax?: number;
  /** Tokens of a request: those that the provider counted last, and a quarter of the bytes that came since. */
  readonly tokensMax?: number;
  /** Counts the tokens of a request in place of that. It must be repeatable: equal messages, equal count. */
  readonly countTokens?: (messages: readonly ModelMessage[]) => number;
  /** What is too much is told by a model in short, where it is left out otherwise. */
  readonly summary?: boolean | SummaryOptions;
}

export interface SummaryOptions {
  /** Default: the agent's model. */
  readonly model?: string;
  /** What the summary must hold, in place of the default. */
  readonly instructions?: string;
  /** The newest messages, which stay as they are. Default 4. */
  readonly messagesKept?: number;
}

export function historyFault({ messagesMax, tokensMax, summary }: HistoryLimit): string | undefined {
  for (const [name, value] of Object.entries({ messagesMax, tokensMax }))
    if (value !== undefined && (!Number.isSafeInteger(value) || value < 1))
      return `history.${name} must be a whole number over 0`;
  if (summary !== undefined && summary !== false && messagesMax === undefined && tokensMax === undefined)
    return 'history.summary needs messagesMax or tokensMax, which say when a conversation is too long';
  return undefined;
}
