/** What is recorded of a model's answer, and how the answer is rebuilt from it. Requests, bodies and headers are never recorded. */
import type { SdkContent, SdkResult, SdkStreamPart } from './sdk-types.ts';
import { plainCopy } from './plain-copy.ts';

/** An answer in the form in which it is recorded. */
export interface RecordedAnswer extends Pick<
  SdkResult,
  'content' | 'finishReason' | 'usage' | 'warnings' | 'providerMetadata' | 'structuredOutputText'
> {
  readonly id: string;
  readonly modelId: string;
  /** Epoch ms, by the provider's clock if it reports the time. */
  readonly at: number;
}

/** Values for what a provider does not report. */
export interface AnswerDefaults {
  readonly id: string;
  readonly modelId: string;
  readonly at: number;
}

export function answerOf(result: SdkResult, defaults: AnswerDefaults): RecordedAnswer {
  const { content, finishReason, usage, warnings, providerMetadata, structuredOutputText, response = {} } = result;
  const { id = defaults.id, modelId = defaults.modelId, timestamp } = response;
  const at = timestamp?.getTime() ?? defaults.at;
  const kept = {
    content: distinctCalls(content),
    finishReason,
    usage,
    warnings,
    providerMetadata,
    structuredOutputText,
    id,
    modelId,
    at,
  };
  return plainCopy(kept) as RecordedAnswer;
}

/** Gives each call of an answer an id of its own: some providers repeat one, and results are matched with calls by their ids. */
function distinctCalls(content: SdkResult['content']): SdkResult['content'] {
  const taken = new Set<string>();
  return content.map((part) => {
    if (part.type !== 'tool-call' || part.providerExecuted === true) return part;
    let toolCallId = part.toolCallId;
    for (let nth = 2; taken.has(toolCallId); nth += 1) toolCallId = `${part.toolCallId}-${nth}`;
    taken.add(toolCallId);
    return toolCallId === part.toolCallId ? part : { ...part, toolCallId };
  });
}

export function resultOf({ id, modelId, at, ...answer }: RecordedAnswer): SdkResult {
  return { ...answer, response: { id, modelId, timestamp: new Date(at) } };
}

/** The answer as stream parts, beginning with the content's part at index `from`. */
export function* partsOf(answer: RecordedAnswer, from = 0): Generator<SdkStreamPart> {
  const { content, finishReason, usage, providerMetadata, id, modelId, at } = answer;
  for (const [index, part] of content.entries()) if (index >= from) yield* partsOfContent(part, `recorded-${index}`);
  yield { type: 'response-metadata', id, modelId, timestamp: new Date(at) };
  yield { type: 'finish', finishReason, usage, ...(providerMetadata !== undefined && { providerMetadata }) };
}

/** One part of an answer, as a stream tells it. */
export function* partsOfContent(part: SdkContent, id: string): Generator<SdkStreamPart> {
  if (part.type !== 'text' && part.type !== 'reasoning') {
    yield part;
    return;
  }
  const { type, text, providerMetadata } = part;
  yield { type: `${type}-start`, id, ...(providerMetadata !== undefined && { providerMetadata }) };
  if (text !== '') yield { type: `${type}-delta`, id, delta: text };
  const citations = part.type === 'text' ? part.citations : undefined;
  yield { type: `${type}-end`, id, ...(citations !== undefined && { citations }) };
}
