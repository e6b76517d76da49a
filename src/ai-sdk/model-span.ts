/** The telemetry span of a model call made by the SDK. It has the form that the model port uses for its own calls (E10.5). */
import type { AssistantPart } from '../graph/contracts/model-contract.ts';
import { beginChat, endChat, endFailed, type SpanSource } from '../model-calls/gen-ai-spans.ts';
import { messageOf } from './named-call.ts';
import { isNamed } from './named-model.ts';
import type { RecordedAnswer } from './recorded-answer.ts';
import type { SdkCallOptions, SdkContent, SdkModel } from './sdk-types.ts';

/** Makes a call inside a span. */
export async function traceCall(
  source: SpanSource,
  model: SdkModel,
  { prompt, temperature, maxOutputTokens, responseFormat }: SdkCallOptions,
  make: () => Promise<RecordedAnswer>,
): Promise<RecordedAnswer> {
  if (isNamed(model)) return make();
  const settings = {
    model: `${model.provider}:${model.modelId}`,
    ...(temperature !== undefined && { temperature }),
    ...(maxOutputTokens !== undefined && { tokensMax: maxOutputTokens }),
    ...(responseFormat?.type === 'json' && { schema: {} }),
  };
  const span = beginChat(source, settings, () => prompt.map(messageOf));
  try {
    const answer = await make();
    const { id, modelId, finishReason, usage, content } = answer;
    endChat(span, {
      model: modelId,
      id,
      finishReason: finishReason.unified,
      usage: { inputTokens: usage.inputTokens.total ?? 0, outputTokens: usage.outputTokens.total ?? 0 },
      content: content.flatMap(partOf),
    });
    return answer;
  } catch (error) {
    endFailed(span, error);
    throw error;
  }
}

function partOf(part: SdkContent): readonly AssistantPart[] {
  if (part.type === 'text' || part.type === 'reasoning') return [{ type: part.type, text: part.text }];
  if (part.type !== 'tool-call') return [];
  return [{ type: 'tool-call', id: part.toolCallId, tool: part.toolName, input: part.input }];
}
