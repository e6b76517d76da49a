/** Decodes parsed JSON: type tags become the values they stand for (C2). */
import { CairnError } from '../../errors.ts';
import { FileRef } from '../../graph/file-ref.ts';
import { BlobRef, requireCodec } from './value-codec.ts';
import { setOwn, type PlainObject } from './plain-object.ts';
import { createStoredError, type ErrorParts } from './stored-error.ts';

type Reviver = (tag: PlainObject) => unknown;

const specialNumbers: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
  '-0': -0,
};

const revivers: Readonly<Record<string, Reviver>> = {
  text: ({ v }) => text(v),
  undefined: () => undefined,
  number: ({ v }) => specialNumbers[text(v)] ?? refuse(`no number is written ${text(v)}`),
  bigint: ({ v }) => BigInt(text(v)),
  date: ({ v }) => new Date(v === null ? Number.NaN : (v as number)),
  bytes: ({ v }) => new Uint8Array(Buffer.from(text(v), 'base64')),
  map: ({ v }) => new Map(list(v).map((entry) => list(entry).map(reviveValue) as [unknown, unknown])),
  set: ({ v }) => new Set(list(v).map(reviveValue)),
  url: ({ v }) => new URL(text(v)),
  error: ({ v }) => createStoredError(reviveValue(v) as ErrorParts),
  blob: ({ hash, sizeBytes, files }) =>
    new BlobRef(text(hash), sizeBytes as number, files === undefined ? [] : list(files).map(text)),
  file: (tag) => new FileRef(tag as unknown as FileRef),
  codec: ({ name, v }) => requireCodec(name).fromData(reviveValue(v)),
};

/**
 * Decodes a JSON text. The result is not frozen. @throws VALUE_UNSTORABLE it is not JSON, or contains a tag that this process does not know
 */
export function decodeJson(json: string): unknown {
  let parsed: unknown;
  try {
    parsed = JSON.parse(json);
  } catch (cause) {
    throw new CairnError('VALUE_UNSTORABLE', { reason: 'the text is not JSON' }, { cause });
  }
  return json.includes('"$"') ? reviveValue(parsed) : parsed;
}

/**
 * Decodes the result of JSON.parse; objects are changed in place.
 * @throws VALUE_UNSTORABLE a tag is unknown, damaged or nested too deep
 */
export function reviveValue(parsed: unknown): unknown {
  if (typeof parsed !== 'object' || parsed === null) return parsed;
  if (Array.isArray(parsed)) {
    for (let i = 0; i < parsed.length; i++) {
      const item: unknown = parsed[i];
      if (typeof item !== 'object' || item === null) continue;
      const revived = reviveValue(item);
      if (revived !== item) parsed[i] = revived;
    }
    return parsed;
  }
  const object = parsed as PlainObject;
  if (Object.hasOwn(object, '$') && typeof object['$'] === 'string') return reviveTag(object['$'], object);
  for (const key of Object.keys(object)) {
    const value = object[key];
    if (typeof value !== 'object' || value === null) continue;
    const revived = reviveValue(value);
    if (revived !== value) setOwn(object, key, revived);
  }
  return object;
}

function reviveTag(name: string, tag: PlainObject): unknown {
  const reviver = Object.hasOwn(revivers, name) ? revivers[name] : undefined;
  if (reviver === undefined) return refuse(`unknown type tag ${JSON.stringify(name)}`);
  try {
    return reviver(tag);
  } catch (cause) {
    if (CairnError.is(cause)) throw cause;
    throw new CairnError('VALUE_UNSTORABLE', { reason: `damaged ${name} tag` }, { cause });
  }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : refuse('a tag holds no text where it must');
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : refuse('a tag holds no list where it must');
}

function refuse(reason: string): never {
  throw new CairnError('VALUE_UNSTORABLE', { reason });
}
