/** Canonical texts, equal for equal values whatever the order of their keys. */
import { encodeValue } from './encode.ts';
import { isPlainObject, setOwn, type PlainObject } from './plain.ts';

/** A text that is equal for two validated values if and only if they are equal, ignoring the order of keys. */
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
