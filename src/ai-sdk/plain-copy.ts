/** What the SDK hands over, as values that can be hashed and stored: properties without a value are left out, as if they were not there. */

/** A copy of plain data. Functions and symbols are left out; bytes of any kind become a Uint8Array. */
export function plainCopy(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (value instanceof ArrayBuffer) return new Uint8Array(value.slice(0));
  if (Array.isArray(value)) return value.map((item: unknown) => (isValue(item) ? plainCopy(item) : null));
  if (!isRecord(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) if (isValue(value[key])) copy[key] = plainCopy(value[key]);
  return copy;
}

/** Whether data is what a copy of it was made of. Texts are mostly the same object, so this costs far less than to copy and hash. */
export function isCopyOf(copy: unknown, value: unknown): boolean {
  if (copy === value) return true;
  if (typeof copy !== 'object' || copy === null || typeof value !== 'object' || value === null) return false;
  if (copy instanceof Uint8Array) return value instanceof Uint8Array && Buffer.compare(copy, value) === 0;
  if (Array.isArray(copy))
    return Array.isArray(value) && copy.length === value.length && copy.every((item, at) => isCopyOf(item, value[at]));
  if (!isRecord(copy)) return copy instanceof URL && value instanceof URL && copy.href === value.href;
  if (!isRecord(value)) return false;
  const keys = Object.keys(copy);
  let count = 0;
  for (const key of Object.keys(value)) {
    if (!isValue(value[key])) continue;
    if (keys[count] !== key || !isCopyOf(copy[key], value[key])) return false;
    count += 1;
  }
  return count === keys.length;
}

function isValue(value: unknown): boolean {
  return value !== undefined && typeof value !== 'function' && typeof value !== 'symbol';
}

function isRecord(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
