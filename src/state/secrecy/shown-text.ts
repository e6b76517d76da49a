/**
 * Masks a text for showing. A reply recorded as it came, or an error that quotes a value, often contains JSON; there, values under names of
 * secrets are masked, and all else of the text stays as it is.
 */
import { maskedText } from '../values/admit.ts';
import { CairnError } from '../../errors.ts';
import { isPlainObject, setOwn, type PlainObject } from '../values/plain-object.ts';
import { createStoredError } from '../values/stored-error.ts';

// Which keys name a secret, in their usual spellings: `password`, `Api-Key`, `accessToken`, `db_password`, `graph.token`.

/**
 * Names of secrets in lower case, without `-`, `_`, `.` and spaces. A key names a secret if it ends with one of them: `githubToken`,
 * `X-Api-Key`, `session_cookie`. What goes on after the name speaks of a secret, and is none: `token_count`, `tokens`, `tokenizer`.
 */
const secretEndings: readonly string[] = [
  'password',
  'passwd',
  'passphrase',
  'secret',
  'secretkey',
  'secretaccesskey',
  'token',
  'apikey',
  'privatekey',
  'credential',
  'credentials',
  'authorization',
  'cookie',
];

/** Tokens that open nothing: a price or a time of a model's tokens, and a place in a list. */
const plainEndings: readonly string[] = ['pertoken', 'tofirsttoken', 'pagetoken'];

/** Keys of values may be of any length, and names of secrets are short: only the end of a key is looked at. */
const lookedAt = 64;

/** A key in the form for comparing: lower case, without separators. */
export function plainKey(key: string): string {
  return key.toLowerCase().replace(/[-_. ]/g, '');
}

const known = new Map<string, boolean>();

/** Whether the value under this key must not be shown, judged by the key's name alone. */
export function isSecretKey(key: string): boolean {
  const end = key.length > lookedAt ? key.slice(-lookedAt) : key;
  let isSecret = known.get(end);
  if (isSecret === undefined) {
    const plain = plainKey(end);
    const endsWith = (ending: string): boolean => plain.endsWith(ending);
    isSecret = secretEndings.some(endsWith) && !plainEndings.some(endsWith);
    // The cache is limited, because keys may also be ids.
    if (known.size > 10_000) known.clear();
    known.set(end, isSecret);
  }
  return isSecret;
}

/**
 * Finds a key and its colon. JSON that is itself inside a JSON text has backslashes before its quotes: one, three or seven of them. The
 * most is bounded, so that a long row of backslashes is not searched again from each of them.
 */
const keyInText = /(\\{0,7}")([^"\\]{1,64})\1\s{0,8}:\s{0,8}/g;

/** What ends a number: a JSON text may be cut off anywhere. */
const numberAt = /-?\d[\d.eE+-]*/y;

/** The text with each value under the name of a secret replaced by `[redacted]`, in the quotes that its key has. */
export function shownText(text: string): string {
  if (!text.includes('":') && !text.includes('" :')) return text;
  const keys = new RegExp(keyInText);
  let masked = '';
  let taken = 0;
  for (let found = keys.exec(text); found !== null; found = keys.exec(text)) {
    const [, quote = '"', key = ''] = found;
    const start = keys.lastIndex;
    const end = isSecretKey(key) ? valueEnd(text, start, quote) : start;
    if (end === start) continue;
    masked += `${text.slice(taken, start)}${quote}${maskedText}${quote}`;
    taken = end;
    keys.lastIndex = end;
  }
  return taken === 0 ? text : masked + text.slice(taken);
}

/** Where the value that begins at a place ends; the place itself if none begins there that tells anything: `true`, `null`. */
function valueEnd(text: string, start: number, quote: string): number {
  if (text.startsWith(quote, start)) return textEnd(text, start, quote);
  if (text[start] === '{' || text[start] === '[') return bracketsEnd(text, start, quote);
  numberAt.lastIndex = start;
  return numberAt.test(text) ? numberAt.lastIndex : start;
}

/** Where a quoted text ends, its quote included; the end of the whole text if it is cut off. */
function textEnd(text: string, start: number, quote: string): number {
  const slashes = quote.length - 1;
  for (let at = text.indexOf('"', start + quote.length); at !== -1; at = text.indexOf('"', at + 1)) {
    let before = 0;
    while (at - before > start + quote.length && text[at - before - 1] === '\\') before += 1;
    // The value may end with backslashes of its own. Each of them is written as two, or as more further in.
    if (before % (2 * (slashes + 1)) === slashes) return at + 1;
  }
  return text.length;
}

/** Where an object or a list ends; the end of the whole text if it is cut off. */
function bracketsEnd(text: string, start: number, quote: string): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (text.startsWith(quote, at)) at = textEnd(text, at, quote) - 1;
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') depth -= 1;
    if (depth === 0) return at + 1;
  }
  return text.length;
}

// Masks values for showing: a value under the name of a secret is replaced by `[redacted]`, whatever it is. This is never applied to what a
// run computes with or what is stored. The id of a node may be such a name too: its output is masked then, and its status is shown.

/** A value masked for showing. If there is nothing to mask, the value itself is returned. */
export function shown(value: unknown): unknown {
  if (typeof value === 'string') return shownText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return shownItems(value);
  if (value instanceof Map) return shownMap(value);
  if (value instanceof Set) {
    const items = [...(value as ReadonlySet<unknown>)];
    const masked = shownItems(items);
    return masked === items ? value : new Set(masked);
  }
  if (value instanceof Error) return shownError(value);
  if (value instanceof Date || value instanceof URL || value instanceof Uint8Array) return value;
  // An instance of a registered class is shown with its own properties.
  return shownEntries(value as PlainObject);
}

/** A value under a key, masked for showing. Absent values are never masked. */
export function shownUnder(key: string, value: unknown): unknown {
  return isSecretKey(key) ? hidden(value) : shownPart(key, value);
}

function hidden(value: unknown): unknown {
  return value === undefined || value === null ? value : maskedText;
}

/** A value whose key is no name of a secret, masked for showing: records by the ids of nodes tell how each node did. */
export function shownPart(key: string, value: unknown): unknown {
  return nodeRecords.has(key) && isPlainObject(value) ? mapParts(value, maskedOutcome) : shown(value);
}

const nodeRecords: ReadonlySet<string> = new Set(['failures', 'gates', 'goalGateStatus']);
const outcomeWords: ReadonlySet<unknown> = new Set([
  'success',
  'partial_success',
  'fail',
  'retry',
  'skipped',
  'pending',
]);

function maskedOutcome(id: string, outcome: unknown): unknown {
  if (outcomeWords.has(outcome)) return outcome;
  return outcome instanceof Error && isSecretNode(id) ? failureOf(outcome) : shownUnder(id, outcome);
}

/** The error of a node that is named like a secret: name, code and message. What it holds is the node's. */
function failureOf(error: Error): Error {
  const { code, data, cause } = error as Error & { readonly code?: unknown; readonly data?: unknown };
  return createStoredError({
    name: error.name,
    message: shownText(error.message),
    ...(code !== undefined && { code }),
    ...(data !== undefined && { data: maskedText }),
    ...(cause !== undefined && { cause: maskedText }),
  });
}

function shownItems(items: readonly unknown[]): readonly unknown[] {
  const masked = items.map(shown);
  return masked.every((item, index) => Object.is(item, items[index])) ? items : masked;
}

function shownEntries(source: PlainObject): PlainObject {
  return mapParts(source, (key, value) => shownUnder(key, value));
}

/**
 * An object with its parts mapped; the object itself if none changed. If an entry names a place by a path or a name, its values are masked
 * according to that: `{ path: ['scratch', 'token'], before, after }`, `{ name: 'password', default }`.
 * @param isOurs - keys whose values are mapped all the same, because nothing of a run is in them but by keys of their own
 */
export function mapParts(
  source: PlainObject,
  map: (key: string, value: unknown) => unknown,
  isOurs: (key: string) => boolean = () => false,
): PlainObject {
  const mask = maskOfEntry(source);
  let masked: PlainObject | undefined;
  for (const [key, value] of Object.entries(source)) {
    const isUnmasked = mask === undefined || value === undefined || value === null || isOurs(key);
    const hiddenValue = isUnmasked ? undefined : mask(key, value);
    const next = hiddenValue === undefined ? map(key, value) : hiddenValue;
    if (Object.is(next, value)) continue;
    masked ??= { ...source };
    setOwn(masked, key, next);
  }
  return masked ?? source;
}

/** What becomes of a part of an entry; undefined if the entry makes no difference to it. */
type EntryMask = (key: string, value: unknown) => unknown;

const tellsPlace: readonly string[] = ['path', 'name', 'key', 'channel'];
const tellsAnswer: ReadonlySet<string> = new Set(['default', 'answer', 'defaultAnswer']);
const tellsValue: ReadonlySet<string> = new Set(['value', 'before', 'after', ...tellsAnswer]);

function maskOfEntry(source: PlainObject): EntryMask | undefined {
  const own = (field: string): unknown => (Object.hasOwn(source, field) ? source[field] : undefined);
  if (tellsPlace.some((field) => namesSecret(own(field)))) return maskOfPlace(own('path'));
  // Something that happened at a node: answers and events are masked as its own values, all else shows by its own place what it is.
  if (namesSecret(own('node')))
    return (key) => (tellsAnswer.has(key) || (key === 'detail' && own('type') === 'emitted') ? maskedText : undefined);
  if (namesSecret(own('currentNode'))) return (key, value) => (key === 'outcome' ? outcomeOf(value) : undefined);
  // An answer with the question that it closes.
  const wait = own('wait');
  const isAnswer = isPlainObject(wait) && (namesSecret(wait['node']) || namesSecret(wait['name']));
  return isAnswer ? (key) => (key === 'value' ? maskedText : undefined) : undefined;
}

function maskOfPlace(path: unknown): EntryMask {
  const isFailure = Array.isArray(path) && path.at(-2) === 'failures';
  return (key, value) => {
    if (value instanceof Error && (key === 'error' || (isFailure && tellsValue.has(key)))) return failureOf(value);
    if (key === 'questions' && Array.isArray(value)) return value.map(unanswered);
    return tellsValue.has(key) ? maskedText : undefined;
  };
}

/** A question of a node that is named like a secret. */
function unanswered(question: unknown): unknown {
  return isPlainObject(question)
    ? mapParts(question, (key, value) => (tellsAnswer.has(key) ? hidden(value) : shownUnder(key, value)))
    : question;
}

/** How a stage that is named like a secret ended, without what it gave. */
function outcomeOf(output: unknown): unknown {
  return isPlainObject(output)
    ? mapParts(output, (_, value) => (outcomeWords.has(value) ? value : hidden(value)))
    : maskedText;
}

function namesSecret(place: unknown): boolean {
  if (typeof place === 'string') return isSecretKey(place) || place.split('.').some(isSecretKey);
  return Array.isArray(place) && place.some((key) => typeof key === 'string' && isSecretKey(key));
}

/** @param path - ids joined with `/` */
function isSecretNode(path: unknown): boolean {
  return typeof path === 'string' && path.split('/').some(isSecretKey);
}

function shownMap(source: ReadonlyMap<unknown, unknown>): ReadonlyMap<unknown, unknown> {
  const masked = new Map<unknown, unknown>();
  let isSame = true;
  for (const [key, value] of source) {
    const next = typeof key === 'string' ? shownUnder(key, value) : shown(value);
    isSame &&= Object.is(next, value);
    masked.set(key, next);
  }
  return isSame ? source : masked;
}

/** An error masked for showing. For errors of the table, the message is made again from the masked data. */
export function shownError(error: Error): Error {
  const { code, data, cause } = error as Error & { readonly code?: unknown; readonly data?: unknown };
  const isOfNode = cause instanceof Error && isPlainObject(data) && isSecretNode(data['node']);
  const parts = {
    message: shownText(error.message),
    data: shown(data),
    cause: isOfNode ? failureOf(cause) : shown(cause),
  };
  const isSame = parts.message === error.message && Object.is(parts.data, data) && Object.is(parts.cause, cause);
  if (isSame) return error;
  const masked = CairnError.is(error)
    ? new CairnError(error.code, parts.data as CairnError['data'], { cause: parts.cause })
    : createStoredError({
        name: error.name,
        message: parts.message,
        ...(code !== undefined && { code }),
        ...(data !== undefined && { data: parts.data }),
        ...(cause !== undefined && { cause: parts.cause }),
      });
  // The stack's places stay, because they help to find a defect; its message does not.
  const places = error.stack?.slice(error.stack.indexOf('\n    at '));
  if (places?.startsWith('\n    at ') === true)
    Object.defineProperty(masked, 'stack', { value: `${masked.name}: ${masked.message}${places}`, configurable: true });
  return masked;
}
