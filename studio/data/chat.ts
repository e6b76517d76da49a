/** A chat: its messages, and what a stream adds to the one under way. Pure. */

export interface ChatWait {
  readonly audience: 'user' | 'staff';
  readonly toolCallId?: string;
  readonly waitId?: string;
  readonly prompt?: string;
  readonly choices?: readonly unknown[];
  readonly schema?: unknown;
}

export interface ChatPart {
  readonly type: string;
  /** Of a text or reasoning, while it comes. */
  readonly id?: string;
  readonly text?: string;
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly state?: string;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly errorText?: string;
  readonly approval?: { readonly id: string; readonly approved?: boolean; readonly reason?: string };
}

export interface ChatMessage {
  readonly id: string;
  readonly role: 'user' | 'assistant';
  readonly parts: readonly ChatPart[];
  readonly metadata?: { readonly waits?: readonly ChatWait[] };
}

/** A piece of a stream, as the AI SDK's interfaces read it. */
export interface ChatChunk extends ChatPart {
  readonly messageId?: string;
  readonly delta?: string;
  readonly approvalId?: string;
  readonly approved?: boolean;
  readonly reason?: string;
  readonly messageMetadata?: ChatMessage['metadata'];
}

/** What has this id is changed; nothing is, if nothing has it. */
function change(parts: readonly ChatPart[], isIt: (part: ChatPart) => boolean, more: Partial<ChatPart>): ChatPart[] {
  const at = parts.findLastIndex(isIt);
  return parts.map((part, index) => (index === at ? { ...part, ...more } : part));
}

/** The parts without what was said since the last step began: it is said anew. */
function withoutSaid(parts: readonly ChatPart[]): readonly ChatPart[] {
  const start = parts.findLastIndex(({ type }) => type === 'step-start');
  return parts.filter(({ type }, index) => index <= start || (type !== 'text' && type !== 'reasoning'));
}

/** The parts of a message after a chunk. */
function partsAfter(parts: readonly ChatPart[], chunk: ChatChunk): readonly ChatPart[] {
  const { type, id, toolCallId, toolName, input, output, errorText, approvalId, approved, reason, delta = '' } = chunk;
  const call = (part: ChatPart): boolean => part.toolCallId !== undefined && part.toolCallId === toolCallId;
  switch (type) {
    case 'start-step':
      return [...parts, { type: 'step-start' }];
    case 'reset-step':
      return withoutSaid(parts);
    case 'text-start':
    case 'reasoning-start':
      return [...parts, { type: type.replace('-start', ''), text: '', ...(id !== undefined && { id }) }];
    case 'text-delta':
    case 'reasoning-delta': {
      const said = parts.findLast((part) => part.id === id);
      return change(parts, (part) => part === said, { text: `${said?.text ?? ''}${delta}` });
    }
    case 'tool-input-available':
      if (parts.some(call)) return parts;
      return [
        ...parts,
        {
          type: 'dynamic-tool',
          state: 'input-available',
          input,
          toolCallId: toolCallId ?? '',
          toolName: toolName ?? '',
        },
      ];
    case 'tool-approval-request':
      return change(parts, call, { state: 'approval-requested', approval: { id: approvalId ?? '' } });
    case 'tool-approval-response':
      return change(parts, (part) => part.approval?.id === approvalId, {
        state: 'approval-responded',
        approval: { id: approvalId ?? '', approved: approved === true, ...(reason !== undefined && { reason }) },
      });
    case 'tool-output-available':
      return change(parts, call, { state: 'output-available', output });
    case 'tool-output-error':
      return change(parts, call, { state: 'output-error', errorText: errorText ?? '' });
    case 'tool-output-denied':
      return change(parts, call, { state: 'output-denied' });
    default:
      return parts;
  }
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

/** @param isWhole - whether the stream tells its message from the beginning, and not what the page has not got yet */
export function takeChunk(chat: Chat, chunk: ChatChunk, isWhole: boolean): Chat {
  const { messages, current } = chat;
  const { type, messageId = '' } = chunk;
  if (type === 'error') return { ...chat, failure: chunk.errorText ?? 'It failed.' };
  if (type === 'start') {
    const begun: ChatMessage = { id: messageId, role: 'assistant', parts: [] };
    const isKnown = messages.some(({ id }) => id === messageId);
    const told = isKnown
      ? messages.map((one) => (one.id === messageId && isWhole ? begun : one))
      : [...messages, begun];
    return { messages: told, current: messageId };
  }
  const next = messages.map((message) => {
    if (message.id !== current) return message;
    if (type === 'message-metadata') return { ...message, metadata: chunk.messageMetadata ?? {} };
    return { ...message, parts: partsAfter(message.parts, chunk) };
  });
  return { ...chat, messages: next };
}
