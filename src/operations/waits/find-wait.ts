/** How waits are found by name and shown. Re-exports the engine's functions for the CLI and the MCP server. */
export type { OpenQuestion } from '../../engine/api.ts';
export { choicesOf, doubtDecisions, happenedWith, isEmptyHappened } from '../../engine/validate/choices.ts';
export { isAnswerable } from '../../history/stored/wait-row.ts';
export { assigneesOf } from '../../engine/validate/whose-answer.ts';
export { findWait, nodeNameOf } from '../../engine/validate/find-wait.ts';
