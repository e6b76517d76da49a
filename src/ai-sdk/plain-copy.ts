/** Copies the SDK's objects as plain values that can be hashed and stored. Properties that are undefined are left out. */
import { isPlainObject } from '../graph/canonical.ts';

/** Copies data. Functions and symbols are left out; bytes of any kind become a Uint8Array. */
export function plainCopy(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (value instanceof ArrayBuffer) return new Uint8Array(value.slice(0));
  if (Array.isArray(value)) return value.map((item: unknown) => (isValue(item) ? plainCopy(item) : null));
  if (!isPlainObject(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) if (isValue(value[key])) copy[key] = plainCopy(value[key]);
  return copy;
}

/**
 * Whether `copy` equals what `plainCopy(value)` would give. Texts are mostly the same object as before, so this is much cheaper than
 * copying and hashing.
 */
export function isCopyOf(copy: unknown, value: unknown): boolean {
  if (copy === value) return true;
  if (typeof copy !== 'object' || copy === null || typeof value !== 'object' || value === null) return false;
  // Most objects are plain, and this check is cheaper than looking up an object's class.
  if (Object.getPrototypeOf(copy) === Object.prototype)
    return isCopyOfProperties(copy as Record<string, unknown>, value as Record<string, unknown>);
  if (Array.isArray(copy)) return Array.isArray(value) && isCopyOfList(copy, value);
  if (copy instanceof Uint8Array) return value instanceof Uint8Array && Buffer.compare(copy, value) === 0;
  if (copy instanceof URL) return value instanceof URL && copy.href === value.href;
  return copy instanceof Date && value instanceof Date && copy.getTime() === value.getTime();
}

function isCopyOfList(copy: readonly unknown[], value: readonly unknown[]): boolean {
  if (copy.length !== value.length) return false;
  for (let at = 0; at < copy.length; at += 1) if (!isCopyOf(copy[at], value[at])) return false;
  return true;
}

function isCopyOfProperties(
  copy: Readonly<Record<string, unknown>>,
  value: Readonly<Record<string, unknown>>,
): boolean {
  let left = 0;
  for (const _ in copy) left += 1;
  // Runs for every part of every message in each turn, so it allocates neither key lists nor closures.
  for (const key in value) {
    const given = value[key];
    if (!isValue(given)) continue;
    if (!isCopyOf(copy[key], given)) return false;
    left -= 1;
  }
  return left === 0;
}

function isValue(value: unknown): boolean {
  return value !== undefined && typeof value !== 'function' && typeof value !== 'symbol';
}
