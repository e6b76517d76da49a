/** How deep a value may be nested. */
import { isObject } from './stored-error.ts';

/**
 * The deepest nesting of what a model gives: the arguments of a call, an answer. Where they are recorded they are part of a deeper value.
 */
const modelDepthMax = 400;

/** What is wrong with the nesting of a value that a model gave; undefined: nothing. It is walked without recursion, however deep it is. */
export function nestingFault(value: unknown): string | undefined {
  let level: readonly unknown[] = [value].filter(isObject);
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > modelDepthMax) return `they are nested deeper than ${modelDepthMax}`;
    // Parts that stand at several places are walked once.
    level = [...new Set(level.flatMap((part) => Object.values(part as object)).filter(isObject))];
  }
  return undefined;
}
