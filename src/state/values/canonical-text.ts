/** Canonical texts, equal for equal values whatever the order of their keys, and hashes of texts. */
import { hash } from 'node:crypto';
import { encodeValue } from './encode.ts';
import { isPlainObject, type PlainObject, setOwn } from './plain-object.ts';

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

/** Hash of a text's UTF-8 bytes. */
export function hashText(text: string): string {
  return hash('sha256', text, 'base64url');
}

/** Hash of a list of texts. Each is prefixed with its length, so that different lists give different input. */
export function hashParts(parts: readonly string[]): string {
  let joined = '';
  for (const part of parts) joined += `${part.length}:${part}`;
  return hashText(joined);
}
