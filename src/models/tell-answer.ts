/** Streams an answer that is already complete, for callers that expect pieces. */
import type { AssistantPart } from '../graph/contracts/model-contract.ts';
import type { ModelRequest } from '../ports/model.ts';

/** Passes on an answer part by part. @param pieces - the text in pieces. Default: in one piece */
export function tellAnswer(
  content: readonly AssistantPart[],
  onDelta: ModelRequest['onDelta'],
  pieces?: readonly string[],
): void {
  if (onDelta === undefined) return;
  for (const part of content) {
    if (part.type === 'reasoning') onDelta({ type: 'reasoning', text: part.text });
    if (part.type === 'text') for (const text of pieces ?? [part.text]) onDelta({ type: 'text', text });
    if (part.type !== 'tool-call') continue;
    const { id, tool, input } = part;
    for (const text of ['', JSON.stringify(input)]) onDelta({ type: 'tool-arguments', id, tool, text });
  }
}
