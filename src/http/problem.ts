/** Errors as problem details (RFC 9457), from the one table of errors. */
import { CairnError, errorTable } from '../errors.ts';
import { shownError } from '../operations/contract/perform.ts';
import { toJson } from '../operations/contract/to-json.ts';

/** An error as clients get it, in a response or in a stream. */
export interface Problem {
  /** `urn:cairn:error:CODE`, or `about:blank` where only the status says it. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code?: string;
  readonly hint?: string;
  /** `later`: the same request may succeed later. */
  readonly retry?: 'no' | 'later';
  /** With `PREVIEW_CHANGED`: what would be done by now. */
  readonly preview?: unknown;
}

/** A refusal that is HTTP's own and has no code. */
export class HttpRefused extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, title: string, headers: Readonly<Record<string, string>> = {}) {
    super(title);
    this.status = status;
    this.headers = headers;
  }
}

/** What was thrown, as clients get it. What is no error of the table is a defect, and nothing else is said about it. */
export function problemOf(thrown: unknown): Problem {
  if (thrown instanceof HttpRefused) return { type: 'about:blank', title: thrown.message, status: thrown.status };
  if (!CairnError.is(thrown)) return defect('INTERNAL');
  const { code, message, hint, retry, data } = shownError(thrown) as CairnError;
  const { http: status } = errorTable[code];
  // What a store or a defect says may quote paths, statements and addresses: it is for who runs the server.
  if (status >= 500) return defect(code);
  return { type: `urn:cairn:error:${code}`, title: message, status, code, hint, retry, ...previewOf(data) };
}

function previewOf({ preview }: CairnError['data']): Pick<Problem, 'preview'> {
  return preview === undefined ? {} : { preview: toJson(preview) };
}

const titles: Readonly<Record<number, string>> = {
  500: 'the server could not do it; its log says why',
  503: 'the store cannot be reached now',
  507: 'the store has no room',
};

function defect(code: keyof typeof errorTable): Problem {
  const { http: status, retry } = errorTable[code];
  return {
    type: `urn:cairn:error:${code}`,
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
