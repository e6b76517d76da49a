/** Dotted paths into the state, for the doors: history's own rule. */
export { formatPath, parsePath } from '../../history/read/state-path.ts';
