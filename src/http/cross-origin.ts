/** What browsers are told about pages of other origins that may call. */
import { answerHeaders, HttpRefused } from './problem.ts';

/** A browser asks whether a page of another origin may send a request. */
export function preflight({ headers }: Request, page: string | undefined): Response {
  if (page === undefined) throw new HttpRefused(405, 'OPTIONS is not served here');
  const requested = headers.get('access-control-request-headers');
  return new Response(null, {
    status: 204,
    headers: {
      ...answerHeaders,
      'access-control-allow-methods': 'GET, POST, DELETE',
      ...(requested !== null && { 'access-control-allow-headers': requested }),
    },
  });
}

/** Tells the browser of a page that may call that the page may read the answer. */
export function withPage(response: Response, page: string | undefined): Response {
  if (page === undefined) return response;
  const headers = new Headers(response.headers);
  headers.set('access-control-allow-origin', page);
  headers.set('access-control-expose-headers', 'location, www-authenticate, retry-after');
  headers.append('vary', 'origin');
  return new Response(response.body, { status: response.status, headers });
}
