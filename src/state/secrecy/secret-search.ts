/**
 * Finds the values of secrets in texts, as they are and in the encodings in which they are likely to come back: one search for all of
 * them, whose cost grows with the text and hardly with the number of secrets.
 */

/** Shorter values stand in too much innocent text to be looked for in encoded form. */
const encodedLength = 6;

/** Forms of a value by what they look like; base64 at each of the three offsets that the bytes before it may leave. */
function listForms(value: string): readonly string[] {
  if (value === '') return [];
  if (value.length < encodedLength) return [value];
  const bytes = Buffer.from(value);
  const hex = bytes.toString('hex');
  const url = encodeURIComponent(value.toWellFormed());
  const strict = url.replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
  const whole = bytes.toString('base64');
  const base64 = [whole, whole.replace(/=+$/, ''), ...[0, 1, 2].map((offset) => base64Core(bytes, offset))];
  const inUrl = [url, strict, url.replaceAll('%2F', '/'), url.replaceAll('%20', '+'), hex.replace(/../g, '%$&')];
  return [
    value,
    JSON.stringify(value).slice(1, -1),
    bytes.toString('latin1'),
    hex,
    hex.toUpperCase(),
    ...[...inUrl, hex.toUpperCase().replace(/../g, '%$&')].flatMap((form) => [form, lowerEscapes(form)]),
    ...base64.flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_'), encodeURIComponent(form)]),
  ];
}

/** The characters of a base64 text that are made of these bytes alone, where so many bytes come before them in a group of three. */
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
}

/** A set of secrets to be looked for. */
export class SecretSearch {
  /** Length of the longest form; 0: there is nothing to look for. */
  readonly longest: number;
  /** So many characters at the beginning of a form are hashed. */
  readonly #width: number;
  /** Forms by the hash of their beginning, longer ones first, so that a secret within another is masked with it. */
  readonly #forms = new Map<number, Form[]>();
  /** Which hashes there are: most places of a text are passed over by this alone. */
  readonly #known = new Uint8Array(65_536);

  /** @param secrets - names and values */
  constructor(secrets: Iterable<readonly [name: string, value: string]>) {
    const names = new Map<string, string>();
    for (const [name, value] of secrets)
      for (const form of listForms(value)) if (!names.has(form)) names.set(form, name);
    const forms = [...names].map(([text, name]) => ({ text, name })).sort((a, b) => b.text.length - a.text.length);
    this.longest = forms[0]?.text.length ?? 0;
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
   * Replaces what begins before `limit` by `[secret:NAME]`.
   * @returns the text up to `end`, which is behind the last replaced form or at `limit`
   */
  replace(text: string, limit: number = text.length): { readonly shown: string; readonly end: number } {
    let shown = '';
    let taken = 0;
    const last = Math.min(limit, text.length - this.#width + 1);
    for (let at = 0; this.longest > 0 && at < last; at += 1) {
      const hash = hashAt(text, at, this.#width);
      if (this.#known[hash] !== 1) continue;
      const found = this.#forms.get(hash)?.find((form) => text.startsWith(form.text, at));
      if (found === undefined) continue;
      shown += `${text.slice(taken, at)}[secret:${found.name}]`;
      taken = at + found.text.length;
      at = taken - 1;
    }
    const end = Math.max(taken, limit);
    return { shown: taken === 0 && end === text.length ? text : shown + text.slice(taken, end), end };
  }
}

function hashAt(text: string, at: number, width: number): number {
  let hash = 0;
  for (let i = 0; i < width; i += 1) hash = (Math.imul(hash, 31) + text.charCodeAt(at + i)) | 0;
  return hash & 0xffff;
}
