/** Messages as the GenAI conventions of OpenTelemetry write them: JSON texts, without bytes. */
import type { AssistantPart, ModelMessage, ToolResultPart, UserPart } from '../graph/contracts/model-contract.ts';
import { FileRef } from '../graph/file-ref.ts';

/** Messages as the text of an attribute. */
export function messagesText(messages: readonly ModelMessage[]): string {
  return JSON.stringify(messages.map(({ role, content }) => ({ role, parts: partsOf(content) })));
}

/** An answer as the text of an attribute. */
export function answerText(content: readonly AssistantPart[], finishReason: string): string {
  return JSON.stringify([{ role: 'assistant', parts: partsOf(content), finish_reason: finishReason }]);
}

/** Any value as the text of an attribute; bytes are told by their number. */
export function valueText(value: unknown): string {
  if (typeof value === 'string') return value;
  return JSON.stringify(value, (_, part: unknown) => (part instanceof Uint8Array ? bytesText(part) : part)) ?? 'null';
}

function partsOf(content: ModelMessage['content']): readonly object[] {
  if (typeof content === 'string') return [{ type: 'text', content }];
  return content.map(partOf);
}

function partOf(part: UserPart | AssistantPart | ToolResultPart): object {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return { type: part.type, content: part.text };
    case 'tool-call':
      return { type: 'tool_call', id: part.id, name: part.tool, arguments: part.input };
    case 'tool-result':
      return { type: 'tool_call_response', id: part.id, response: part.parts?.map(partOf) ?? valueText(part.output) };
    default:
      return { type: 'uri', modality: part.type, mime_type: part.mediaType, uri: mediaText(part.data) };
  }
}

function mediaText(data: Uint8Array | string | FileRef): string {
  if (data instanceof FileRef) return `file:${data.name}`;
  return typeof data === 'string' ? data.slice(0, 200) : bytesText(data);
}

const bytesText = ({ byteLength }: Uint8Array): string => `[${byteLength} bytes]`;
