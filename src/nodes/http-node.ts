/** The http node: one request, with limits, retries and nothing secret left behind. */
import { CairnError } from '../errors.ts';
import type { NodeContext, RetryPolicy, StateView } from '../graph/node-contract.ts';
import type { SecretReference } from '../graph/secret-reference.ts';
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

export interface HttpNodeConfig<S extends StateView = StateView> {
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
  /** Default `auto`: by the content type. */
  readonly parse?: BodyFormat;
  readonly retry?: RetryPolicy;
}

/** The output of an http node. */
export interface HttpOutput {
  readonly status: number;
  /** Names in lower case; cookies that the receiver sets are not kept. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

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
  'parse',
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
export function httpNode<S extends StateView = StateView>(
  config: HttpNodeConfig<S>,
  options: NodeOptions = {},
): NodeDraft {
  refuseUnknownKeys('httpNode', config, configKeys);
  if (config.url === undefined) throw new CairnError('CONFIG_INVALID', { reason: 'httpNode: url is missing' });
  const { timeoutMs = 30_000, retry, method = 'GET', url, ...given } = config as HttpNodeConfig;
  const isRead = safeMethods.has(method);
  const effect = options.effectClass ?? (isRead ? 'read' : 'external');
  const mayRepeat = effect === 'read' || effect === 'pure' || options.idempotent === true;
  const plain = { method, ...given, url: url instanceof URL ? url.href : url };
  const { config: own, data, codeText } = describeConfig(plain);
  return draftNode(
    {
      type: 'http',
      effect,
      config: data,
      retry: retry ?? (mayRepeat ? httpRetry : undefined),
      timeoutMs,
      implementation: { run: (ctx) => request(ctx, method, own), codeText },
    },
    options,
  );
}

async function request(ctx: NodeContext, method: string, config: Omit<HttpNodeConfig, 'method'>): Promise<HttpOutput> {
  const { url, query, headers, body, redirect = 'same-origin', maxBytes, okStatus, parse = 'auto' } = config;
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
    return { status, headers: answer.headers, body: parseBody(bytes, contentType, parse, mask) };
  }
  const told = mask.text(new TextDecoder().decode(bytes.subarray(0, 4_096)));
  throw failStatus(answer, ctx.now(), { status, headers: answer.headers, body: told });
}
