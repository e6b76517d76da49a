/** A model that plays back recorded answers. They are recorded once with another model; then equal requests need no account. */
import { appendFileSync, chmodSync, existsSync, mkdirSync, readFileSync, truncateSync } from 'node:fs';
import { dirname } from 'node:path';
import { CairnError, type ErrorData } from '../../errors.ts';
import type { EmbedResponse, ModelResponse, RerankResponse } from '../../graph/contracts/model-messages.ts';
import { decodeJson } from '../../state/values/revive.ts';
import { encodeValue } from '../../state/values/encode.ts';
import { isPlainObject } from '../../state/values/plain-object.ts';
import { hashText } from '../../state/values/canonical-text.ts';
import { MessageKeys } from '../../model-calls/model-access.ts';
import type { ModelRequest, Models } from '../../ports/model.ts';
import { isSecretKey, shown } from '../../state/secrecy/shown-text.ts';
import { TextMask } from '../../state/secrecy/text-mask.ts';
import { tellAnswer } from '../scripted.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';

// The file of a cassette: recorded calls and their answers, one JSON record per line. Settings and messages are shared by many calls, so
// each is written once and referred to by its hash. Lines are only appended, so several processes may record into one file.

/** A recorded call: hashes of the request's parts, and the answer. */
export interface RecordedCall {
  readonly settings: string;
  readonly messages: readonly string[];
  readonly response: ModelResponse | EmbedResponse | RerankResponse;
}

/** The contents of a file. Calls are found by key; settings and messages are needed only to explain why a request was not found. */
export interface CassetteContents {
  readonly parts: Map<string, unknown>;
  readonly calls: Map<string, RecordedCall>;
}

/**
 * Reads a file of lines `{ part, value }` and `{ call, settings, messages, response }`. A missing file counts as empty. @throws
 * CONFIG_INVALID a line is neither
 */
function readCassette(path: string): CassetteContents {
  const contents: CassetteContents = { parts: new Map(), calls: new Map() };
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  // The text after the last line end is empty, or a partial line of a killed process.
  for (const [index, line] of lines.slice(0, -1).entries()) take(contents, line, `${path}:${index + 1}`);
  return contents;
}

function take({ parts, calls }: CassetteContents, line: string, place: string): void {
  const record = parse(line);
  if (typeof record['part'] === 'string') parts.set(record['part'], record['value']);
  else if (typeof record['call'] === 'string' && isPlainObject(record['response']))
    calls.set(record['call'], record as unknown as RecordedCall);
  else throw new CairnError('CONFIG_INVALID', { reason: `${place} is no line of a cassette: record it anew` });
}

function parse(line: string): Readonly<Record<string, unknown>> {
  try {
    const value = decodeJson(line);
    return isPlainObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** Appends lines in one write. A partial line of a killed process is removed. The file is readable by its owner only. */
function addToCassette(path: string, records: readonly object[]): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  if (existsSync(path)) {
    const bytes = readFileSync(path);
    truncateSync(path, bytes.lastIndexOf('\n') + 1);
    chmodSync(path, 0o600);
  }
  appendFileSync(path, records.map((record) => `${encodeValue(record)}\n`).join(''), { mode: 0o600 });
}

// Finds the recorded call that is most like a request, and the difference, to help find out why a request is not recorded.

/** A request: the hashes of its parts, and the parts themselves. */
export interface RequestedCall {
  readonly settings: string;
  readonly messages: readonly string[];
  readonly parts: ReadonlyMap<string, unknown>;
}

/**
 * Finds the nearest recorded call: the one with the most equal messages at its beginning and, among those, one with equal settings.
 * @returns data for CASSETTE_MISSING: what `differs`, with both versions as `text` and `recorded`; empty if nothing is recorded
 */
function tellNearest({ calls, parts }: CassetteContents, requested: RequestedCall): ErrorData {
  let nearest: RecordedCall | undefined;
  let best = -1;
  for (const call of calls.values()) {
    const score = 2 * sharedCount(call, requested) + (call.settings === requested.settings ? 1 : 0);
    if (score > best) [nearest, best] = [call, score];
  }
  if (nearest === undefined) return {};
  const index = sharedCount(nearest, requested);
  const [own, other] = [requested.messages[index], nearest.messages[index]];
  if (own === undefined && other === undefined) {
    const [now, before] = [requested.parts.get(requested.settings), parts.get(nearest.settings)];
    const name = changedKey(now, before);
    return { differs: `its ${name}`, ...differing(at(now, name), at(before, name)) };
  }
  const now = own === undefined ? undefined : requested.parts.get(own);
  const before = other === undefined ? undefined : parts.get(other);
  const role = (now ?? before) as { readonly role?: string } | undefined;
  return {
    differs: `message ${index + 1} (${role?.role})`,
    ...differing(at(now, 'content') ?? 'missing', at(before, 'content') ?? 'missing'),
  };
}

function sharedCount({ messages }: RecordedCall, requested: RequestedCall): number {
  const index = messages.findIndex((hash, place) => hash !== requested.messages[place]);
  return index < 0 ? messages.length : index;
}

function changedKey(now: unknown, before: unknown): string {
  const keys = [now, before].flatMap((settings) => (isPlainObject(settings) ? Object.keys(settings) : []));
  return keys.find((key) => JSON.stringify(at(now, key)) !== JSON.stringify(at(before, key))) ?? 'settings';
}

function at(value: unknown, key: string): unknown {
  return isPlainObject(value) ? value[key] : undefined;
}

const excerptLength = 80;
const charactersBefore = 20;

/** Both texts, each from shortly before the first difference. */
function differing(now: unknown, before: unknown): { readonly text: string; readonly recorded: string } {
  const [own, other] = [textOf(now), textOf(before)];
  let place = 0;
  while (place < own.length && own[place] === other[place]) place += 1;
  const start = Math.max(0, place - charactersBefore);
  const cut = (text: string): string =>
    `${start > 0 ? '…' : ''}${text.slice(start, start + excerptLength)}${text.length > start + excerptLength ? '…' : ''}`;
  return { text: cut(own), recorded: cut(other) };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
}

export interface CassetteOptions {
  /** Path of the file, which has one JSON record per line. Created when the first call is recorded. */
  readonly path: string;
  /** The models that answer requests that are not recorded; their answers are then recorded. Default: such a request fails. */
  readonly record?: Models;
  /** Names and values that must not be written to the file. Default: environment variables with names like those of secrets. */
  readonly secrets?: Readonly<Record<string, string>>;
}

const optionNames = Object.keys({ path: true, record: true, secrets: true } satisfies Record<
  keyof CassetteOptions,
  true
>);

/** Shorter values are not masked, because they also occur in ordinary text. */
const secretLengthMin = 8;

/**
 * Makes models that play back recorded answers. A request is identified by a hash of its settings, tools, answer format and messages. Equal
 * requests get the same answer, in any order and any number of times. To record everything again, delete the file. Secrets are masked in
 * requests before they are hashed, and in everything written.
 *
 * Calls throw CASSETTE_MISSING (with the nearest recorded call and the first difference), CONFIG_INVALID (the file is damaged), and the
 * errors of `record`.
 */
export function createCassetteModels(options: CassetteOptions): Models {
  refuseUnknownKeys('createCassetteModels', options, optionNames);
  const { path, record, secrets = secretsOf(process.env) } = options;
  const mask = new TextMask(Object.entries(secrets));
  const clean = <T>(value: T): T => shown(mask.all(value)) as T;
  let contents: CassetteContents | undefined;
  /** The answer on record, or that of the recorder, which is put on record. */
  const play = async <Request extends CallDetails, Response extends RecordedCall['response']>(
    request: Request,
    question: Question,
    ask: ((request: Request) => Promise<Response>) | undefined,
  ): Promise<Response> => {
    request.signal.throwIfAborted();
    const tape = (contents ??= readCassette(path));
    const { key, requested } = describe(clean(question));
    const known = tape.calls.get(key);
    if (known !== undefined) return known.response as Response;
    if (ask === undefined)
      throw new CairnError('CASSETTE_MISSING', {
        cassette: path,
        model: request.model,
        ...tellNearest(tape, requested),
      });
    const response = await ask(request);
    const { settings, messages, parts } = requested;
    const fresh = [...parts].filter(([part]) => !tape.parts.has(part));
    const call = { settings, messages, response: clean(response) };
    addToCassette(path, [...fresh.map(([part, value]) => ({ part, value })), { call: key, ...call }]);
    for (const [part, value] of fresh) tape.parts.set(part, value);
    tape.calls.set(key, call);
    return response;
  };
  return {
    async generate(request) {
      let isNew = false;
      const ask = record && ((requested: ModelRequest) => ((isNew = true), record.generate(requested)));
      const response = await play(request, withoutCallDetails(request), ask);
      if (!isNew) tellAnswer(response.content, request.onDelta);
      return response;
    },
    embed: (request) => {
      const { texts, ...settings } = withoutCallDetails(request);
      const messages = texts.map((content) => ({ role: 'text', content }));
      return play(request, { call: 'embed', ...settings, messages }, record?.embed?.bind(record));
    },
    rerank: (request) => {
      const { query, documents, ...settings } = withoutCallDetails(request);
      const others = documents.map((content) => ({ role: 'document', content }));
      const messages = [{ role: 'query', content: query }, ...others];
      return play(request, { call: 'rerank', ...settings, messages }, record?.rerank?.bind(record));
    },
  };
}

/** The parts of a request by which it is known: settings, and messages or texts. */
interface Question extends Readonly<Record<string, unknown>> {
  readonly messages: readonly object[];
}

type CallDetails = Pick<ModelRequest, 'model' | 'idempotencyKey' | 'signal' | 'onDelta'>;

function secretsOf(environment: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  const isSecret = (entry: [string, string | undefined]): entry is [string, string] =>
    isSecretKey(entry[0]) && (entry[1]?.length ?? 0) >= secretLengthMin;
  return Object.fromEntries(Object.entries(environment).filter(isSecret));
}

/** The content of a request, without its key, signal and listener. */
function withoutCallDetails<Request extends CallDetails>(
  request: Request,
): Omit<Request, 'idempotencyKey' | 'signal' | 'onDelta'> {
  const { idempotencyKey: _key, signal: _signal, onDelta: _onDelta, ...question } = request;
  return question;
}

function describe({ messages, ...settings }: Question): { readonly key: string; readonly requested: RequestedCall } {
  const keys = new MessageKeys();
  const named = (value: object): [string, unknown] => [keys.hashOf(value).slice(0, 22), withoutBytes(value)];
  const own = named(settings);
  const described = messages.map(named);
  return {
    key: keys.keyOf(settings, messages),
    requested: { settings: own[0], messages: described.map(([hash]) => hash), parts: new Map([own, ...described]) },
  };
}

/** Replaces bytes of images and files by their size and hash, which is all a reader of the file needs. */
function withoutBytes(value: unknown): unknown {
  if (value instanceof Uint8Array)
    return `[${value.length} bytes, ${hashText(Buffer.from(value).toString('base64')).slice(0, 12)}]`;
  if (Array.isArray(value)) return value.map(withoutBytes);
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutBytes(item)]));
}
