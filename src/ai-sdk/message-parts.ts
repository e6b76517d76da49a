/**
 * The parts of a chat's message, as the chunks of its stream make them: the server folds recorded messages with it, and the studio the one
 * under way. Pure.
 */

/** Something that the chat waits for. */
export interface ChatWait {
  /** `user`: the person of the chat may answer. `staff`: somebody else is asked; the question is not shown here. */
  readonly audience: 'user' | 'staff';
  /** The tool's call that waits for it, if one does. */
  readonly toolCallId?: string;
  /** Of a question for the user: its id, its words, and what fits it. */
  readonly waitId?: string;
  readonly prompt?: string;
  readonly choices?: readonly unknown[];
  readonly schema?: unknown;
}

/** A part of a message: a text, reasoning, a tool's call, or the beginning of a step. */
export interface MessagePart {
  readonly type: string;
  /** Of a text or reasoning: chunks name it. */
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

/** A piece of a stream, as far as it changes parts. */
export interface MessageChunk extends Omit<MessagePart, 'text' | 'state' | 'approval'> {
  readonly delta?: string;
  readonly approvalId?: string;
  readonly approved?: boolean;
  readonly reason?: string;
  /** Of a tool's call: whether the tool is not known by its name. */
  readonly dynamic?: boolean;
}

const typedPrefix = 'tool-';

/** The name of the tool that a part is a call of; undefined if it is none. */
export function toolNameOf({ type, toolName }: MessagePart): string | undefined {
  if (type === 'dynamic-tool') return toolName;
  return type.startsWith(typedPrefix) ? type.slice(typedPrefix.length) : undefined;
}

/** What has this id is changed; nothing is, if nothing has it. */
function change(
  parts: readonly MessagePart[],
  isIt: (part: MessagePart) => boolean,
  more: Partial<MessagePart>,
): MessagePart[] {
  const at = parts.findLastIndex(isIt);
  return parts.map((part, index) => (index === at ? { ...part, ...more } : part));
}

/** The parts without what was said since the last step began: it is said anew. */
function withoutTexts(parts: readonly MessagePart[]): readonly MessagePart[] {
  const start = parts.findLastIndex(({ type }) => type === 'step-start');
  return parts.filter(({ type }, index) => index <= start || (type !== 'text' && type !== 'reasoning'));
}

/** The parts of a message after a chunk. */
export function partsAfter(parts: readonly MessagePart[], chunk: MessageChunk): readonly MessagePart[] {
  const {
    type,
    id,
    toolCallId,
    toolName,
    input,
    output,
    errorText,
    approvalId,
    approved,
    reason,
    dynamic,
    delta = '',
  } = chunk;
  const call = (part: MessagePart): boolean => part.toolCallId !== undefined && part.toolCallId === toolCallId;
  switch (type) {
    case 'start-step':
      return [...parts, { type: 'step-start' }];
    case 'reset-step':
      return withoutTexts(parts);
    case 'text-start':
    case 'reasoning-start':
      return [...parts, { type: type.replace('-start', ''), text: '', ...(id !== undefined && { id }) }];
    case 'text-delta':
    case 'reasoning-delta': {
      const target = parts.findLast((part) => part.id === id);
      return change(parts, (part) => part === target, { text: `${target?.text ?? ''}${delta}` });
    }
    case 'tool-input-available':
      if (parts.some(call)) return parts;
      return [
        ...parts,
        {
          ...(dynamic === true
            ? { type: 'dynamic-tool', toolName: toolName ?? '' }
            : { type: `${typedPrefix}${toolName ?? ''}` }),
          state: 'input-available',
          input,
          toolCallId: toolCallId ?? '',
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
