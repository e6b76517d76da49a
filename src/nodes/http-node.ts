/** The http node: sends one request, with limits and retries. Secrets do not get into the history. */
import { CairnError } from '../errors.ts';
import { NodeFailure, type NodeContext, type StateView } from '../graph/contracts/node-contract.ts';
import type { RetryPolicy } from '../graph/contracts/retry-policy.ts';
import type { StandardSchema } from '../graph/graph.ts';
import type { SecretReference } from '../graph/secret-reference.ts';
import { checkValue } from './draft/before-effect.ts';
import { describeConfig, resolveComputed, type Computed, type FromState, type PlainValue } from './draft/computed.ts';
import {
  exchangeHttp,
  failStatus,
  parseBody,
  safeMethods,
  type BodyFormat,
  type RedirectRule,
} from './http/exchange-http.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import { draftNode, type NodeDraft, type NodeOptions } from './draft/node-draft.ts';

type Scalar = string | number | boolean | undefined | SecretReference;

/** How to read a body: by its content type (`auto`), in the named format, or as JSON that a schema validates. */
export type BodyAs = BodyFormat | StandardSchema;

export interface HttpNodeConfig<S extends StateView = StateView, As extends BodyAs = BodyAs> {
  /** HTTP method. Default `GET`. */
  readonly method?: 'GET' | 'HEAD' | 'OPTIONS' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** URL of the request, http: or https: only. */
  readonly url: Computed<string | URL, S>;
  readonly query?: Computed<Readonly<Record<string, Computed<Scalar | readonly Scalar[], S>>>, S>;
  readonly headers?: Computed<Readonly<Record<string, Computed<Scalar, S>>>, S>;
  /** Body of the request. Text and bytes are sent as they are, anything else as JSON. */
  readonly body?: PlainValue | FromState<unknown, S>;
  /** Timeout of one attempt in milliseconds. Default 30,000. */
  readonly timeoutMs?: number;
  /** The most bytes of a response, after decompression. Default 8 MiB. */
  readonly maxBytes?: number;
  /** What to do with redirects. Default `same-origin`. */
  readonly redirect?: RedirectRule;
  /** Statuses that count as success. Default: 200 to 299; with `redirect: 'manual'` 200 to 399. */
  readonly okStatus?: readonly number[];
  /**
   * How to read the response's body. Default `auto`: by its content type. A schema (Zod 4, Valibot, ArkType) also gives the body its type.
   */
  readonly as?: As;
  readonly retry?: RetryPolicy;
}

/** The output of an http node. */
export interface HttpOutput<Body = unknown> {
  readonly status: number;
  /** Headers by name in lower case. Cookies that the server sets are omitted. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
}

type BodyOf<As> =
  As extends StandardSchema<infer Body> ? Body : As extends 'text' ? string : As extends 'bytes' ? Uint8Array : unknown;

/** The default retry policy of reads and of idempotent calls. */
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
 * Makes a node that sends a request. Its output is an {@link HttpOutput}. The effect class is `read` for GET, HEAD and OPTIONS; else
 * `external`, with the idempotency key in the header `Idempotency-Key`.
 *
 * Fails with `HTTP_UNAVAILABLE` (429 and 5xx; `Retry-After` is respected), `HTTP_STATUS` (any other status that is not ok),
 * `HTTP_CONNECTION`, `HTTP_REDIRECT`, `HTTP_TOO_LARGE`, `HTTP_PARSE`, or, before anything is sent, `REQUEST_INVALID`. A failure says that
 * nothing happened (X3) only if the connection was refused or the status is 429.
 */
export function httpNode<S extends StateView = StateView, const As extends BodyAs = 'auto'>(
  config: HttpNodeConfig<S, As>,
  options: NodeOptions = {},
): NodeDraft<S, HttpOutput<BodyOf<As>>> {
  refuseUnknownKeys('httpNode', config, configKeys);
  if (config.url === undefined) throw new CairnError('CONFIG_INVALID', { reason: 'httpNode: url is missing' });
  const { timeoutMs = 30_000, retry, method = 'GET', url, as = 'auto', ...rest } = config as unknown as HttpNodeConfig;
  const isRead = safeMethods.has(method);
  const effect = options.effectClass ?? (isRead ? 'read' : 'external');
  const mayRepeat = effect === 'read' || effect === 'pure' || options.idempotent === true;
  // A schema is code, so it is not hashed. If it changes, the author changes the node's version.
  const format = typeof as === 'string' ? as : 'json';
  const plain = { method, ...rest, as: format, url: url instanceof URL ? url.href : url };
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
    readRequest: () => resolveComputed({ url, query, headers, body }, ctx.state) as { readonly url: unknown },
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
  const excerpt = mask.text(new TextDecoder().decode(bytes.subarray(0, 4_096)));
  throw failStatus(answer, ctx.now(), { status, headers: answer.headers, body: excerpt });
}

/** Validates the body with a schema. @throws NodeFailure HTTP_PARSE */
async function checkBody(schema: StandardSchema, received: unknown): Promise<unknown> {
  const { value, reasons } = await checkValue(schema, received);
  if (reasons === undefined) return value;
  throw new NodeFailure(`the body does not fit: ${reasons.join('; ')}`, { code: 'HTTP_PARSE', data: { reasons } });
}
