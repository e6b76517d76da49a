/** The block HttpCall: sends one HTTP request. */
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type {
  InputFault,
  InputField,
  Inputs,
  OutputField,
  NodeType,
  TypedNodeContext,
} from '../../graph/contracts/node-type.ts';
import { SecretReference } from '../../graph/secret-reference.ts';
import { decodeText, exchangeHttp, failStatus, safeMethods, saysJson, type HttpAnswer } from '../http/exchange-http.ts';
import { setTimeout } from 'node:timers/promises';

// Declares inputs of blocks and reads their values. A number, flag or word may also be its exact text.

/** A text input. A number or boolean that comes from a reference is converted to text. */
export function textField(description: string, more: Partial<InputField> = {}): InputField {
  return { schema: { type: ['string', 'number', 'boolean'] }, description, ...more };
}

/** The text of an input; undefined if it is missing. */
export function readText(inputs: Inputs, name: string): string | undefined {
  const value = inputs[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  return refuse(name, 'is neither text nor a number');
}

/** The text of a required input. @throws NodeFailure INPUT_INVALID */
export function requireText(inputs: Inputs, name: string): string {
  return readText(inputs, name) ?? refuse(name, 'is missing');
}

export function outputField(type: string | readonly string[], description: string): OutputField {
  return { schema: { type }, description };
}

/** The failure for a bad input. It says that nothing has happened yet. */
export function refuseInput(name: string, reason: string): NodeFailure {
  return new NodeFailure(`${name} ${reason}`, { code: 'INPUT_INVALID', applied: 'no', data: { input: name, reason } });
}

function refuse(name: string, reason: string): never {
  throw refuseInput(name, reason);
}

/** An input with a default: a number, a flag or a word. */
export interface Option<Value> {
  readonly name: string;
  readonly field: InputField;
  /** Reads the value. @throws NodeFailure INPUT_INVALID */
  readonly read: (inputs: Inputs) => Value;
}

export interface NumberRange {
  readonly default: number;
  readonly min: number;
  readonly max: number;
  /** Whether only integers are allowed. Default true. */
  readonly isWhole?: boolean;
}

/** An option that is a number, or the text of one. */
export function numberOption(
  name: string,
  description: string,
  range: NumberRange,
  more: Partial<InputField> = {},
): Option<number> {
  const { min, max, isWhole = true } = range;
  const read = (inputs: Inputs): number => {
    const value = inputs[name] ?? range.default;
    const number = typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
    const fits = typeof number === 'number' && number >= min && number <= max && (!isWhole || Number.isInteger(number));
    return fits ? number : refuse(name, `must be a ${isWhole ? 'whole ' : ''}number from ${min} to ${max}`);
  };
  const schema = {
    anyOf: [
      { type: isWhole ? 'integer' : 'number', minimum: min, maximum: max },
      { type: 'string', pattern: isWhole ? '^-?[0-9]+$' : '^-?[0-9]+(\\.[0-9]+)?$' },
    ],
  };
  return { name, field: { schema, description, default: range.default, ...more }, read };
}

/** Marks an input whose value must be written out in the file, because it is needed before anything runs. */
export const literal = { kind: 'literal' } as const;

/** An option in seconds, read as milliseconds. It must be written out in the file. */
export function secondsOption(name: string, description: string, range: NumberRange): Option<number> {
  const { field, read } = numberOption(name, description, { isWhole: false, ...range }, literal);
  return { name, field, read: (inputs) => Math.round(read(inputs) * 1_000) };
}

/** An option that is true or false, or the text of either. */
export function flagOption(
  name: string,
  description: string,
  otherwise: boolean,
  more: Partial<InputField> = {},
): Option<boolean> {
  const read = (inputs: Inputs): boolean => {
    const value = inputs[name] ?? otherwise;
    if (value === true || value === 'true') return true;
    return value === false || value === 'false' ? false : refuse(name, 'must be true or false');
  };
  return {
    name,
    field: { schema: { enum: [true, false, 'true', 'false'] }, description, default: otherwise, ...more },
    read,
  };
}

/** An option that is one of several words. */
export function choiceOption<Word extends string>(
  name: string,
  description: string,
  words: readonly [Word, ...Word[]],
  more: Partial<InputField> = {},
): Option<Word> {
  const read = (inputs: Inputs): Word => {
    const value = inputs[name] ?? words[0];
    return words.find((word) => word === value) ?? refuse(name, `must be one of ${words.join(', ')}`);
  };
  return { name, field: { schema: { enum: words }, description, default: words[0], ...more }, read };
}

/** The fields of options, by name. */
export function fieldsOf(options: readonly Option<unknown>[]): Record<string, InputField> {
  return Object.fromEntries(options.map(({ name, field }) => [name, field]));
}

/** The faults of options, for a node type's `check`. */
export function optionFaults(options: readonly Option<unknown>[], inputs: Inputs): readonly InputFault[] {
  return options.flatMap(({ name, read }) => inputFault(name, () => read(inputs)));
}

/** The fault found by reading an input; empty if it can be read. */
export function inputFault(name: string, read: () => unknown): readonly InputFault[] {
  try {
    read();
    return [];
  } catch (error) {
    const message = (error as Error).message;
    return [{ input: name, message, fix: `change ${name}` }];
  }
}

/** A node type's `timeoutMs` from an option. If the option is invalid, it is undefined here, and `check` reports the fault. */
export function timeoutOf(option: Option<number>): (literals: Inputs) => number | undefined {
  return (literals) => (optionFaults([option], literals).length > 0 ? undefined : option.read(literals));
}

// Parses text that may not be JSON.

/** The parsed value; undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

const methods = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'];
const timeout = secondsOption('timeout', 'Seconds until the request is given up.', { default: 30, min: 1, max: 1_800 });
const followRedirects = flagOption(
  'follow_redirects',
  'Follow redirects; false takes the redirect as the answer.',
  true,
);
const verifySsl = flagOption('verify_ssl', 'Refuse certificates that cannot be trusted.', true);
const options = [timeout, followRedirects, verifySsl];

/** The `HttpCall` of docs/spec/blocks.md. */
export const httpCall: NodeType = {
  name: 'HttpCall',
  description: 'Sends one HTTP request.',
  inputs: {
    url: textField('http: or https:.', { isRequired: true, takesSecrets: true }),
    method: { schema: { type: 'string' }, description: `One of ${methods.join(', ')}.`, default: 'POST' },
    headers: { schema: { type: 'object' }, description: 'By name.', takesSecrets: true },
    query: {
      schema: { type: 'object' },
      description: 'Added to the url; a list gives its name several times.',
      takesSecrets: true,
    },
    json: { schema: {}, description: 'The body: any value, sent as JSON.', takesSecrets: true },
    content: textField('The body: text, sent as it is.', { takesSecrets: true }),
    ...fieldsOf(options),
  },
  outputs: {
    status_code: outputField('integer', 'The HTTP status.'),
    response_body: outputField('string', 'The body as text.'),
    response_json: { schema: {}, description: 'The body as a value if it is JSON, else null.' },
    headers: outputField('object', 'Names in lower case.'),
    success: outputField('boolean', 'Whether the status is 200 to 299.'),
  },
  effect: (literals) => (safeMethods.has(methodOf(literals)) ? 'read' : 'external'),
  timeoutMs: timeoutOf(timeout),
  needs: (inputs) => [{ kind: 'net', host: hostOf(inputs['url']) }],
  check: (inputs) => [...optionFaults(options, inputs), ...callFaults(inputs)],
  run,
};

function methodOf({ method = 'POST' }: Inputs): string {
  return String(method).toUpperCase();
}

/** Host of a URL, with the port if it is not the scheme's default; undefined if not known yet. Secrets may only come after the host. */
function hostOf(url: unknown): string | undefined {
  const [text] = url instanceof SecretReference ? url.parts : [url];
  return typeof text === 'string' ? URL.parse(text)?.host || undefined : undefined;
}

function hidesHost({ url }: Inputs): boolean {
  const [first] = url instanceof SecretReference ? url.parts : ['http://host/'];
  return typeof first !== 'string' || !/^https?:\/\/[^/?#]+[/?#]/i.test(first);
}

/** Whether there is a body. Null means no body; to send null, use `content: 'null'`. */
function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function callFaults(inputs: Inputs): readonly InputFault[] {
  const faults: InputFault[] = [];
  const hasJson = isPresent(inputs['json']);
  const hasBody = hasJson || isPresent(inputs['content']);
  if (!methods.includes(methodOf(inputs)))
    faults.push({ input: 'method', message: 'method is none that is known', fix: `use one of ${methods.join(', ')}` });
  else if (hasBody && inputs['method'] !== undefined && safeMethods.has(methodOf(inputs)))
    faults.push({ input: 'method', message: `a ${methodOf(inputs)} request has no body`, fix: 'use query, or POST' });
  if (hidesHost(inputs))
    faults.push({ input: 'url', message: 'a secret stands in the host of url', fix: 'write the host out' });
  if (hasJson && isPresent(inputs['content']))
    faults.push({ input: 'content', message: 'json and content are both given', fix: 'give one of them' });
  return faults;
}

async function run(ctx: TypedNodeContext): Promise<unknown> {
  const { inputs } = ctx;
  const isFollowed = followRedirects.read(inputs);
  const answer = await exchangeHttp(ctx, {
    method: methodOf(inputs),
    readRequest: () => ({ url: inputs['url'], query: inputs['query'], headers: inputs['headers'], ...bodyOf(inputs) }),
    redirect: isFollowed ? 'follow' : 'manual',
    mayFollow: (url, from) => url.host === from.host || ctx.isGranted?.({ kind: 'net', host: url.host }) === true,
    isUnverified: !verifySsl.read(inputs),
  });
  const output = describeAnswer(answer);
  if (output.success || (!isFollowed && output.status_code < 400)) return output;
  throw failStatus(answer, ctx.now(), output);
}

/** The body. A text with secrets in it is still a reference at this point. */
function bodyOf({ json, content }: Inputs): { readonly json: unknown } | { readonly body: unknown } {
  if (isPresent(json)) return { json };
  return { body: content instanceof SecretReference ? content : readText({ content }, 'content') };
}

interface HttpCallFields {
  readonly status_code: number;
  readonly response_body: string;
  readonly response_json: unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly success: boolean;
}

function describeAnswer({ status, headers, bytes, mask }: HttpAnswer): HttpCallFields {
  const contentType = headers['content-type'] ?? '';
  const text = decodeText(bytes, contentType);
  // If the content type says JSON but the body is not, the body is available as text.
  const json = saysJson(contentType) ? parseJson(text) : undefined;
  return {
    status_code: status,
    response_body: mask.text(text),
    response_json: mask.all(json ?? null),
    headers,
    success: status >= 200 && status < 300,
  };
}

// The block EchoBlock: returns its input; for trying things out.

const delayMs = numberOption('delay_ms', 'Milliseconds to wait first.', { default: 0, min: 0, max: 3_600_000 });

/** The `EchoBlock` of docs/spec/blocks.md. */
export const echoBlock: NodeType = {
  name: 'EchoBlock',
  description: 'Says again what it is told, after a while.',
  inputs: { message: textField('What to say.', { isRequired: true }), ...fieldsOf([delayMs]) },
  outputs: {
    echoed: outputField('string', '`Echo: ` and the message.'),
    execution_time_ms: outputField('number', 'Milliseconds it took.'),
  },
  effect: 'pure',
  check: (inputs) => optionFaults([delayMs], inputs),
  run: async ({ inputs, signal }) => {
    const message = requireText(inputs, 'message');
    const wait = delayMs.read(inputs);
    signal.throwIfAborted();
    const begun = performance.now();
    if (wait > 0) await setTimeout(wait, undefined, { signal });
    return { echoed: `Echo: ${message}`, execution_time_ms: Math.round(performance.now() - begun) };
  },
};
