/** Waits, as doors name, read and show them: the engine's own rules. */
export type { OpenQuestion } from '../../engine/api.ts';
export { choicesOf, type Choice } from '../../engine/admit/choices.ts';
export { isAnswerable } from '../../history/stored/open-waits.ts';
export { findWait, nodeNameOf } from '../../engine/admit/find-wait.ts';
export { readAnswer } from '../../engine/admit/read-answer.ts';
