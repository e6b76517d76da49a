/** A model whose answers are given beforehand: for tests and demos. */
import { NodeFailure } from '../graph/node-contract.ts';
import type { ModelRequest, ModelResponse, Models } from '../ports/model.ts';

/** A text, parts of a response, or an error that is thrown. */
export type ScriptedAnswer = string | Error | (Partial<ModelResponse> & { readonly text: string });

/** Answers in the order of the calls, or a function of the request and the number of calls before it. */
export type Script =
  readonly ScriptedAnswer[] | ((request: ModelRequest, index: number) => ScriptedAnswer | Promise<ScriptedAnswer>);

export interface ScriptedModels extends Models {
  /** What was asked for, in order. */
  readonly requests: readonly ModelRequest[];
}

/**
 * Makes models that answer by a script. Four characters count as one token.
 * @throws NodeFailure MODEL_REFUSED at a call for which the script has no answer
 */
export function createScriptedModels(script: Script): ScriptedModels {
  const requests: ModelRequest[] = [];
  return {
    requests,
    async generate(request) {
      request.signal.throwIfAborted();
      const index = requests.push(request) - 1;
      const answer = typeof script === 'function' ? await script(request, index) : (script[index] ?? ranOut(index));
      if (answer instanceof Error) throw answer;
      const response = typeof answer === 'string' ? { text: answer } : answer;
      request.onText?.(response.text);
      return { model: request.model, finishReason: 'stop', usage: usageOf(request, response.text), ...response };
    },
  };
}

function ranOut(count: number): never {
  throw new NodeFailure(`the script has answers for ${count} calls only`, { code: 'MODEL_REFUSED', applied: 'no' });
}

function usageOf({ messages }: ModelRequest, text: string): ModelResponse['usage'] {
  const characters = messages.reduce((sum, { content }) => sum + content.length, 0);
  return { inputTokens: Math.ceil(characters / 4), outputTokens: Math.ceil(text.length / 4) };
}
