/** Errors as answers of tools: the code, what happened, and what to do next. */
import { CairnError } from '../errors.ts';
import { toJson } from '../operations/to-json.ts';
import type { ToolAnswer } from './tool.ts';

/** As every door tells it; anything that is no error of Cairn is a defect, told without its stack. */
export function toCairnError(error: unknown): CairnError {
  if (CairnError.is(error)) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new CairnError('INTERNAL', { reason }, { cause: error });
}

/** @param more - what the tool has to say besides */
export function failureOf(thrown: unknown, more: Readonly<Record<string, unknown>> = {}): ToolAnswer {
  const { code, message, hint, retry, data } = toCairnError(thrown);
  return {
    isError: true,
    content: {
      status: 'failure',
      error: message,
      message: hint,
      code,
      retry,
      ...(Object.keys(data).length > 0 && { data: toJson(data) }),
      ...more,
    },
  };
}
