/**
 * Reads an answer of the model, and takes out of it what must not be taken: what was cut off at the limit of tokens, and calls without
 * number. What is sent to the model about it is part of the conversation, so these texts stay as they are (A2).
 */
import { isCutOff } from '../../graph/contracts/cut-off.ts';
import type { ModelMessage, ModelResponse } from '../../graph/contracts/model-messages.ts';
import type { TurnNote } from '../turn-note.ts';
import type { Mode, Turn } from './text-modes.ts';

/** The most tool calls that one answer may make. */
export const answerCallsMax = 128;

const cutAnswer =
  'Your answer was cut off at the limit of its length and is not taken.\nAnswer again, whole, in fewer words.';
const cutCall =
  'the answer was cut off at the limit of its length, and these arguments may not be whole; call again, with less';

/**
 * @param loop - number of the answer
 * @param next - what was sent to the model after this answer, if that is on record. An answer that was read in another way then stays read
 * so
 */
export function readTurn(mode: Mode, response: ModelResponse, loop: number, next?: TurnNote): Turn {
  const turn = mode.read(response, loop);
  const { calls, message } = turn;
  if (calls.length > answerCallsMax) {
    const tooMany = `Your answer cannot be used: it makes ${calls.length} calls, and ${answerCallsMax} at most are made of one answer.\nMake fewer at a time; none of these was made.`;
    return wasReported(next?.text, next, tooMany)
      ? { message: withoutCalls(message), calls: [], correction: tooMany }
      : turn;
  }
  if (!isCutOff(response)) return turn;
  const last = calls.at(-1);
  if (last === undefined)
    return wasReported(next?.text, next, cutAnswer) ? { message, calls, correction: cutAnswer, isCut: true } : turn;
  // The calls before the last one are whole, since it came after them.
  const output = next?.results?.at(-1)?.output;
  return wasReported(output, next, unreadable(cutCall))
    ? { ...turn, calls: [...calls.slice(0, -1), { ...last, fault: cutCall }] }
    : turn;
}

/** The text that the model gets for a call that cannot be read. */
export function unreadable(fault: string): string {
  return `this call cannot be read: ${fault}`;
}

/**
 * Whether this text was sent to the model then, or is to be sent now. An answer that was requested anew was cut off, and nothing was sent.
 */
function wasReported(reported: unknown, next: TurnNote | undefined, text: string): boolean {
  return next === undefined || next.anew !== undefined || reported === text;
}

/** Providers accept no calls without results, so the calls are omitted. The record of the answer has them. */
function withoutCalls(message: ModelMessage): ModelMessage {
  if (message.role !== 'assistant' || typeof message.content === 'string') return message;
  const content = message.content.filter((part) => part.type !== 'tool-call' || part.isProviderExecuted === true);
  return { role: 'assistant', content: content.length === 0 ? '(nothing)' : content };
}
