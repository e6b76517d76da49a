/** Validates values on their way in: each is checked, copied, frozen and encoded once (C2). */
import { CairnError, reasonOf } from '../../errors.ts';
import { FileRef } from '../../graph/file-ref.ts';
import { BlobRef, findCodec } from './value-codec.ts';
import { encodeValue, isSpecialNumber } from './encode.ts';
import { freezeShallow } from './freeze.ts';
import { setOwn, type PlainObject } from './plain-object.ts';
import { createStoredError } from './stored-error.ts';
import { findMark, markOwned, type OwnershipMark } from './ownership.ts';

/** A validated value. */
export interface Admitted {
  /** A private copy, deeply frozen; or the value itself if it is such a copy already. */
  readonly value: unknown;
  /** Its JSON text. */
  readonly json: string;
  /** Whether the text contains type tags, or keys that look like them. */
  readonly hasTags: boolean;
}

export interface CodecLimits {
  /** The most bytes that one encoded value may have. */
  readonly valueBytes: number;
  /** The deepest nesting of a value. */
  readonly valueDepth: number;
}

/**
 * Whether the value under a key must not be stored.
 * @param path - returns the path to the key, from the partition on; called only if a rule needs it
 */
export type Redact = (key: string, path: () => readonly string[]) => boolean;

/** Masks secrets in texts and bytes. Returns the argument itself if it contains none. */
export interface SecretMask {
  text(value: string): string;
  bytes(value: Uint8Array): Uint8Array;
}

/** What is applied to values that a run takes in. */
export interface Intake {
  /** Which values must not be stored, by rule. */
  readonly keepsOut?: Redact | undefined;
  /** Masks the secrets that the run knows. */
  readonly mask?: SecretMask | undefined;
}

/** The reference with what people named masked: its name and its type. */
export function maskedFile(mask: Pick<SecretMask, 'text'>, { hash, name, type, sizeBytes }: FileRef): FileRef {
  return new FileRef({ hash, name: mask.text(name), type: mask.text(type), sizeBytes });
}

/** Replaces a redacted value. */
export const maskedText = '[redacted]';

/** The most bytes that one UTF-16 unit of a text can take as JSON: those of `\\u0000`. */
const bytesPerUnit = 6;

/** Longer arrays are not searched for properties other than items, because listing all keys would cost more than copying. */
const searchedItems = 65_536;

/**
 * Validates a value. `path` names its place in errors. Redacted values are replaced by {@link maskedText}, and secrets by `[secret:NAME]`.
 * @throws VALUE_UNSTORABLE {path, reason}; VALUE_TOO_LARGE {path, sizeBytes, limitBytes}, as soon as it is noticed
 */
export function admitValue(value: unknown, path: readonly string[], limits: CodecLimits, intake?: Intake): Admitted {
  if (
    typeof value === 'string' &&
    intake?.mask === undefined &&
    (value.length + 1) * bytesPerUnit <= limits.valueBytes
  ) {
    return { value, json: JSON.stringify(value), hasTags: false };
  }
  const walk = new Walk(path, limits, intake);
  const copy = walk.start(value);
  const json = walk.hasTags ? encodeValue(copy) : JSON.stringify(copy);
  // One UTF-16 unit takes at most three bytes, so a shorter text is certainly small enough.
  if (json.length * 3 > limits.valueBytes) {
    const sizeBytes = Buffer.byteLength(json);
    if (sizeBytes > limits.valueBytes) {
      throw new CairnError('VALUE_TOO_LARGE', { path, sizeBytes, limitBytes: limits.valueBytes });
    }
  }
  walk.finish(copy);
  return { value: copy, json, hasTags: walk.hasTags };
}

/** Like {@link admitValue}, but without the JSON text. */
export function copyValue(value: unknown, path: readonly string[], limits: CodecLimits, intake?: Intake): unknown {
  const walk = new Walk(path, limits, intake);
  const copy = walk.start(value);
  walk.finish(copy);
  return copy;
}

/** Marks a value as our own. The items of a list are marked too, because lists are often taken apart and put together again. */
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
  /** The objects being copied, outermost first, and (`#keys`) the key visited in each. */
  readonly #within: object[] = [];
  readonly #keys: string[] = [];
  /** Copies of arrays. They are frozen at the end, because JSON.stringify takes twice as long for frozen arrays. */
  readonly #arrays: unknown[][] = [];
  #depth = 0;
  #deepest = 0;
  /** Lower bound of the encoded size. */
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
      throw this.refusal(`reading it threw: ${reasonOf(cause)}`, cause);
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

  /** Whether the value under a key, inside of `depth` objects, must not be stored. */
  #isUnstorable(key: string, depth: number): boolean {
    return this.#intake?.keepsOut?.(key, () => [...this.#path, ...this.#keys.slice(0, depth)]) === true;
  }

  /** Copies a value that is inside of `depth` objects. */
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
    // Name this part if it is too large by itself; otherwise the whole value.
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

  /** Whether a value of our own can be reused: it had the same intake, and does not nest too deep here. */
  #isReusable(value: object, depth: number): boolean {
    // Checking whether it is frozen is cheaper than looking for a mark, and most values are not frozen.
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
      const value = this.#isUnstorable(key, depth) ? maskedText : this.copy(property.value, depth + 1);
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
      const isSecret = typeof key === 'string' && this.#isUnstorable(key, depth);
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

  /** Copies instances of registered classes, and errors of any class. */
  #copyForeign(value: object, depth: number): object {
    if (value instanceof FileRef) {
      this.#count(value.name.length + value.type.length, depth);
      return this.#mask === undefined ? new FileRef(value) : maskedFile(this.#mask, value);
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
    // A user's class may define these properties with any type.
    const { name: ownName, message: ownMessage }: { name: unknown; message: unknown } = error;
    const name = this.#mask === undefined ? String(ownName) : this.#mask.text(String(ownName));
    const message = this.#mask === undefined ? String(ownMessage) : this.#mask.text(String(ownMessage));
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

/** A secret of digits may come back as a number. Then its masked text takes the number's place. */
function maskedNumber(mask: SecretMask, value: number): unknown {
  const text = String(value);
  const masked = mask.text(text);
  return masked === text ? value : masked;
}

/** Masks a URL. If the result is not a valid URL any more, all of it is masked. */
function maskedUrl(mask: SecretMask, { href, protocol }: URL): string {
  const masked = mask.text(href);
  return masked === href || URL.canParse(masked) ? masked : `${protocol}//masked.invalid/`;
}

function nameOf(value: object): string {
  const constructor = (value as { constructor?: unknown }).constructor;
  return typeof constructor === 'function' && constructor.name !== '' ? constructor.name : 'a class without a name';
}
