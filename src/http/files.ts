/** A value of a run as a file: whole, or a part of it by `Range` (RFC 9110, 14), so that a large one is fetched in pieces or continued. */
import { createHash } from 'node:crypto';
import { answerHeaders, HttpRefused } from './problem.ts';
import { toJson } from '../operations/contract/to-json.ts';

interface Part {
  readonly start: number;
  /** Behind the last byte. */
  readonly end: number;
}

/** The requested part; undefined for the whole, also where the header is none of one part, as HTTP has it. @throws 416 */
function readRange(header: string | null, size: number): Part | undefined {
  const [, first = '', last = ''] = /^\s*bytes\s*=\s*(\d{0,15})\s*-\s*(\d{0,15})\s*$/.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size : Math.min(size, Number(last) + 1);
  if (start >= end) throw new HttpRefused(416, `the file has ${size} bytes`, { 'content-range': `bytes */${size}` });
  return { start, end };
}

/**
 * A text is sent as it is, anything else as JSON. It is always a file to keep, never a page. @param name - of the file, without its ending
 */
export function fileResponse(request: Request, value: unknown, name: string): Response {
  const isText = typeof value === 'string';
  const bytes = Buffer.from(isText ? value : JSON.stringify(toJson(value) ?? null));
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
  const { headers } = request;
  // A part of what has changed meanwhile would not fit what the client has.
  const isSame = [null, etag].includes(headers.get('if-range'));
  const part = isSame ? readRange(headers.get('range'), bytes.length) : undefined;
  const { start, end } = part ?? { start: 0, end: bytes.length };
  const fileName = `${name.replace(/[^\w.-]+/g, '_').slice(0, 80)}.${isText ? 'txt' : 'json'}`;
  return new Response(new Uint8Array(bytes.subarray(start, end)), {
    status: part === undefined ? 200 : 206,
    headers: {
      ...answerHeaders,
      'accept-ranges': 'bytes',
      'content-disposition': `attachment; filename="${fileName}"`,
      'content-length': String(end - start),
      'content-type': isText ? 'text/plain; charset=utf-8' : 'application/json',
      etag,
      ...(part !== undefined && { 'content-range': `bytes ${start}-${end - 1}/${bytes.length}` }),
    },
  });
}
