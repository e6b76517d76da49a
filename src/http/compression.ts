/** Answers compressed for clients that take them so. Mounted handlers leave it to their host; `cairn serve` is its own. */

/** Below this a compressed answer is hardly smaller. */
const leastBytes = 1_024;

/** Whether a client takes this encoding: `gzip, br;q=0.8`. */
export function takesEncoding(request: Request, encoding: 'gzip' | 'br'): boolean {
  const named = (request.headers.get('accept-encoding') ?? '').split(',').map((part) => part.trim().split(/\s*;\s*/u));
  return named.some(([name, weight]) => name?.toLowerCase() === encoding && !/^q=0(?:\.0*)?$/u.test(weight ?? ''));
}

/**
 * A handler whose JSON of a KiB and more is compressed as it is sent. Streams of events are not: their pieces would wait for each other. Nor is
 * what has an `etag`, which names the bytes as they are, or is a part of a file.
 */
export function compressing(handler: (request: Request) => Promise<Response>): (request: Request) => Promise<Response> {
  return async (request) => {
    const response = await handler(request);
    const { body, headers, status } = response;
    const isJson = /^application\/(?:[\w.-]+\+)?json\b/u.test(headers.get('content-type') ?? '');
    const isLarge = Number(headers.get('content-length') ?? leastBytes) >= leastBytes;
    if (body === null || !isJson || !isLarge || status === 206) return response;
    if (headers.has('etag') || headers.has('content-encoding') || request.method === 'HEAD') return response;
    const own = new Headers(headers);
    own.append('vary', 'accept-encoding');
    if (!takesEncoding(request, 'gzip')) return new Response(body, { status, headers: own });
    own.delete('content-length');
    own.set('content-encoding', 'gzip');
    return new Response(body.pipeThrough(new CompressionStream('gzip')), { status, headers: own });
  };
}
