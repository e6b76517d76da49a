/** One model call of a conversation: the model, or those that stand in for it when it gives no answer. */
import type { ModelCall, ModelMessage, ModelResponse } from '../graph/contracts/model-contract.ts';
import { textOf } from '../graph/contracts/model-contract.ts';
import { NodeFailure } from '../graph/contracts/node-contract.ts';

/** After these another model may do better. */
const passedOn: readonly string[] = ['MODEL_UNAVAILABLE', 'MODEL_REFUSED', 'MODEL_UNKNOWN'];

export interface AnsweredCall {
  readonly response: ModelResponse;
  /** The model that stood in. */
  readonly by?: string;
}

/**
 * Asks one model after the other until one answers.
 * @param fallbacks - models that are asked in turn where the one before gives no answer
 * @param onFallback - told before another is asked: what came of the one before is void
 * @throws NodeFailure of the one that may pass, if any of them may; else of the last
 */
export async function askModel(
  settings: Omit<ModelCall, 'messages'>,
  messages: readonly ModelMessage[],
  fallbacks: readonly string[],
  generate: (call: ModelCall) => Promise<ModelResponse>,
  onFallback: (from: string, to: string, code: string) => void,
): Promise<AnsweredCall> {
  let failure: NodeFailure | undefined;
  const models = [settings.model, ...fallbacks];
  for (const [index, model] of models.entries()) {
    try {
      const response = await generate({ ...settings, model, messages });
      refuseRefusal(response);
      return index === 0 ? { response } : { response, by: model };
    } catch (error) {
      if (!(error instanceof NodeFailure) || !passedOn.includes(error.code)) throw error;
      if (failure?.code !== 'MODEL_UNAVAILABLE') failure = error;
      const next = models[index + 1];
      if (next !== undefined) onFallback(model, next, error.code);
    }
  }
  throw failure as NodeFailure;
}

/** A provider that let its model say nothing gave no answer: it is not recorded as one, so the run can go on with another. */
function refuseRefusal({ content, finishReason, model }: ModelResponse): void {
  if (finishReason !== 'content-filter') return;
  const text = textOf(content);
  if (content.some(({ type }) => type === 'tool-call') || text.trim() !== '') return;
  throw new NodeFailure(`${model} refused to answer: the provider's filter kept its answer back`, {
    code: 'MODEL_REFUSED',
    applied: 'no',
    data: { finishReason },
  });
}
