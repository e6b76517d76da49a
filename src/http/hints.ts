/** What to do next, for who calls over HTTP: the table's hints name commands and options where these are what helps. */
import type { ErrorCode } from '../errors.ts';

/** Hints that are for a shell, as HTTP says them. A code that is absent says nothing that names a command. */
const ownHints: Partial<Readonly<Record<ErrorCode, string>>> = {
  GRAPH_PARSE: 'Correct the text and send it again.',
  CONVERSION_LOSSY: 'Change what is listed.',
  CODE_NOT_RUN: 'Who runs the server names the module in its configuration, under modules.',
  USAGE_INVALID: 'GET /v1/openapi.json says what each route takes.',
  INPUT_INVALID: 'Give an input that fits the schema: GET /v1/graphs and GET /v1/workflows tell it.',
  EXPORT_MASKED: 'Export the run without masks.',
  READ_TOO_COSTLY: 'Ask for less: a range that ends earlier, a cheaper condition, a page.',
  WORKFLOW_NOT_FOUND: 'GET /v1/workflows and GET /v1/graphs list what can be started.',
  DATASET_NOT_FOUND: 'GET /v1/datasets lists the datasets.',
  RUN_NOT_FOUND: 'GET /v1/runs lists the runs. One that ended may have been removed since.',
  RUN_EXPIRED:
    'Start it under another id. Who runs the server may bring back the removed one from an export or a backup.',
  PREVIEW_CHANGED: 'Look at the new preview, which is here under preview, and decide again with its etag.',
  BUDGET_EXCEEDED: 'Resume the run with a higher budget: POST /v1/runs/{run}/resume with budget.',
  RUN_HELD: 'Look what it may have done since. Who has the scope admin then lets it go on.',
  WAIT_NOT_FOUND: 'GET /v1/waits lists open waits. To answer otherwise what was answered, fork the run.',
  ANSWER_RESERVED: 'Somebody whose answer it is gives it: in the studio, or with a token of theirs.',
  CHECKPOINT_NOT_FOUND: 'GET /v1/runs/{run}/checkpoints lists those of a run.',
  CHECKPOINT_NEEDED: 'Remove what needs it first, or the run as a whole: DELETE /v1/runs/{run}',
  HISTORY_HAS_FORKS: 'Remove them too, with withForks, or keep the run.',
  BLOB_NOT_FOUND:
    'Who runs the server names the place of its blobs, or restores them. Else fork from a checkpoint that does not name it.',
  RUN_GRAPH_CHANGED: 'Fork from an earlier checkpoint, or resume with the definition that is stored with the run.',
  CONFIG_INVALID: 'Who runs the server corrects what is named.',
};

/** A command of the command line, or an option of one. */
const isForShell = /\bcairn [a-z-]+|(?:^|[\s(:,`])--[a-z]|\bcommand line\b|\bthe command\b/;

/** @param hint - what the error says. A hint for a shell is said for HTTP, and left out if there is none. */
export function hintOverHttp(code: ErrorCode, hint: string): { readonly hint?: string } {
  const said = isForShell.test(hint) ? ownHints[code] : hint;
  return said === undefined ? {} : { hint: said };
}
