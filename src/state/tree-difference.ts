/** Brings a part of a run's tree to another value by the ops that differ, for writers that are given whole values. */
import { isDeepStrictEqual } from 'node:util';
import type { TreeWriter } from './tree-writer.ts';
import { encodeValue } from './values/encode.ts';
import { getOwn, isPlainObject } from './values/plain-object.ts';

/** Writes the differences: changed keys of objects, and items appended to lists. @param path - its holder must be there */
export function writeDifference(writer: TreeWriter, path: readonly string[], after: unknown): void {
  const before = path.reduce<unknown>((part, key) => getOwn(part as object, key), writer.root);
  if (isDeepStrictEqual(before, after)) return;
  if (isPlainObject(before) && isPlainObject(after)) {
    for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) writer.delete([...path, key]);
    for (const [key, value] of Object.entries(after)) writeDifference(writer, [...path, key], value);
  } else if (Array.isArray(before) && Array.isArray(after) && beginsWith(after, before)) {
    const added: readonly unknown[] = after.slice(before.length);
    writer.append(path, added, encodeValue(added));
  } else writer.set(path, after);
}

const beginsWith = (list: readonly unknown[], start: readonly unknown[]): boolean =>
  isDeepStrictEqual(start, list.slice(0, start.length));
