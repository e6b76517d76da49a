/** Taking values in: checked, copied, frozen and encoded once (C2). */
import { CairnError } from '../../errors.ts';
import { FileRef } from '../../graph/file-ref.ts';
import { BlobRef } from './blob-ref.ts';
import { encodeValue, isSpecialNumber } from './encode.ts';
import { freezeShallow } from './freeze.ts';
import { findMark, markOwned, type OwnershipMark } from './ownership.ts';
import { setOwn, type PlainObject } from './plain.ts';
import { createStoredError } from './stored-error.ts';
import { findCodec } from './value-codec.ts';

/** A value that was taken in. */
export interface Admitted {
  /** A private copy, frozen in depth; or the given value itself, if it was ours already. */
  readonly value: unknown;
  /** Its encoding. */
  readonly json: string;
  /** Whether the encoding holds type tags, or keys that look like them. */
  readonly hasTags: boolean;
}

export interface CodecLimits {
  /** The most one value may take, encoded, in bytes. */
  readonly valueBytes: number;
  /** The deepest a value may nest. */
  readonly valueDepth: number;
}

/**
 * Whether what stands under a key is kept out of the store.
 * @param path - what leads to the key, from the partition on; asked for only where a rule needs it
 */
export type Redact = (key: string, path: () => readonly string[]) => boolean;

/** Takes secrets out of texts and bytes; gives back what holds none as it is. */
export interface SecretMask {
  text(value: string): string;
  bytes(value: Uint8Array): Uint8Array;
}

/** What values go through when a run takes them in. */
export interface Intake {
  /** What is kept out of the store by a rule. */
  readonly keepsOut?: Redact | undefined;
  /** Takes out the secrets that the run knows. */
  readonly mask?: SecretMask | undefined;
}

/** What stands in place of a redacted value. */
export const maskedText = '[redacted]';

/** Arrays over this length are not searched for properties other than items: naming all their keys costs more than copying them. */
const searchedItems = 65_536;

/**
 * Takes a value in. `path` names its place in errors. What `intake` keeps out or masks is not in it: {@link maskedText} and `[secret:NAME]` stand there.
 * @throws VALUE_UNSTORABLE {path, reason}; VALUE_TOO_LARGE {path, sizeBytes, limitBytes}, as soon as it is seen
 */
export function admitValue(value: unknown, path: readonly string[], limits: CodecLimits, intake?: Intake): Admitted {
  const walk = new Walk(path, limits, intake);
  const copy = walk.start(value);
  const json = walk.hasTags ? encodeValue(copy) : JSON.stringify(copy);
  // A UTF-16 unit takes at most three bytes.
  if (json.length * 3 > limits.valueBytes) {
    const sizeBytes = Buffer.byteLength(json);
    if (sizeBytes > limits.valueBytes) {
      throw new CairnError('VALUE_TOO_LARGE', { path, sizeBytes, limitBytes: limits.valueBytes });
    }
  }
  walk.finish(copy);
  return { value: copy, json, hasTags: walk.hasTags };
}

/** {@link admitValue} without the encoding: a checked copy, frozen. */
export function copyValue(value: unknown, path: readonly string[], limits: CodecLimits, intake?: Intake): unknown {
  const walk = new Walk(path, limits, intake);
  const copy = walk.start(value);
  walk.finish(copy);
  return copy;
}

/** Items of a list are marked too: lists are taken apart and put together again more than anything else. */
function markRoot(value: object, mark: OwnershipMark): void {
  markOwned(value, mark);
  if (!Array.isArray(value)) return;
  for (const item of value) if (typeof item === 'object' && item !== null) markOwned(item, mark);
}

class Walk {
  hasTags = false;
  readonly #path: readonly string[];
  readonly #limits: CodecLimits;
  readonly #intake: Intake | undefined;
  readonly #mask: SecretMask | undefined;
  /** The containers being copied, outermost first, and the key taken from each. */
  readonly #within: object[] = [];
  readonly #keys: string[] = [];
  /** Copies of arrays, frozen at the end: JSON.stringify takes twice as long over a frozen array. */
  readonly #arrays: unknown[][] = [];
  #depth = 0;
  #deepest = 0;
  /** Never more than what the encoding will take. */
  #bytes = 0;

  constructor(path: readonly string[], limits: CodecLimits, intake: Intake | undefined) {
    this.#path = path;
    this.#limits = limits;
    this.#intake = intake;
    this.#mask = intake?.mask;
  }

  start(value: unknown): unknown {
    try {
      return this.copy(value, 0);
    } catch (cause) {
      if (CairnError.is(cause)) throw cause;
      throw this.refusal(`reading it threw: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
    }
  }

  finish(copy: unknown): void {
    for (const array of this.#arrays) Object.freeze(array);
    if (typeof copy !== 'object' || copy === null) return;
    markRoot(copy, { hasTags: this.hasTags, depth: this.#deepest, intake: this.#intake });
  }

  refusal(reason: string, cause?: unknown): CairnError {
    const path = [...this.#path, ...this.#keys.slice(0, this.#depth)];
    return new CairnError('VALUE_UNSTORABLE', { path, reason }, { cause });
  }

  /** Whether what stands under a key, `depth` containers within, is kept out. */
  #isKeptOut(key: string, depth: number): boolean {
    return this.#intake?.keepsOut?.(key, () => [...this.#path, ...this.#keys.slice(0, depth)]) === true;
  }

  /** `depth` containers are around the value. */
  copy(value: unknown, depth: number): unknown {
    switch (typeof value) {
      case 'string':
        this.#count(value.length, depth);
        return this.#mask === undefined ? value : this.#mask.text(value);
      case 'number':
        if (isSpecialNumber(value)) this.hasTags = true;
        return this.#mask === undefined ? value : maskedNumber(this.#mask, value);
      case 'boolean':
        return value;
      case 'object':
        return value === null ? null : this.#copyObject(value, depth);
      case 'undefined':
      case 'bigint':
        this.hasTags = true;
        return value;
      default:
        this.#depth = depth;
        throw this.refusal(`a ${typeof value}`);
    }
  }

  #count(bytes: number, depth: number): void {
    this.#bytes += bytes;
    if (this.#bytes <= this.#limits.valueBytes) return;
    // If this part alone is too large it is named, else the whole.
    const path = bytes > this.#limits.valueBytes ? [...this.#path, ...this.#keys.slice(0, depth)] : this.#path;
    throw new CairnError('VALUE_TOO_LARGE', { path, sizeBytes: this.#bytes, limitBytes: this.#limits.valueBytes });
  }

  #copyObject(value: object, depth: number): object {
    if (this.#isReusable(value, depth)) return value;
    this.#depth = depth;
    if (depth >= this.#limits.valueDepth) throw this.refusal(`nested deeper than ${this.#limits.valueDepth}`);
    for (let i = depth - 1; i >= 0; i--)
      if (this.#within[i] === value) throw this.refusal('a cycle: it is inside itself');
    this.#within[depth] = value;
    if (depth >= this.#deepest) this.#deepest = depth + 1;
    this.#count(2, depth);
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === Object.prototype || prototype === null) return this.#copyProperties(value, depth);
    if (Array.isArray(value)) return this.#copyItems(value, prototype, depth);
    this.hasTags = true;
    return this.#copyInstance(value, prototype as object, depth);
  }

  /** A value of ours is as it must be already, unless it was taken in otherwise or would nest too deep here. */
  #isReusable(value: object, depth: number): boolean {
    // Asking whether it is frozen is cheaper than looking for a mark, and most values are not.
    const mark = Object.isFrozen(value) ? findMark(value) : undefined;
    if (mark === undefined || mark.intake !== this.#intake || mark.depth + depth > this.#limits.valueDepth)
      return false;
    if (mark.hasTags) this.hasTags = true;
    if (mark.depth + depth > this.#deepest) this.#deepest = mark.depth + depth;
    return true;
  }

  #copyProperties(source: object, depth: number): PlainObject {
    const copy: PlainObject = {};
    const keys = Object.keys(source);
    for (const key of keys) {
      this.#keys[depth] = key;
      this.#bytes += key.length + 3;
      const property = Object.getOwnPropertyDescriptor(source, key);
      if (property === undefined || property.get !== undefined || property.set !== undefined) {
        this.#depth = depth + 1;
        throw this.refusal('a property that is computed when it is read');
      }
      if (key === '$') this.hasTags = true;
      const value = this.#isKeptOut(key, depth) ? maskedText : this.copy(property.value, depth + 1);
      if (this.#mask !== undefined) setOwn(copy, this.#mask.text(key), value);
      else if (key === '__proto__') setOwn(copy, key, value);
      else copy[key] = value;
    }
    if (Object.getOwnPropertySymbols(source).length > 0) {
      this.#depth = depth;
      throw this.refusal(`a key that is a symbol, ${String(Object.getOwnPropertySymbols(source)[0])}`);
    }
    return Object.freeze(copy);
  }

  #copyItems(source: readonly unknown[], prototype: unknown, depth: number): readonly unknown[] {
    const { length } = source;
    if (prototype !== Array.prototype) throw this.refusal(`an instance of ${nameOf(source)}`);
    this.#count(length, depth);
    const copy: unknown[] = [];
    for (let i = 0; i < length; i++) {
      const item = source[i];
      this.#keys[depth] = String(i);
      if (item === undefined && !Object.hasOwn(source, i)) {
        this.#depth = depth + 1;
        throw this.refusal('a hole in an array');
      }
      copy.push(this.copy(item, depth + 1));
    }
    if (length <= searchedItems && Object.keys(source).length !== length) {
      this.#depth = depth;
      throw this.refusal(`an array with the property ${JSON.stringify(Object.keys(source)[length])}`);
    }
    this.#arrays.push(copy);
    return copy;
  }

  #copyInstance(value: object, prototype: object, depth: number): object {
    switch (prototype) {
      case Date.prototype:
        return freezeShallow(new Date((value as Date).getTime()));
      case Map.prototype:
        return this.#copyMap(value as ReadonlyMap<unknown, unknown>, depth);
      case Set.prototype:
        return this.#copySet(value as ReadonlySet<unknown>, depth);
      case Uint8Array.prototype:
      case Buffer.prototype:
        this.#count((value as Uint8Array).byteLength, depth);
        return new Uint8Array(this.#mask?.bytes(value as Uint8Array) ?? (value as Uint8Array));
      case URL.prototype:
        this.#count((value as URL).href.length, depth);
        return freezeShallow(
          new URL(this.#mask === undefined ? (value as URL).href : maskedUrl(this.#mask, value as URL)),
        );
      case BlobRef.prototype:
        return value;
      default:
        return this.#copyForeign(value, depth);
    }
  }

  #copyMap(source: ReadonlyMap<unknown, unknown>, depth: number): object {
    const copy = new Map<unknown, unknown>();
    for (const [key, item] of source) {
      const name = typeof key === 'string' ? key : `#${copy.size}`;
      this.#keys[depth] = name;
      const isSecret = typeof key === 'string' && this.#isKeptOut(key, depth);
      const ownKey = this.copy(key, depth + 1);
      this.#keys[depth] = name;
      copy.set(ownKey, isSecret ? maskedText : this.copy(item, depth + 1));
    }
    return freezeShallow(copy);
  }

  #copySet(source: ReadonlySet<unknown>, depth: number): object {
    const copy = new Set<unknown>();
    for (const item of source) {
      this.#keys[depth] = `#${copy.size}`;
      copy.add(this.copy(item, depth + 1));
    }
    return freezeShallow(copy);
  }

  /** Instances of registered classes, and errors of any class. */
  #copyForeign(value: object, depth: number): object {
    if (value instanceof FileRef) {
      this.#count(value.name.length + value.type.length, depth);
      return new FileRef(value);
    }
    const codec = findCodec(value);
    if (codec !== undefined) {
      this.#keys[depth] = '(data)';
      return Object.freeze(codec.fromData(this.copy(codec.toData(value), depth + 1)));
    }
    if (value instanceof Error) return this.#copyError(value, depth);
    throw this.refusal(`an instance of ${nameOf(value)}`);
  }

  #copyError(error: Error & { readonly code?: unknown; readonly data?: unknown }, depth: number): Error {
    const part = (name: 'code' | 'data' | 'cause'): Record<string, unknown> => {
      this.#keys[depth] = name;
      return { [name]: this.copy(error[name], depth + 1) };
    };
    // A user's class may define them as anything.
    const { name: givenName, message: givenMessage }: { name: unknown; message: unknown } = error;
    const name = String(givenName);
    const message = this.#mask === undefined ? String(givenMessage) : this.#mask.text(String(givenMessage));
    this.#count(message.length, depth);
    return Object.freeze(
      createStoredError({
        name,
        message,
        ...(error.code === undefined ? {} : part('code')),
        ...(error.data === undefined ? {} : part('data')),
        ...(Object.hasOwn(error, 'cause') ? part('cause') : {}),
      }),
    );
  }
}

/** A secret of digits may come back as a number: no number stands for it then. */
function maskedNumber(mask: SecretMask, value: number): unknown {
  const text = String(value);
  const masked = mask.text(text);
  return masked === text ? value : masked;
}

/** The mask within the address may be no address any more: then nothing is left of it. */
function maskedUrl(mask: SecretMask, { href, protocol }: URL): string {
  const masked = mask.text(href);
  return masked === href || URL.canParse(masked) ? masked : `${protocol}//masked.invalid/`;
}

function nameOf(value: object): string {
  const constructor = (value as { constructor?: unknown }).constructor;
  return typeof constructor === 'function' && constructor.name !== '' ? constructor.name : 'a class without a name';
}
