/** What a model is sent of a conversation that has grown long: the system messages, and the newest that fit. */
import type { ModelMessage } from '../graph/contracts/model-contract.ts';

/** How much of a conversation a model is sent. Default: all of it. */
export interface HistoryLimit {
  /** Messages, beside the system messages at the beginning. */
  readonly messagesMax?: number;
}

/** A copy of a conversation as it is sent, since the conversation grows. The system messages stay, and no tool result is sent without the call that asked for it. */
export function cutHistory(
  messages: readonly ModelMessage[],
  { messagesMax = Infinity }: HistoryLimit,
): readonly ModelMessage[] {
  const system = messages.findIndex(({ role }) => role !== 'system');
  const head = system < 0 ? messages.length : system;
  if (messages.length - head <= messagesMax) return [...messages];
  let start = messages.length - messagesMax;
  while (start < messages.length && messages[start]?.role === 'tool') start += 1;
  return [...messages.slice(0, head), ...messages.slice(start)];
}
