/** Errors as problem details (RFC 9457), from the one table of errors. */
import type { HttpRefusal } from '../app/http/http-guard.ts';
import { CairnError, errorTable, type ErrorCode } from '../errors.ts';
import { shownError } from '../operations/contract/perform.ts';
import { toJson } from '../operations/contract/to-json.ts';
import { hintOverHttp } from './hints.ts';
import type { Fault } from '../schema/json-pointer.ts';

/** An error as clients get it, in a response or in a stream. */
export interface Problem {
  /** `urn:cairn:error:CODE`. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ErrorCode;
  readonly hint?: string;
  /** `later`: the same request may succeed later. */
  readonly retry: 'no' | 'later';
  /** What is wrong with the request, all of it, each with a JSON Pointer to its field; absent where that is not known. */
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[];
  /** With `PREVIEW_CHANGED`: what would be done by now. */
  readonly preview?: unknown;
}

/** Why the interface itself refuses a request, before it asks for any operation. */
type RefusedStatus = 400 | 401 | 403 | 404 | 405 | 410 | 413 | 415 | 416 | 429;
const codeOfStatus: Readonly<Record<RefusedStatus, ErrorCode>> = {
  400: 'REQUEST_MALFORMED',
  401: 'TOKEN_NEEDED',
  403: 'SCOPE_NEEDED',
  404: 'ROUTE_NOT_FOUND',
  405: 'METHOD_NOT_SERVED',
  410: 'LINK_CLOSED',
  413: 'BODY_TOO_LARGE',
  415: 'MEDIA_TYPE_UNKNOWN',
  416: 'RANGE_INVALID',
  429: 'REQUESTS_TOO_MANY',
};

/** A refusal that is HTTP's own, with headers. Its code is that of its status, unless another one says more. */
export class HttpRefused extends Error {
  readonly status: RefusedStatus;
  readonly headers: Readonly<Record<string, string>>;
  readonly code: ErrorCode;

  constructor(
    status: RefusedStatus,
    title: string,
    headers: Readonly<Record<string, string>> = {},
    code: ErrorCode = codeOfStatus[status],
  ) {
    super(title);
    this.status = status;
    this.headers = headers;
    this.code = code;
  }
}

/** What the guard of hosts and origins says, as a refusal. */
export function refusedByGuard({ status, message }: HttpRefusal): HttpRefused {
  return status === 403 ? new HttpRefused(403, message, {}, 'ORIGIN_REFUSED') : new HttpRefused(400, message);
}

const typeOf = (code: ErrorCode): string => `urn:cairn:error:${code}`;

/** What was thrown, as clients get it. What is no error of the table is a defect, and nothing else is said about it. */
export function problemOf(thrown: unknown): Problem {
  if (thrown instanceof HttpRefused) {
    const { code, status, message: title } = thrown;
    const { hint, retry } = errorTable[code];
    return { type: typeOf(code), title, status, code, ...hintOverHttp(code, hint), retry };
  }
  if (!CairnError.is(thrown)) return defect('INTERNAL');
  const { code, message, hint, retry, data } = shownError(thrown) as CairnError;
  const { http: status } = errorTable[code];
  // What a store or a defect says may quote paths, statements and addresses: it is for who runs the server.
  if (status >= 500) return defect(code);
  return {
    type: typeOf(code),
    title: message,
    status,
    code,
    ...hintOverHttp(code, hint),
    retry,
    ...faultsOf(data),
    ...previewOf(data),
  };
}

function faultsOf({ faults }: CairnError['data']): Pick<Problem, 'errors'> {
  if (!Array.isArray(faults)) return {};
  return { errors: (faults as readonly Fault[]).map(({ pointer, message: detail }) => ({ pointer, detail })) };
}

function previewOf({ preview }: CairnError['data']): Pick<Problem, 'preview'> {
  return preview === undefined ? {} : { preview: toJson(preview) };
}

const titles: Readonly<Record<number, string>> = {
  500: 'the server could not do it; its log says why',
  503: 'the store cannot be reached now',
  507: 'the store has no room',
};

function defect(code: ErrorCode): Problem {
  const { http: status, retry } = errorTable[code];
  return {
    type: typeOf(code),
    title: titles[status] ?? 'the server could not do it',
    status,
    code,
    retry,
  };
}

/** Headers of every answer: answers are data for the caller alone, never pages. */
export const answerHeaders: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
};

export function problemResponse(thrown: unknown): Response {
  const problem = problemOf(thrown);
  const { status } = problem;
  return new Response(JSON.stringify(problem), {
    status,
    headers: {
      ...answerHeaders,
      'content-type': 'application/problem+json',
      ...(status === 503 && { 'retry-after': '1' }),
      ...(thrown instanceof HttpRefused && thrown.headers),
    },
  });
}

export function jsonResponse(value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
  const body = Buffer.from(JSON.stringify(toJson(value) ?? null));
  const own = { ...answerHeaders, 'content-type': 'application/json', 'content-length': String(body.length) };
  return new Response(body, { status, headers: { ...own, ...headers } });
}
