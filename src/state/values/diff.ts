/** Finds the differences between two values, for people to read. */
import { canonicalText } from './canonical-text.ts';
import { isPlainObject, type PlainObject } from './plain-object.ts';

export { readPath, setPath } from './path.ts';

/** One difference. The path consists of object keys, list indices, keys of a Map, or the text of a Set's item. */
export interface Difference {
  readonly path: readonly string[];
  readonly kind: 'added' | 'removed' | 'changed';
  /** Absent if the value was added. */
  readonly before?: unknown;
  /** Absent if the value was removed. */
  readonly after?: unknown;
}

type Path = readonly string[];
type Differences = Generator<Difference, void, undefined>;

/**
 * The places at which two values differ, ignoring the order of keys. In a list, equal items at the beginning and end are skipped, so that
 * appended or removed items are reported as such. Indices of removed items are those in the old list.
 */
export function diffValues(before: unknown, after: unknown): readonly Difference[] {
  return [...differences(before, after, [])];
}

function* differences(before: unknown, after: unknown, path: Path): Differences {
  if (Object.is(before, after)) return;
  if (isPlainObject(before) && isPlainObject(after)) yield* inObjects(before, after, path);
  else if (Array.isArray(before) && Array.isArray(after)) yield* inLists(before, after, path);
  else if (before instanceof Map && after instanceof Map) yield* inTables(tableOfMap(before), tableOfMap(after), path);
  else if (before instanceof Set && after instanceof Set) yield* inTables(tableOfSet(before), tableOfSet(after), path);
  else if (!isSameLeaf(before, after)) yield { path, kind: 'changed', before, after };
}

function isSame(before: unknown, after: unknown): boolean {
  return differences(before, after, []).next().done === true;
}

/** Compares values that have no places inside: dates, bytes, errors and the like. */
function isSameLeaf(before: unknown, after: unknown): boolean {
  const areObjects = typeof before === 'object' && before !== null && typeof after === 'object' && after !== null;
  return areObjects && canonicalText(before) === canonicalText(after);
}

function* inObjects(before: PlainObject, after: PlainObject, path: Path): Differences {
  yield* inTables(new Map(Object.entries(before)), new Map(Object.entries(after)), path);
}

type Table = ReadonlyMap<string, unknown>;

function tableOfMap(map: ReadonlyMap<unknown, unknown>): Table {
  return new Map(Array.from(map, ([key, value]) => [typeof key === 'string' ? key : canonicalText(key), value]));
}

function tableOfSet(set: ReadonlySet<unknown>): Table {
  return new Map(Array.from(set, (item) => [typeof item === 'string' ? item : canonicalText(item), item]));
}

function* inTables(before: Table, after: Table, path: Path): Differences {
  for (const [key, value] of before) {
    if (after.has(key)) yield* differences(value, after.get(key), [...path, key]);
    else yield { path: [...path, key], kind: 'removed', before: value };
  }
  for (const [key, value] of after) {
    if (!before.has(key)) yield { path: [...path, key], kind: 'added', after: value };
  }
}

function* inLists(before: readonly unknown[], after: readonly unknown[], path: Path): Differences {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && isSame(before[start], after[start])) start += 1;
  let ending = 0;
  while (ending < shorter - start && isSame(before.at(-1 - ending), after.at(-1 - ending))) ending += 1;
  for (let i = start; i < before.length - ending || i < after.length - ending; i++) {
    const at = [...path, String(i)];
    if (i >= before.length - ending) yield { path: at, kind: 'added', after: after[i] };
    else if (i >= after.length - ending) yield { path: at, kind: 'removed', before: before[i] };
    else yield* differences(before[i], after[i], at);
  }
}
