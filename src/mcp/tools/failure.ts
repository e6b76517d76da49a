/** Converts errors to tool results: the code, what happened, and what to do next. */
import { CairnError, type ErrorCode } from '../../errors.ts';
import { shownError } from '../../operations/declare/perform.ts';
import { toJson } from '../../operations/declare/to-json.ts';
import type { ToolAnswer } from './tool.ts';

/** What to do next, for errors whose usual hint names a command in place of a tool. */
const toolHints: Partial<Record<ErrorCode, string>> = {
  RUN_NOT_FOUND: 'list_runs lists those there are.',
  RUN_FINISHED: 'fork_checkpoint goes on from one of its checkpoints.',
  RUN_CANCELLED: 'fork_checkpoint goes on from one of its checkpoints.',
  WAIT_NOT_FOUND: 'inbox lists the open questions. A failed run asks again when it is resumed.',
  WAIT_CLOSED: 'fork_checkpoint, with answers, answers otherwise.',
  CHECKPOINT_NOT_FOUND: 'list_checkpoints lists those there are.',
  CLAIM_TAKEN: 'Another process works on it: get_run says where it stands. An answer can be given all the same.',
  CHECKPOINT_NEEDED: 'Deleting the newest checkpoint of the run removes all of it.',
  HISTORY_HAS_FORKS: 'Delete the forks first, or keep the run.',
};

/** @param more - further fields of the result */
export function failureOf(thrown: unknown, more: Readonly<Record<string, unknown>> = {}): ToolAnswer {
  const { code, message, hint, retry, data } = shownError(CairnError.from(thrown)) as CairnError;
  return {
    isError: true,
    content: {
      status: 'failure',
      error: message,
      message: toolHints[code] ?? hint,
      code,
      retry,
      ...(Object.keys(data).length > 0 && { data: toJson(data) }),
      ...more,
    },
  };
}
