/** One text for all values that are the same, whatever the order of their keys. */
import { encodeValue } from './encode.ts';
import { isPlainObject, setOwn, type PlainObject } from './plain.ts';

/** A text that two admitted values share exactly when they are the same value; key order does not count. */
export function canonicalText(value: unknown): string {
  const json = encodeValue(value);
  return typeof value === 'object' && value !== null ? JSON.stringify(sortKeys(JSON.parse(json))) : json;
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isPlainObject(value)) return value;
  const sorted: PlainObject = {};
  for (const key of Object.keys(value).toSorted()) setOwn(sorted, key, sortKeys(value[key]));
  return sorted;
}
