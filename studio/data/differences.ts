/** What differs between two values: what a form was filled with, and what it began with. */

type Values = Readonly<Record<string, unknown>>;

/** Paths of what differs, down to values that are no objects, each with the value after it: null if it was removed. */
export function differences(
  before: unknown,
  after: unknown,
  path: string,
): readonly (readonly [path: string, value: unknown])[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  const areObjects = [before, after].every(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  );
  if (!areObjects) return [[path, after ?? null]];
  const [old, next] = [before as Values, after as Values];
  return Object.keys({ ...old, ...next }).flatMap((key) => differences(old[key], next[key], `${path}.${key}`));
}
