/**
 * Masks values for showing: a value under the name of a secret is replaced by `[redacted]`, whatever it is. This is never applied to what a
 * run computes with or what is stored.
 */
import { CairnError } from '../../errors.ts';
import { maskedText } from '../values/admit.ts';
import { setOwn, type PlainObject } from '../values/plain.ts';
import { createStoredError } from '../values/stored-error.ts';
import { isSecretKey } from './secret-keys.ts';
import { shownText } from './shown-text.ts';

/** A value masked for showing. If there is nothing to mask, the value itself is returned. */
export function shown(value: unknown): unknown {
  if (typeof value === 'string') return shownText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return shownItems(value);
  if (value instanceof Map) return shownMap(value);
  if (value instanceof Set) {
    const items = [...(value as ReadonlySet<unknown>)];
    const masked = shownItems(items);
    return masked === items ? value : new Set(masked);
  }
  if (value instanceof Error) return shownError(value);
  if (value instanceof Date || value instanceof URL || value instanceof Uint8Array) return value;
  // An instance of a registered class is shown with its own properties.
  return shownEntries(value as PlainObject);
}

/** A value under a key, masked for showing. Absent values are never masked. */
export function shownUnder(key: string, value: unknown): unknown {
  return isSecretKey(key) && value !== undefined && value !== null ? maskedText : shown(value);
}

function shownItems(items: readonly unknown[]): readonly unknown[] {
  const masked = items.map(shown);
  return masked.every((item, index) => Object.is(item, items[index])) ? items : masked;
}

function shownEntries(source: PlainObject): PlainObject {
  return mapParts(source, (key, value) => shownUnder(key, value));
}

/**
 * An object with its parts mapped; the object itself if none changed. If an entry names a place by a path or a name, its values are masked
 * according to that: `{ path: ['scratch', 'token'], before, after }`, `{ name: 'password', default }`.
 */
export function mapParts(source: PlainObject, map: (key: string, value: unknown) => unknown): PlainObject {
  const isEntry = namesSecret(source);
  let masked: PlainObject | undefined;
  for (const [key, value] of Object.entries(source)) {
    const next = isEntry && tellsValue.has(key) && value !== undefined && value !== null ? maskedText : map(key, value);
    if (Object.is(next, value)) continue;
    masked ??= { ...source };
    setOwn(masked, key, next);
  }
  return masked ?? source;
}

const tellsPlace: readonly string[] = ['path', 'name', 'key', 'channel'];
const tellsValue: ReadonlySet<string> = new Set(['value', 'before', 'after', 'default', 'answer', 'defaultAnswer']);

function namesSecret(source: PlainObject): boolean {
  return tellsPlace.some((field) => {
    const place = Object.hasOwn(source, field) ? source[field] : undefined;
    if (typeof place === 'string') return isSecretKey(place) || place.split('.').some(isSecretKey);
    return Array.isArray(place) && place.some((key) => typeof key === 'string' && isSecretKey(key));
  });
}

function shownMap(source: ReadonlyMap<unknown, unknown>): ReadonlyMap<unknown, unknown> {
  const masked = new Map<unknown, unknown>();
  let isSame = true;
  for (const [key, value] of source) {
    const next = typeof key === 'string' ? shownUnder(key, value) : shown(value);
    isSame &&= Object.is(next, value);
    masked.set(key, next);
  }
  return isSame ? source : masked;
}

/** An error masked for showing. For errors of the table, the message is made again from the masked data. */
export function shownError(error: Error): Error {
  const { code, data, cause } = error as Error & { readonly code?: unknown; readonly data?: unknown };
  const parts = { message: shownText(error.message), data: shown(data), cause: shown(cause) };
  const isSame = parts.message === error.message && Object.is(parts.data, data) && Object.is(parts.cause, cause);
  if (isSame) return error;
  const masked = CairnError.is(error)
    ? new CairnError(error.code, parts.data as CairnError['data'], { cause: parts.cause })
    : createStoredError({
        name: error.name,
        message: parts.message,
        ...(code !== undefined && { code }),
        ...(data !== undefined && { data: parts.data }),
        ...(cause !== undefined && { cause: parts.cause }),
      });
  // The stack's places are kept, because they help to find a defect; its message is not.
  const places = error.stack?.slice(error.stack.indexOf('\n    at '));
  if (places?.startsWith('\n    at ') === true)
    Object.defineProperty(masked, 'stack', { value: `${masked.name}: ${masked.message}${places}`, configurable: true });
  return masked;
}
