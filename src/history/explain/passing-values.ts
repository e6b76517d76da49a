/**
 * Large values of a story that stand in no state: the same checkpoint wrote something else there, before or after them. Doors leave large
 * values out of their answers and name the state that has them; of these there is none.
 */
import type { Op } from '../../state/delta.ts';
import { placeInTree } from './op-authors.ts';

/** Doors leave out what is several times as large, by an estimate that is never this far off. */
const largeFromBytes = 1024;

function isLarge(value: unknown): boolean {
  if (typeof value === 'string') return value.length >= largeFromBytes;
  return typeof value === 'object' && value !== null && JSON.stringify(value).length >= largeFromBytes;
}

/** Whether one of these values is large, and another op of the checkpoint wrote at its place, around it or within it. */
export function isPassingChange(ops: readonly Op[], index: number, values: readonly unknown[]): boolean {
  const [, path] = ops[index] as Op;
  return (
    ops.length > 1 &&
    values.some(isLarge) &&
    ops.some(
      ([, other], at) => at !== index && path.every((key, depth) => depth >= other.length || other[depth] === key),
    )
  );
}

/** Whether what a visit gave is large, and ops of the checkpoint from `end` on replaced it, as the next visit of its node does. */
export function isPassingOutput(ops: readonly Op[], index: number, end: number, output: unknown): boolean {
  const [, path] = ops[index] as Op;
  const record = placeInTree(path).rest?.length === 2 ? path : path.slice(0, -1);
  const place = [...record, 'output'];
  return (
    ops.length > end &&
    isLarge(output) &&
    ops.slice(end).some(([, other]) => place.every((key, depth) => depth >= other.length || other[depth] === key))
  );
}
