/** Makes one model call of a conversation. If the model gives no answer, fallback models are tried. */
import type { ModelCall, ModelMessage, ModelResponse } from '../../graph/contracts/model-contract.ts';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import { refuseStopped } from '../../graph/contracts/whole-answer.ts';

/** Error codes after which the next fallback model is tried. */
const passedOn: readonly string[] = ['MODEL_UNAVAILABLE', 'MODEL_REFUSED', 'MODEL_UNKNOWN'];

export interface AnsweredCall {
  readonly response: ModelResponse;
  /** Name of the fallback model that answered, if one did. */
  readonly by?: string;
}

/**
 * Tries one model after another until one answers.
 * @param fallbacks - models to try in order
 * @param onFallback - called before a fallback is tried: pieces of the earlier answer are void
 * @throws NodeFailure an error that may be temporary, if there was one; else the last model's error
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
      // A blocked answer is not recorded as one, so the run can go on with another model.
      refuseStopped(response);
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
