/** Replaces secrets by `[secret:NAME]` in values, texts, bytes, and texts that come in pieces. */
import { isDeepStrictEqual } from 'node:util';
import { FileRef } from '../../graph/file-ref.ts';
import { maskedFile } from '../values/admit.ts';
import { isPlainObject, setOwn, type PlainObject } from '../values/plain-object.ts';
import { createStoredError } from '../values/stored-error.ts';

// Finds the values of secrets in texts, as they are and in the encodings in which they are likely to come back: one search for all of
// them, whose cost grows with the text and hardly with the number of secrets.
//
// Base64 and hex come in lines, too: `base64` breaks them after 76 characters, and PEM after 64.

/** Shorter values are not searched for in encoded form, because their encodings occur in ordinary text. */
const encodedLength = 6;

/** Encoded text is looked for in lines of so many characters and more. */
const shortestLine = 16;
/** Of `\\r\\n` as it stands within a quoted text. */
const longestBreak = 4;

interface Forms {
  readonly asItIs: readonly string[];
  /** Those that tools break into lines. */
  readonly inLines: readonly string[];
}

/** The forms in which a value may appear, with base64 for each of the three possible offsets. */
function listForms(value: string): Forms {
  if (value.length < encodedLength) return { asItIs: value === '' ? [] : [value], inLines: [] };
  const bytes = Buffer.from(value);
  const hex = bytes.toString('hex');
  const url = encodeURIComponent(value.toWellFormed());
  const strict = url.replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
  const whole = bytes.toString('base64');
  const base64 = [whole, whole.replace(/=+$/, ''), ...[0, 1, 2].map((offset) => base64Core(bytes, offset))];
  const inUrl = [url, strict, url.replaceAll('%2F', '/'), url.replaceAll('%20', '+'), hex.replace(/../g, '%$&')];
  const ofBytes = [...inUrl, hex.toUpperCase().replace(/../g, '%$&')].flatMap((form) => [form, lowerEscapes(form)]);
  const written = [value, JSON.stringify(value).slice(1, -1), bytes.toString('latin1')];
  const base64url = base64.map((form) => form.replaceAll('+', '-').replaceAll('/', '_'));
  return {
    asItIs: [...written, ...ofBytes, ...base64.map((form) => encodeURIComponent(form))],
    inLines: [hex, hex.toUpperCase(), ...base64, ...base64url],
  };
}

/** The characters of a base64 text that depend only on these bytes, if `offset` bytes precede them in a group of three. */
function base64Core(bytes: Uint8Array, offset: number): string {
  const padded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
  return padded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
}

function lowerEscapes(text: string): string {
  return text.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase());
}

interface Form {
  readonly text: string;
  readonly name: string;
  /** The most line breaks that may stand within. */
  readonly breaks: number;
}

/** How many characters of a text are a line break, as it is or quoted. */
function breakAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code === 10) return 1;
  if (code === 13) return text.charCodeAt(at + 1) === 10 ? 2 : 0;
  if (code !== 92) return 0;
  if (text.charCodeAt(at + 1) === 110) return 2;
  return text.slice(at, at + longestBreak) === '\\r\\n' ? longestBreak : 0;
}

/** How many characters a form takes at a place, line breaks within it included; 0: it is not there. */
function lengthAt(form: Form, text: string, at: number): number {
  if (text.startsWith(form.text, at)) return form.text.length;
  let place = at;
  let breaks = 0;
  for (let i = 0; breaks <= form.breaks && i < form.text.length;) {
    if (text.charCodeAt(place) === form.text.charCodeAt(i)) {
      i += 1;
      place += 1;
      if (i === form.text.length) return place - at;
    } else {
      const skipped = i === 0 ? 0 : breakAt(text, place);
      if (skipped === 0) return 0;
      place += skipped;
      breaks += 1;
    }
  }
  return 0;
}

/** Searches texts for a set of secrets. */
export class SecretSearch {
  /** Length of the longest form; 0 if there is nothing to search for. */
  readonly longest: number;
  /** How many characters at the beginning of each form are hashed. */
  readonly #width: number;
  /** Forms by the hash of their beginning, longest first, so that a secret inside of a longer one is masked together with it. */
  readonly #forms = new Map<number, Form[]>();
  /** Marks which hashes occur. Most positions of a text are skipped by this check alone. */
  readonly #known = new Uint8Array(65_536);

  /** @param secrets - names and values of the secrets */
  constructor(secrets: Iterable<readonly [name: string, value: string]>) {
    const found = new Map<string, Form>();
    for (const [name, value] of secrets) {
      const { asItIs, inLines } = listForms(value);
      for (const text of inLines)
        if (!found.has(text)) found.set(text, { text, name, breaks: Math.floor(text.length / shortestLine) + 1 });
      for (const text of asItIs) if (!found.has(text)) found.set(text, { text, name, breaks: 0 });
    }
    const forms = [...found.values()].sort((a, b) => b.text.length - a.text.length);
    this.longest = forms.reduce((most, { text, breaks }) => Math.max(most, text.length + breaks * longestBreak), 0);
    this.#width = Math.min(4, forms.at(-1)?.text.length ?? 0);
    for (const form of forms) {
      const hash = hashAt(form.text, 0, this.#width);
      const same = this.#forms.get(hash);
      if (same === undefined) this.#forms.set(hash, [form]);
      else same.push(form);
      this.#known[hash] = 1;
    }
  }

  /**
   * Replaces each secret that begins before `limit` by `[secret:NAME]`.
   * @returns the masked text up to `end`, which is `limit` or the end of the last secret, whichever is later
   */
  replace(text: string, limit: number = text.length): { readonly masked: string; readonly end: number } {
    let masked = '';
    let taken = 0;
    const last = Math.min(limit, text.length - this.#width + 1);
    for (let at = 0; this.longest > 0 && at < last; at += 1) {
      const found = this.#find(text, at, hashAt(text, at, this.#width)) ?? this.#findBroken(text, at);
      if (found === undefined) continue;
      masked += `${text.slice(taken, at)}[secret:${found.name}]`;
      taken = at + found.length;
      at = taken - 1;
    }
    const end = Math.max(taken, limit);
    return { masked: taken === 0 && end === text.length ? text : masked + text.slice(taken, end), end };
  }

  #find(text: string, at: number, hash: number): { readonly name: string; readonly length: number } | undefined {
    if (this.#known[hash] !== 1) return undefined;
    for (const form of this.#forms.get(hash) ?? []) {
      const length = lengthAt(form, text, at);
      if (length > 0) return { name: form.name, length };
    }
    return undefined;
  }

  /** The like where a line breaks within the characters that are hashed. */
  #findBroken(text: string, at: number): { readonly name: string; readonly length: number } | undefined {
    let isBroken = false;
    for (let i = 1; i < this.#width; i += 1) isBroken ||= breakAt(text, at + i) > 0;
    if (!isBroken || breakAt(text, at) > 0) return undefined;
    let start = '';
    for (let place = at; start.length < this.#width && place < text.length;) {
      const skipped = breakAt(text, place);
      if (skipped === 0) start += text[place];
      place += Math.max(1, skipped);
    }
    return start.length < this.#width ? undefined : this.#find(text, at, hashAt(start, 0, this.#width));
  }
}

function hashAt(text: string, at: number, width: number): number {
  let hash = 0;
  for (let i = 0; i < width; i += 1) hash = (Math.imul(hash, 31) + text.charCodeAt(at + i)) | 0;
  return hash & 0xffff;
}

export class TextMask {
  readonly #search: SecretSearch;

  /** @param secrets - names and values */
  constructor(secrets: Iterable<readonly [name: string, value: string]>) {
    this.#search = new SecretSearch(secrets);
  }

  /** Masks a text; returns it unchanged if it contains no secret. */
  text(value: string): string {
    return this.#search.longest === 0 ? value : this.#search.replace(value).masked;
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
    if (value instanceof FileRef) return maskedFile(this, value);
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
    const [name, message] = [this.text(error.name), this.text(error.message)];
    const [code, data, cause] = [error.code, error.data, error.cause].map((part) => this.all(part));
    const same = [code === error.code, isDeepStrictEqual(data, error.data), isDeepStrictEqual(cause, error.cause)];
    if (name === error.name && message === error.message && same.every(Boolean)) return error;
    return createStoredError({
      name,
      message,
      ...(code !== undefined && { code }),
      ...(data !== undefined && { data }),
      ...(cause !== undefined && { cause }),
    });
  }
}

export class MaskStream {
  readonly #search: SecretSearch;
  #pending = '';

  constructor(search: SecretSearch) {
    this.#search = search;
  }

  /** Takes a piece and returns what can be shown. An end that may be the beginning of a secret waits for the next piece. */
  push(piece: string): string {
    if (this.#search.longest === 0) return piece;
    this.#pending += piece;
    // After this position the longest form would not fit, so the next piece might complete a longer match.
    const limit = Math.max(0, this.#pending.length - this.#search.longest + 1);
    const { masked, end } = this.#search.replace(this.#pending, limit);
    this.#pending = this.#pending.slice(end);
    return masked;
  }

  /** Returns what still waits. */
  end(): string {
    const { masked } = this.#search.replace(this.#pending);
    this.#pending = '';
    return masked;
  }
}
