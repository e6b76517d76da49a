/** Guesses what was meant by a mistyped word; here for the doors, which do not know the graph. */
export { nearest } from '../../graph/nearest.ts';
