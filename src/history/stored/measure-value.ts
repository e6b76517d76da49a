/** Estimates the encoded size of a value in bytes without encoding it (C4). */
import { isPlainObject } from '../../state/values/plain-object.ts';

/** Size of brackets, and average size of a number, a boolean or null. */
const smallBytes = 4;
const quotedBytes = 3;

/**
 * The estimated size in bytes. Exact for ASCII text without escapes; an approximation for numbers and for values stored with a type tag.
 * Much cheaper than encoding.
 */
export function measureValue(value: unknown): number {
  if (typeof value === 'string') return value.length + quotedBytes;
  if (typeof value !== 'object' || value === null) return smallBytes;
  if (Array.isArray(value)) {
    let bytes = smallBytes;
    for (const item of value) bytes += measureValue(item);
    return bytes;
  }
  if (isPlainObject(value)) {
    let bytes = smallBytes;
    for (const key in value) bytes += key.length + quotedBytes + measureValue(value[key]);
    return bytes;
  }
  return measureTagged(value);
}

function measureTagged(value: object): number {
  const tagBytes = 24;
  if (value instanceof Uint8Array) return tagBytes + Math.ceil(value.length / 3) * 4;
  if (value instanceof Map) return tagBytes + measureValue([...value.entries()]);
  if (value instanceof Set) return tagBytes + measureValue([...value]);
  if (value instanceof Error) return tagBytes + measureError(value);
  return tagBytes * 2;
}

function measureError(error: Error & { readonly code?: unknown; readonly data?: unknown }): number {
  const { name, message, code, data, cause } = error;
  return measureValue([name, message, code, data, cause]);
}
