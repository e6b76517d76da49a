/** Finds the values that differ between two states. */
import { isDeepStrictEqual } from 'node:util';
import { isPlainObject } from '../../state/values/plain.ts';

/** A value that differs, with both sides. A side that lacks the value lacks the field. */
export interface ValueDifference {
  /** Path from the partition: `scratch`, `artifacts`, `diagnostics`, `input`, `outputs` or `failures`. List items are keyed by index. */
  readonly path: readonly string[];
  readonly before?: unknown;
  readonly after?: unknown;
}

type Keyed = Readonly<Record<string, unknown>>;

/** Compares two states recursively and returns the smallest parts that differ. @param path - path of the two values; default: the root */
export function compareValues(before: Keyed, after: Keyed, path: readonly string[] = []): readonly ValueDifference[] {
  const found: ValueDifference[] = [];
  compareKeyed(before, after, path, found);
  return found;
}

function compareKeyed(before: Keyed, after: Keyed, path: readonly string[], found: ValueDifference[]): void {
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const place = [...path, key];
    if (!Object.hasOwn(after, key)) found.push({ path: place, before: before[key] });
    else if (!Object.hasOwn(before, key)) found.push({ path: place, after: after[key] });
    else compareOne(before[key], after[key], place, found);
  }
}

function compareOne(before: unknown, after: unknown, path: readonly string[], found: ValueDifference[]): void {
  if (isPlainObject(before) && isPlainObject(after)) compareKeyed(before, after, path, found);
  else if (Array.isArray(before) && Array.isArray(after)) compareKeyed(keyed(before), keyed(after), path, found);
  else if (!isDeepStrictEqual(before, after)) found.push({ path, before, after });
}

const keyed = (items: readonly unknown[]): Keyed => Object.fromEntries(items.entries());
