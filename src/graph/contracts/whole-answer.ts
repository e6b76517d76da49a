/**
 * Answers that a model did not finish, because they reached the limit of their tokens or because the provider's filter stopped them. Half
 * an answer may say the opposite of the whole one, so it is never taken for one in silence (L12).
 */
import { textOf, type ModelResponse } from './model-contract.ts';
import { NodeFailure } from './node-contract.ts';

/** Whether the answer ended at the limit of its tokens, so that its end is missing. */
export function isCutOff({ finishReason }: Pick<ModelResponse, 'finishReason'>): boolean {
  return finishReason === 'length';
}

/** The failure of a call whose answer was cut off. It holds the text that came, because that was paid for. */
export function cutOffFailure(
  { model, usage, content }: ModelResponse,
  more: Readonly<Record<string, unknown>> = {},
): NodeFailure {
  const { outputTokens } = usage;
  return new NodeFailure(
    `the answer of ${model} was cut off at the limit of its tokens (${outputTokens} written): raise the limit, or ask for less`,
    { code: 'MODEL_OUTPUT_TRUNCATED', data: { text: textOf(content), outputTokens, ...more } },
  );
}

/** @throws NodeFailure MODEL_REFUSED the provider's filter kept the answer back, or its end */
export function refuseFiltered({ content, finishReason, model }: ModelResponse): void {
  if (finishReason !== 'content-filter') return;
  const text = textOf(content);
  throw new NodeFailure(`${model} refused to answer: the provider's filter kept its answer back`, {
    code: 'MODEL_REFUSED',
    applied: 'no',
    data: { finishReason, ...(text !== '' && { text }) },
  });
}

/** The text of an answer that is of use only when it is whole. @throws NodeFailure MODEL_OUTPUT_TRUNCATED, MODEL_REFUSED */
export function wholeTextOf(response: ModelResponse): string {
  refuseFiltered(response);
  if (isCutOff(response)) throw cutOffFailure(response);
  return textOf(response.content);
}

/** The text of a summary. Half of one is better than none, and says that it is half. @throws NodeFailure MODEL_REFUSED */
export function summaryTextOf(response: ModelResponse): string {
  refuseFiltered(response);
  const text = textOf(response.content).trim();
  return isCutOff(response) && text !== '' ? `${text}\n[the summary was cut off here]` : text;
}
