/** Takes secrets out of values, texts, bytes and texts in pieces: `[secret:NAME]` stands for them. */
import { isPlainObject, setOwn, type PlainObject } from '../values/plain.ts';
import { SecretSearch } from './secret-search.ts';

export class TextMask {
  readonly #search: SecretSearch;

  /** @param secrets - names and values */
  constructor(secrets: Iterable<readonly [name: string, value: string]>) {
    this.#search = new SecretSearch(secrets);
  }

  /** The text itself, if there is nothing in it. */
  text(value: string): string {
    return this.#search.longest === 0 ? value : this.#search.replace(value).shown;
  }

  /** The bytes themselves, if there is nothing in them. Latin-1 gives every byte one character and back, so bytes that are no text survive. */
  bytes(value: Uint8Array): Uint8Array {
    if (this.#search.longest === 0) return value;
    const characters = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('latin1');
    const masked = this.text(characters);
    return masked === characters ? value : new Uint8Array(Buffer.from(masked, 'latin1'));
  }

  /** Every text and all bytes in lists, plain objects, maps and messages of errors, keys included; all else as it is. */
  all(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value);
    if (typeof value !== 'object' || value === null || this.#search.longest === 0) return value;
    if (value instanceof Uint8Array) return this.bytes(value);
    if (Array.isArray(value)) return value.map((item) => this.all(item));
    if (value instanceof Map) return new Map([...value].map(([key, item]) => [this.all(key), this.all(item)]));
    if (value instanceof Error) return this.#error(value);
    if (!isPlainObject(value)) return value;
    const masked: PlainObject = {};
    for (const [key, item] of Object.entries(value)) setOwn(masked, this.text(key), this.all(item));
    return masked;
  }

  /** For text that comes in pieces: a secret cut in two is found. */
  createStream(): MaskStream {
    return new MaskStream(this.#search);
  }

  #error(error: Error): Error {
    const message = this.text(error.message);
    if (message === error.message) return error;
    const masked = new Error(message);
    masked.name = error.name;
    return masked;
  }
}

export class MaskStream {
  readonly #search: SecretSearch;
  #held = '';

  constructor(search: SecretSearch) {
    this.#search = search;
  }

  /** Returns what can be shown; a tail that may be the start of a secret is held back. */
  push(piece: string): string {
    if (this.#search.longest === 0) return piece;
    this.#held += piece;
    // Where the longest form would not fit any more, the next piece may make a longer match.
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
