/** Answers that a model did not finish, because they reached the limit of their tokens or because the provider stopped them. Half of an answer may say the opposite of the whole one, so it is never taken for one in silence (L12). */
import { NodeFailure } from './node-contract.ts';
import { textOf, type ModelResponse } from './model-messages.ts';

/** Whether the answer ended at the limit of its tokens, so that its end is missing. */
export function isCutOff({ finishReason }: Pick<ModelResponse, 'finishReason'>): boolean {
  return finishReason === 'length';
}

const code = 'MODEL_OUTPUT_TRUNCATED';

/** What a user does for a longer answer, by where its bound was set. */
export const waysOn = {
  call: 'raise tokensMax of the call and resume the run',
  settings: 'raise settings.tokensMax (of a gmiNode maxTokens) and resume the run: only this call is made again',
  block: 'raise its max_tokens and resume the run with the changed file (--file)',
  profile: 'raise tokensMax of its model in cairn.config and resume the run',
} as const;

/** The failure of a call whose answer was cut off. It holds the text that came, because that was paid for. */
export function cutOffFailure(
  { model, usage, content }: ModelResponse,
  way: keyof typeof waysOn,
  { data, ...hints }: { readonly data?: Readonly<Record<string, unknown>>; readonly applied?: 'no' } = {},
): NodeFailure {
  const { outputTokens } = usage;
  const what = `the answer of ${model} was cut off at the limit of its tokens (${outputTokens} written)`;
  return new NodeFailure(`${what}: ${waysOn[way]}`, {
    ...hints,
    code,
    data: { text: textOf(content), outputTokens, ...data },
  });
}

/** Does work whose answers have their bounds from somewhere else than its settings, and says so in the failure for one that was cut off. */
export async function boundedBy<T>(way: keyof typeof waysOn, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof NodeFailure) || error.code !== code) throw error;
    throw new NodeFailure(error.message.replace(waysOn.settings, waysOn[way]), { code, data: error.data });
  }
}

/**
 * Refuses an answer that the provider says it stopped.
 * @throws NodeFailure MODEL_REFUSED its filter blocked the answer, or its end; MODEL_UNAVAILABLE it met an error
 */
export function refuseStopped({ content, finishReason, model }: ModelResponse): void {
  if (finishReason !== 'content-filter' && finishReason !== 'error') return;
  const text = textOf(content);
  const data = { finishReason, ...(text !== '' && { text }) };
  if (finishReason === 'error')
    throw new NodeFailure(`${model} gave no whole answer: the provider met an error`, {
      code: 'MODEL_UNAVAILABLE',
      data,
    });
  const reason = `${model} refused to answer: the provider's filter kept its answer back`;
  throw new NodeFailure(reason, { code: 'MODEL_REFUSED', applied: 'no', data });
}

/**
 * The text of an answer that is of use only when it is whole.
 * @param way - where the bound of its tokens was set. Default: in the call
 * @throws NodeFailure MODEL_OUTPUT_TRUNCATED, MODEL_REFUSED, MODEL_UNAVAILABLE
 */
export function wholeTextOf(response: ModelResponse, way: keyof typeof waysOn = 'call'): string {
  refuseStopped(response);
  if (isCutOff(response)) throw cutOffFailure(response, way);
  return textOf(response.content);
}

/**
 * The text of a summary. Half of one is better than none, and says that it is half. @throws NodeFailure MODEL_REFUSED, MODEL_UNAVAILABLE
 */
export function summaryTextOf(response: ModelResponse): string {
  refuseStopped(response);
  const text = textOf(response.content).trim();
  return isCutOff(response) && text !== '' ? `${text}\n[the summary was cut off here]` : text;
}
