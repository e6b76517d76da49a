/** Reads and changes one place inside of a value. Keys of a path are object keys, array indices, or string keys of a Map. */
import { isPlainObject, setOwn } from './plain-object.ts';

type Path = readonly string[];

/** The value at a path, or `missing`. Inherited properties do not count. */
export function readPath(value: unknown, path: Path, missing?: unknown): unknown {
  let at = value;
  for (const key of path) {
    if (typeof at !== 'object' || at === null) return missing;
    if (at instanceof Map) {
      if (!at.has(key)) return missing;
      at = at.get(key);
    } else if ((Array.isArray(at) && isIndex(key)) || !Array.isArray(at)) {
      if (!Object.hasOwn(at, key)) return missing;
      at = (at as Readonly<Record<string, unknown>>)[key];
    } else return missing;
  }
  return at;
}

/**
 * A copy of `value` with `next` at `path`. Other parts are shared with the original, and missing objects on the path are created. @throws
 * TypeError the path leads through a value without keys, or beyond the end of a list
 */
export function setPath(value: unknown, path: Path, next: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return next;
  const inner = setPath(readPath(value, [key]), rest, next);
  if (value === undefined || isPlainObject(value)) {
    const copy = { ...value };
    setOwn(copy, key, inner);
    return copy;
  }
  if (Array.isArray(value) && isIndex(key) && Number(key) <= value.length) {
    const copy: unknown[] = value.slice();
    copy[Number(key)] = inner;
    return copy;
  }
  if (value instanceof Map) return new Map(value).set(key, inner);
  throw new TypeError(`there is no place ${JSON.stringify(key)} in this value`);
}

function isIndex(key: string): boolean {
  return /^(0|[1-9]\d*)$/.test(key);
}
