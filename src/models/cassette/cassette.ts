/** A model that plays back recorded answers. They are recorded once with another model; then equal requests need no account. */
import { CairnError } from '../../errors.ts';
import type { ModelMessage } from '../../graph/contracts/model-contract.ts';
import { MessageKeys } from '../../model-calls/message-keys.ts';
import type { ModelRequest, Models } from '../../ports/model.ts';
import { isSecretKey } from '../../state/secrecy/secret-keys.ts';
import { shown } from '../../state/secrecy/shown.ts';
import { TextMask } from '../../state/secrecy/text-mask.ts';
import { hashText } from '../../state/values/hash.ts';
import { isPlainObject } from '../../state/values/plain.ts';
import { tellAnswer } from '../tell-answer.ts';
import { addToCassette, readCassette, type CassetteContents } from './cassette-file.ts';
import { tellNearest, type AskedCall } from './nearest-call.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';

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
  return {
    async generate(request) {
      request.signal.throwIfAborted();
      const tape = (contents ??= readCassette(path));
      const { key, asked } = describe(clean(questionOf(request)));
      const known = tape.calls.get(key);
      if (known !== undefined) {
        tellAnswer(known.response.content, request.onDelta);
        return known.response;
      }
      if (record === undefined)
        throw new CairnError('CASSETTE_MISSING', { cassette: path, model: request.model, ...tellNearest(tape, asked) });
      const response = await record.generate(request);
      const { settings, messages, parts } = asked;
      const fresh = [...parts].filter(([part]) => !tape.parts.has(part));
      const call = { settings, messages, response: clean(response) };
      addToCassette(path, [...fresh.map(([part, value]) => ({ part, value })), { call: key, ...call }]);
      for (const [part, value] of fresh) tape.parts.set(part, value);
      tape.calls.set(key, call);
      return response;
    },
  };
}

function secretsOf(environment: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  const isSecret = (entry: [string, string | undefined]): entry is [string, string] =>
    isSecretKey(entry[0]) && (entry[1]?.length ?? 0) >= secretLengthMin;
  return Object.fromEntries(Object.entries(environment).filter(isSecret));
}

/** The content of a request, without its key, signal and listener. */
function questionOf({ idempotencyKey: _key, signal: _signal, onDelta: _onDelta, ...question }: ModelRequest) {
  return question;
}

function describe({ messages, ...settings }: ReturnType<typeof questionOf>): {
  readonly key: string;
  readonly asked: AskedCall;
} {
  const keys = new MessageKeys();
  const named = (value: object): [string, unknown] => [keys.hashOf(value).slice(0, 22), withoutBytes(value)];
  const own = named(settings);
  const said = messages.map((message: ModelMessage) => named(message));
  return {
    key: keys.keyOf(settings, messages),
    asked: { settings: own[0], messages: said.map(([hash]) => hash), parts: new Map([own, ...said]) },
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
