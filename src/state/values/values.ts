/** Says what a value is, in errors about values of the wrong kind. */
import { CairnError } from '../../errors.ts';
import { FileRef } from '../../graph/file-ref.ts';
import { findMark } from './ownership.ts';
import { toJson } from './to-json.ts';
import { hash } from 'node:crypto';

// Plain objects: how they are recognised, and how to write to them when keys may be anything, `__proto__` included.

export type PlainObject = Record<string, unknown>;

/** Whether an admitted or decoded value is a plain object. */
export function isPlainObject(value: unknown): value is PlainObject {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** Sets an own property, whatever its key, and returns the object. */
export function setOwn<T extends object>(target: T, key: string, value: unknown): T {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    (target as PlainObject)[key] = value;
  }
  return target;
}

/** Reads an own property; inherited ones do not count. */
export function getOwn(source: object, key: string): unknown {
  return Object.hasOwn(source, key) ? (source as PlainObject)[key] : undefined;
}

/** `a string`, `a list`, `a Promise`, … */
export function describeValue(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'undefined';
  if (Array.isArray(value)) return 'a list';
  if (typeof value !== 'object') return `a ${typeof value}`;
  const { constructor } = value as { readonly constructor?: unknown };
  return isPlainObject(value) || typeof constructor !== 'function' ? 'an object' : `a ${constructor.name}`;
}

// Freezes values, and guards those that JavaScript cannot freeze.

function refuseWrite(): never {
  throw new TypeError('this value belongs to the state of a run and is frozen: make a copy and return it');
}

type Guards = Readonly<Record<string, PropertyDescriptor>>;

/** Hidden own properties that replace the methods that would change the value. */
function guardsFor(names: readonly string[]): Guards {
  return Object.fromEntries(names.map((name) => [name, { value: refuseWrite }]));
}

function guardsForUrl(): Guards {
  const guards: Record<string, PropertyDescriptor> = {};
  for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(URL.prototype))) {
    if (descriptor.set !== undefined) guards[name] = { ...descriptor, enumerable: false, set: refuseWrite };
  }
  // The live parameters of a URL would write through to it, so a copy of them is returned.
  guards['searchParams'] = {
    get(this: URL) {
      return new URLSearchParams(this.search);
    },
  };
  return guards;
}

const mapGuards = guardsFor(['set', 'delete', 'clear']);
const setGuards = guardsFor(['add', 'delete', 'clear']);
const dateGuards = guardsFor(Object.getOwnPropertyNames(Date.prototype).filter((name) => name.startsWith('set')));
const urlGuards = guardsForUrl();

/** Freezes one object of our own, but not what it contains. Bytes cannot be frozen and stay as they are. */
export function freezeShallow<T extends object>(value: T): T {
  if (value instanceof Uint8Array) return value;
  if (value instanceof Map) Object.defineProperties(value, mapGuards);
  else if (value instanceof Set) Object.defineProperties(value, setGuards);
  else if (value instanceof Date) Object.defineProperties(value, dateGuards);
  else if (value instanceof URL) Object.defineProperties(value, urlGuards);
  return Object.freeze(value);
}

/**
 * Deeply freezes a decoded value of our own, in place. Frozen parts are skipped, since they are frozen deeply, so only new parts cost time.
 */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  if (Array.isArray(value)) {
    for (const item of value) deepFreeze(item);
    return Object.freeze(value);
  }
  if (isPlainObject(value)) {
    for (const key of Object.keys(value)) deepFreeze(value[key]);
    return Object.freeze(value);
  }
  if (value instanceof Map) {
    for (const [key, item] of value) {
      deepFreeze(key);
      deepFreeze(item);
    }
  } else if (value instanceof Set) {
    for (const item of value) deepFreeze(item);
  } else if (value instanceof Error) {
    deepFreeze((value as { data?: unknown }).data);
    deepFreeze(value.cause);
  }
  return freezeShallow(value);
}

/**
 * Stands in the tree for a value stored as a blob (C5). `hash` is its SHA-256 as 64 hex digits. `files` are the hashes of files that the
 * value refers to, so that references can be counted without reading it.
 */
export class BlobRef {
  readonly hash: string;
  readonly sizeBytes: number;
  readonly files: readonly string[];
  constructor(hash: string, sizeBytes: number, files: readonly string[] = []) {
    this.hash = hash;
    this.sizeBytes = sizeBytes;
    this.files = files;
    Object.freeze(this);
  }

  /** The tag that JSON.stringify writes for it. */
  get tag(): object {
    const { hash, sizeBytes, files } = this;
    return { $: 'blob', hash, sizeBytes, ...(files.length > 0 && { files }) };
  }

  /** Its JSON text in deltas and snapshots. */
  get json(): string {
    return JSON.stringify(this.tag);
  }
}

/** How instances of a class are stored. `name` is part of stored values: never change it. */
export interface ValueCodec {
  readonly name: string;
  readonly isInstance: (value: object) => boolean;
  /** Converts an instance to plain data that describes it completely. */
  readonly toData: (value: object) => unknown;
  /** Makes a new instance, which is then frozen and passed to nodes. */
  readonly fromData: (data: unknown) => object;
}

const codecs = new Map<string, ValueCodec>();

/**
 * Makes instances of a class storable (C2). Registering the same codec again has no effect. @throws CONFIG_INVALID another codec has this
 * name
 */
export function registerCodec(codec: ValueCodec): void {
  const known = codecs.get(codec.name);
  if (known !== undefined && known !== codec) {
    throw new CairnError('CONFIG_INVALID', { path: codec.name, reason: 'another value codec has this name' });
  }
  codecs.set(codec.name, codec);
}

/** The codec for instances like this one; undefined if there is none. */
export function findCodec(value: object): ValueCodec | undefined {
  for (const codec of codecs.values()) if (codec.isInstance(value)) return codec;
  return undefined;
}

/** The codec with this name. @throws VALUE_UNSTORABLE none is registered in this process */
export function requireCodec(name: unknown): ValueCodec {
  const codec = typeof name === 'string' ? codecs.get(name) : undefined;
  if (codec !== undefined) return codec;
  throw new CairnError('VALUE_UNSTORABLE', { reason: `no value codec named ${JSON.stringify(name)} is registered` });
}

// Encodes validated values as JSON text. What JSON cannot express becomes a tag such as `{"$":"date","v":…}` (C2).

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

// Canonical texts, equal for equal values whatever the order of their keys.

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

// SHA-256 hashes of texts, in base64url: 43 characters.

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

// Errors as values: with name, message, code, data and cause, but never a stack.

export interface ErrorParts {
  readonly name: string;
  readonly message: string;
  readonly code?: unknown;
  readonly data?: unknown;
  readonly cause?: unknown;
}

/** Makes an Error from these parts. */
export function createStoredError(parts: ErrorParts): Error {
  const error = new Error(parts.message);
  // A stack would differ after each load, and reveal details of this machine.
  delete (error as { stack?: string }).stack;
  if (parts.name !== 'Error') hide(error, 'name', parts.name);
  if ('code' in parts) Object.assign(error, { code: parts.code });
  if ('data' in parts) Object.assign(error, { data: parts.data });
  if ('cause' in parts) hide(error, 'cause', parts.cause);
  hide(error, 'toJSON', errorJson);
  return error;
}

/** Without it `JSON.stringify` would tell neither name nor message of an error. */
function errorJson(this: Error): unknown {
  return toJson(this);
}

function hide(error: Error, name: string, value: unknown): void {
  Object.defineProperty(error, name, { value, enumerable: false, configurable: true, writable: true });
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;

/**
 * The deepest nesting of what a model gives: the arguments of a call, an answer. Where they are recorded they are part of a deeper value.
 */
const modelDepthMax = 400;

/** What is wrong with the nesting of a value that a model gave; undefined: nothing. It is walked without recursion, however deep it is. */
export function nestingFault(value: unknown): string | undefined {
  let level: readonly unknown[] = [value].filter(isObject);
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > modelDepthMax) return `they are nested deeper than ${modelDepthMax}`;
    // Parts that stand at several places are walked once.
    level = [...new Set(level.flatMap((part) => Object.values(part as object)).filter(isObject))];
  }
  return undefined;
}
