/** Converts values of a run to plain JSON for JSON interfaces. */

/**
 * Converts any storable value to plain JSON: dates, URLs, bigints and special numbers become text, bytes become base64, maps become lists
 * of pairs, sets become lists, errors become objects.
 */
export function toJson(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (value instanceof URL) return value.href;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof Map) return [...value].map(([key, entry]) => [toJson(key), toJson(entry)]);
  if (value instanceof Set) return [...value].map(toJson);
  if (value instanceof Error) {
    const { code, data, hint, cause } = value as Error & { code?: unknown; data?: unknown; hint?: unknown };
    return toJson({ name: value.name, message: value.message, code, hint, data, cause });
  }
  if (Array.isArray(value)) return value.map(toJson);
  // Object.fromEntries treats a key `__proto__` like any other key.
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, toJson(entry)]));
}
