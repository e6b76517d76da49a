/** Admitted values to JSON text: what JSON does not know becomes a tag, `{"$":"date","v":…}` (C2). */
import { CairnError } from '../../errors.ts';
import { FileRef } from '../../graph/file-ref.ts';
import { BlobRef } from './blob-ref.ts';
import { findMark } from './ownership.ts';
import { isPlainObject, setOwn, type PlainObject } from './plain.ts';
import { findCodec } from './value-codec.ts';

/** A type tag. An object is one exactly when its own `$` is a string, so a user's string under that key is tagged itself. */
interface Tag {
  readonly $: string;
  readonly v?: unknown;
}

/** The encoding of a value that was admitted or decoded, as JSON text. */
export function encodeValue(value: unknown): string {
  if (typeof value === 'object' && value !== null && findMark(value)?.hasTags === false) return JSON.stringify(value);
  return JSON.stringify(tagValue(value));
}

/** The encoding of a value that stands under `key` of an object: a string under `$` would make that object look like a tag. */
export function jsonUnderKey(key: string, json: string): string {
  return key === '$' && json.startsWith('"') ? `{"$":"text","v":${json}}` : json;
}

/** Whether a number is one that JSON cannot write. */
export function isSpecialNumber(value: number): boolean {
  return !Number.isFinite(value) || (value === 0 && 1 / value < 0);
}

/** A value that JSON.stringify writes as its encoding; the value itself where nothing in it needs a tag. */
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

/** The hash first: {@link fileHashesIn} looks for it there. */
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
