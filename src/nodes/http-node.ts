/** The http node: one request, with limits, retries and nothing secret left behind. */
import { CairnError } from '../errors.ts';
import { NodeFailure, type NodeContext, type RetryPolicy, type StateView } from '../graph/contracts/node-contract.ts';
import type { StandardSchema } from '../graph/graph.ts';
import type { SecretReference } from '../graph/secret-reference.ts';
import { checkValue } from './draft/check-value.ts';
import { describeConfig, resolveComputed } from './draft/computed.ts';
import {
  exchangeHttp,
  failStatus,
  parseBody,
  safeMethods,
  type BodyFormat,
  type RedirectRule,
} from './http/exchange-http.ts';
import { refuseUnknownKeys } from './draft/known-keys.ts';
import { draftNode, type NodeDraft, type NodeOptions } from './draft/node-draft.ts';
import type { Computed, FromState, PlainValue } from './draft/typed-context.ts';

type Scalar = string | number | boolean | undefined | SecretReference;

/** How a body is read: by the content type, as it is said, or as JSON that a schema then checks and completes. */
export type BodyAs = BodyFormat | StandardSchema;

export interface HttpNodeConfig<S extends StateView = StateView, As extends BodyAs = BodyAs> {
  /** Default `GET`. */
  readonly method?: 'GET' | 'HEAD' | 'OPTIONS' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** http: or https: only. */
  readonly url: Computed<string | URL, S>;
  readonly query?: Computed<Readonly<Record<string, Computed<Scalar | readonly Scalar[], S>>>, S>;
  readonly headers?: Computed<Readonly<Record<string, Computed<Scalar, S>>>, S>;
  /** Text and bytes are sent as they are, anything else as JSON. */
  readonly body?: PlainValue | FromState<unknown, S>;
  /** Of one attempt. Default 30,000 ms. */
  readonly timeoutMs?: number;
  /** The most that is read of a response, decompressed. Default 8 MiB. */
  readonly maxBytes?: number;
  /** Default `same-origin`. */
  readonly redirect?: RedirectRule;
  /** Default: 200 to 299; under `redirect: 'manual'` 200 to 399. */
  readonly okStatus?: readonly number[];
  /** Default `auto`: by the content type. A schema (Zod 4, Valibot, ArkType) gives the body its type. */
  readonly as?: As;
  readonly retry?: RetryPolicy;
}

/** The output of an http node. */
export interface HttpOutput<Body = unknown> {
  readonly status: number;
  /** Names in lower case; cookies that the receiver sets are not kept. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
}

type BodyOf<As> =
  As extends StandardSchema<infer Body> ? Body : As extends 'text' ? string : As extends 'bytes' ? Uint8Array : unknown;

/** The default of reads and of idempotent calls. */
export const httpRetry: RetryPolicy = {
  attempts: 3,
  backoff: 'exponential',
  delayMs: 500,
  delayMsMax: 30_000,
  jitter: 0.2,
  on: ['HTTP_UNAVAILABLE', 'HTTP_CONNECTION', 'NODE_TIMED_OUT'],
};

const configKeys = [
  'method',
  'url',
  'query',
  'headers',
  'body',
  'timeoutMs',
  'maxBytes',
  'redirect',
  'okStatus',
  'as',
  'retry',
] as const satisfies readonly (keyof HttpNodeConfig)[];

/**
 * A node that sends a request; its output is an {@link HttpOutput}. Effect class `read` for GET, HEAD and OPTIONS, else `external`, with
 * the idempotency key in the header `Idempotency-Key`.
 *
 * Fails with `HTTP_UNAVAILABLE` (429 and 5xx; `Retry-After` is obeyed), `HTTP_STATUS` (any other status that is not ok),
 * `HTTP_CONNECTION`, `HTTP_REDIRECT`, `HTTP_TOO_LARGE`, `HTTP_PARSE`, or before anything is sent with `REQUEST_INVALID`.
 * A failure says that nothing happened (X3) only if the connection was refused, or the status is 429.
 */
export function httpNode<S extends StateView = StateView, const As extends BodyAs = 'auto'>(
  config: HttpNodeConfig<S, As>,
  options: NodeOptions = {},
): NodeDraft<S, HttpOutput<BodyOf<As>>> {
  refuseUnknownKeys('httpNode', config, configKeys);
  if (config.url === undefined) throw new CairnError('CONFIG_INVALID', { reason: 'httpNode: url is missing' });
  const { timeoutMs = 30_000, retry, method = 'GET', url, as = 'auto', ...given } = config as unknown as HttpNodeConfig;
  const isRead = safeMethods.has(method);
  const effect = options.effectClass ?? (isRead ? 'read' : 'external');
  const mayRepeat = effect === 'read' || effect === 'pure' || options.idempotent === true;
  // A schema is code: its text is in no hash, and a change of it is told by the node's version.
  const format = typeof as === 'string' ? as : 'json';
  const plain = { method, ...given, as: format, url: url instanceof URL ? url.href : url };
  const { config: own, data, codeText } = describeConfig(plain);
  return draftNode(
    {
      type: 'http',
      effect,
      config: data,
      retry: retry ?? (mayRepeat ? httpRetry : undefined),
      timeoutMs,
      implementation: { run: (ctx) => request(ctx, method, { ...own, as }), codeText },
    },
    options,
  );
}

async function request(ctx: NodeContext, method: string, config: Omit<HttpNodeConfig, 'method'>): Promise<HttpOutput> {
  const { url, query, headers, body, redirect = 'same-origin', maxBytes, okStatus, as = 'auto' } = config;
  const answer = await exchangeHttp(ctx, {
    method,
    given: () => resolveComputed({ url, query, headers, body }, ctx.state) as { readonly url: unknown },
    redirect,
    maxBytes,
  });
  const { status, bytes, mask } = answer;
  const isOk = okStatus?.includes(status) ?? (status >= 200 && status < (redirect === 'manual' ? 400 : 300));
  if (isOk) {
    const contentType = answer.headers['content-type'] ?? '';
    const received = parseBody(bytes, contentType, typeof as === 'string' ? as : 'json', mask);
    return { status, headers: answer.headers, body: typeof as === 'string' ? received : await checkBody(as, received) };
  }
  const told = mask.text(new TextDecoder().decode(bytes.subarray(0, 4_096)));
  throw failStatus(answer, ctx.now(), { status, headers: answer.headers, body: told });
}

/** @throws NodeFailure HTTP_PARSE */
async function checkBody(schema: StandardSchema, received: unknown): Promise<unknown> {
  const { value, reasons } = await checkValue(schema, received);
  if (reasons === undefined) return value;
  throw new NodeFailure(`the body does not fit: ${reasons.join('; ')}`, { code: 'HTTP_PARSE', data: { reasons } });
}
