/** The block HttpCall: sends one HTTP request. */
import type { InputFault, Inputs, NodeType, TypedNodeContext } from '../../graph/contracts/node-type.ts';
import { SecretReference } from '../../graph/secret-reference.ts';
import { decodeText, exchangeHttp, failStatus, safeMethods, saysJson, type HttpAnswer } from '../http/exchange-http.ts';
import {
  secondsOption,
  flagOption,
  textField,
  fieldsOf,
  outputField,
  timeoutOf,
  optionFaults,
  readText,
  parseJson,
} from './block-options.ts';

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
