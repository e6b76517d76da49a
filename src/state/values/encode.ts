/** Encodes validated values as JSON text. What JSON cannot express becomes a tag such as `{"$":"date","v":…}` (C2). */
import { CairnError } from '../../errors.ts';
import { FileRef } from '../../graph/file-ref.ts';
import { findMark } from './ownership.ts';
import { isPlainObject, type PlainObject, setOwn } from './plain-object.ts';
import { BlobRef, findCodec } from './value-codec.ts';

/** A type tag: an object whose own `$` is a string. A user's string under that key is therefore encoded as a tag itself. */
interface Tag {
  readonly $: string;
  readonly v?: unknown;
}

/** JSON text of a value that was validated or decoded. */
export function encodeValue(value: unknown): string {
  if (typeof value === 'object' && value !== null && findMark(value)?.hasTags === false) return JSON.stringify(value);
  return JSON.stringify(tagValue(value));
}

/**
 * JSON text of a value under `key` of an object. A string under `$` would make that object look like a tag, so it is encoded as a tag
 * itself.
 */
export function jsonUnderKey(key: string, json: string): string {
  return key === '$' && json.startsWith('"') ? `{"$":"text","v":${json}}` : json;
}

/** Whether JSON cannot write this number. */
export function isSpecialNumber(value: number): boolean {
  return !Number.isFinite(value) || (value === 0 && 1 / value < 0);
}

/** A value for JSON.stringify, with tags in it; the value itself if nothing in it needs a tag. */
function tagValue(value: unknown): unknown {
  switch (typeof value) {
    case 'object':
      return value === null ? null : tagObject(value);
    case 'number':
      return isSpecialNumber(value) ? tag('number', Object.is(value, -0) ? '-0' : String(value)) : value;
    case 'bigint':
      return tag('bigint', value.toString());
    case 'undefined':
      return { $: 'undefined' };
    default:
      return value;
  }
}

function tag(name: string, v: unknown): Tag {
  return { $: name, v };
}

function tagObject(value: object): unknown {
  if (Array.isArray(value)) return tagItems(value);
  if (isPlainObject(value)) return tagProperties(value);
  if (value instanceof BlobRef) return value.tag;
  switch (Object.getPrototypeOf(value)) {
    case Date.prototype:
      return tag('date', Number.isNaN((value as Date).getTime()) ? null : (value as Date).getTime());
    case Uint8Array.prototype:
      return tag('bytes', base64Of(value as Uint8Array));
    case Map.prototype:
      return tag(
        'map',
        Array.from(value as Map<unknown, unknown>, ([key, item]) => [tagValue(key), tagValue(item)]),
      );
    case Set.prototype:
      return tag('set', Array.from(value as Set<unknown>, tagValue));
    case URL.prototype:
      return tag('url', (value as URL).href);
    default:
      return tagForeign(value);
  }
}

function tagForeign(value: object): Tag {
  if (value instanceof FileRef) return tagFile(value);
  const codec = findCodec(value);
  if (codec !== undefined) return { $: 'codec', name: codec.name, v: tagValue(codec.toData(value)) } as Tag;
  if (value instanceof Error) return tag('error', tagError(value));
  throw new CairnError('VALUE_UNSTORABLE', { reason: 'it was not admitted' });
}

/** The hash must come first: {@link fileHashesIn} searches for this order. */
function tagFile({ hash, name, type, sizeBytes }: FileRef): Tag {
  return { $: 'file', hash, name, type, sizeBytes } as Tag;
}

function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

function tagItems(items: readonly unknown[]): readonly unknown[] {
  let tagged: unknown[] | undefined;
  for (let i = 0; i < items.length; i++) {
    const encoded = tagValue(items[i]);
    if (encoded === items[i]) continue;
    tagged ??= items.slice();
    tagged[i] = encoded;
  }
  return tagged ?? items;
}

function tagProperties(object: PlainObject): PlainObject {
  let tagged: PlainObject | undefined;
  for (const key of Object.keys(object)) {
    const value = object[key];
    const encoded = key === '$' && typeof value === 'string' ? tag('text', value) : tagValue(value);
    if (encoded === value) continue;
    tagged ??= { ...object };
    setOwn(tagged, key, encoded);
  }
  return tagged ?? object;
}

function tagError(error: Error & { readonly code?: unknown; readonly data?: unknown }): PlainObject {
  const { name, message, code, data } = error;
  const parts: PlainObject = { name, message };
  if (code !== undefined) parts['code'] = tagValue(code);
  if (data !== undefined) parts['data'] = tagValue(data);
  if (Object.hasOwn(error, 'cause')) parts['cause'] = tagValue(error.cause);
  return parts;
}
