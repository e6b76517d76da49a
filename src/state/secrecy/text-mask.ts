/** Replaces secrets by `[secret:NAME]` in values, texts, bytes, and texts that come in pieces. */
import { isDeepStrictEqual } from 'node:util';
import { isPlainObject, setOwn, type PlainObject } from '../values/plain.ts';
import { createStoredError } from '../values/stored-error.ts';
import { SecretSearch } from './secret-search.ts';

export class TextMask {
  readonly #search: SecretSearch;

  /** @param secrets - names and values */
  constructor(secrets: Iterable<readonly [name: string, value: string]>) {
    this.#search = new SecretSearch(secrets);
  }

  /** Masks a text; returns it unchanged if it contains no secret. */
  text(value: string): string {
    return this.#search.longest === 0 ? value : this.#search.replace(value).shown;
  }

  /**
   * Masks bytes; returns them unchanged if they contain no secret. They are treated as Latin-1, which maps every byte to one character and
   * back, so binary data survives.
   */
  bytes(value: Uint8Array): Uint8Array {
    if (this.#search.longest === 0) return value;
    const characters = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('latin1');
    const masked = this.text(characters);
    return masked === characters ? value : new Uint8Array(Buffer.from(masked, 'latin1'));
  }

  /** Masks all texts and bytes in lists, plain objects (their keys too), maps, sets and errors. Other values are unchanged. */
  all(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value);
    if (typeof value !== 'object' || value === null || this.#search.longest === 0) return value;
    if (value instanceof Uint8Array) return this.bytes(value);
    if (Array.isArray(value)) return value.map((item) => this.all(item));
    if (value instanceof Map) return new Map([...value].map(([key, item]) => [this.all(key), this.all(item)]));
    if (value instanceof Set) return new Set([...(value as ReadonlySet<unknown>)].map((item) => this.all(item)));
    if (value instanceof Error) return this.#error(value);
    if (!isPlainObject(value)) return value;
    const masked: PlainObject = {};
    for (const [key, item] of Object.entries(value)) setOwn(masked, this.text(key), this.all(item));
    return masked;
  }

  /** Makes a mask for text that comes in pieces. It finds secrets that are cut in two. */
  createStream(): MaskStream {
    return new MaskStream(this.#search);
  }

  /** The error with secrets masked in all that is stored of one; itself if there are none. */
  #error(error: Error & { readonly code?: unknown; readonly data?: unknown }): Error {
    const message = this.text(error.message);
    const [code, data, cause] = [error.code, error.data, error.cause].map((part) => this.all(part));
    const same = [code === error.code, isDeepStrictEqual(data, error.data), isDeepStrictEqual(cause, error.cause)];
    if (message === error.message && same.every(Boolean)) return error;
    return createStoredError({
      name: error.name,
      message,
      ...(code !== undefined && { code }),
      ...(data !== undefined && { data }),
      ...(cause !== undefined && { cause }),
    });
  }
}

export class MaskStream {
  readonly #search: SecretSearch;
  #held = '';

  constructor(search: SecretSearch) {
    this.#search = search;
  }

  /** Takes a piece and returns what can be shown. An end that may be the beginning of a secret is held back. */
  push(piece: string): string {
    if (this.#search.longest === 0) return piece;
    this.#held += piece;
    // After this position the longest form would not fit, so the next piece might complete a longer match.
    const limit = Math.max(0, this.#held.length - this.#search.longest + 1);
    const { shown, end } = this.#search.replace(this.#held, limit);
    this.#held = this.#held.slice(end);
    return shown;
  }

  /** Returns what was held back. */
  end(): string {
    const { shown } = this.#search.replace(this.#held);
    this.#held = '';
    return shown;
  }
}
