/** A chat: its messages, and what a stream adds to the one under way. Pure. */
import { partsAfter, type ChatWait, type MessageChunk, type MessagePart } from '../../src/ai-sdk/message-parts.ts';

export interface ChatMessage {
  readonly id: string;
  readonly role: 'user' | 'assistant';
  readonly parts: readonly MessagePart[];
  readonly metadata?: { readonly waits?: readonly ChatWait[] };
}

/** A piece of a stream, as the AI SDK's interfaces read it. */
export interface ChatChunk extends MessageChunk {
  readonly messageId?: string;
  readonly messageMetadata?: ChatMessage['metadata'];
}

/** A message whose call is decided about; what waited for that waits no longer. */
export function withDecision(message: ChatMessage, toolCallId: string, approved: boolean): ChatMessage {
  const isIt = (part: { readonly toolCallId?: string }): boolean => part.toolCallId === toolCallId;
  return {
    ...message,
    parts: message.parts.map((part) =>
      isIt(part) ? { ...part, state: 'approval-responded', approval: { id: toolCallId, approved } } : part,
    ),
    metadata: { waits: message.metadata?.waits?.filter((wait) => !isIt(wait)) ?? [] },
  };
}

/** A message without a question that was answered. */
export function withoutWait(message: ChatMessage, waitId: string): ChatMessage {
  return { ...message, metadata: { waits: message.metadata?.waits?.filter((wait) => wait.waitId !== waitId) ?? [] } };
}

/** A chat as far as it is known. */
export interface Chat {
  readonly messages: readonly ChatMessage[];
  /** The message that the stream is of. */
  readonly current?: string;
  /** Why the last answer failed. */
  readonly failure?: string;
}

/** Whether an answer is on its way of which nothing is there yet. */
export const isThinking = (isUnderWay: boolean, messages: Chat['messages']): boolean =>
  isUnderWay && messages.at(-1)?.role === 'user';

/** @param isWhole - whether the stream has its message from the beginning, and not what the page has not got yet */
export function takeChunk(chat: Chat, chunk: ChatChunk, isWhole: boolean): Chat {
  const { messages, current } = chat;
  const { type, messageId = '' } = chunk;
  if (type === 'error') return { ...chat, failure: chunk.errorText ?? 'It failed.' };
  if (type === 'start') {
    const begun: ChatMessage = { id: messageId, role: 'assistant', parts: [] };
    const isKnown = messages.some(({ id }) => id === messageId);
    const withBegun = isKnown
      ? messages.map((one) => (one.id === messageId && isWhole ? begun : one))
      : [...messages, begun];
    return { messages: withBegun, current: messageId };
  }
  const next = messages.map((message) => {
    if (message.id !== current) return message;
    if (type === 'message-metadata') return { ...message, metadata: chunk.messageMetadata ?? {} };
    return { ...message, parts: partsAfter(message.parts, chunk) };
  });
  return { ...chat, messages: next };
}
