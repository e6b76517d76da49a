/** Reads the body of a response up to a limit, and parses it. */
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type { TextMask } from '../../state/secrecy/text-mask.ts';

export type BodyFormat = 'json' | 'text' | 'bytes' | 'auto';

/** Reads a body. Bytes are counted as they arrive, after decompression. @throws NodeFailure HTTP_TOO_LARGE, HTTP_CONNECTION */
export async function readBody(response: Response, limitBytes: number, signal: AbortSignal): Promise<Uint8Array> {
  if (response.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  try {
    for await (const chunk of response.body) {
      sizeBytes += chunk.length;
      // Leaving the loop cancels the body, which closes the connection.
      if (sizeBytes > limitBytes) break;
      chunks.push(chunk);
    }
  } catch {
    signal.throwIfAborted();
    throw new NodeFailure('the connection broke while the response was read', {
      code: 'HTTP_CONNECTION',
      data: { status: response.status },
    });
  }
  if (sizeBytes > limitBytes) {
    throw new NodeFailure(`the response is over the limit of ${limitBytes} bytes`, {
      code: 'HTTP_TOO_LARGE',
      data: { status: response.status, limitBytes },
    });
  }
  return new Uint8Array(Buffer.concat(chunks));
}

/** Parses a body. Secrets that the server sends back are masked. @throws NodeFailure HTTP_PARSE */
export function parseBody(bytes: Uint8Array, contentType: string, format: BodyFormat, mask: TextMask): unknown {
  const actual = format === 'auto' ? guessFormat(contentType, bytes) : format;
  if (actual === 'json') return mask.all(parseJson(bytes));
  return actual === 'text' ? mask.text(decodeText(bytes, contentType)) : mask.bytes(bytes);
}

function guessFormat(contentType: string, bytes: Uint8Array): Exclude<BodyFormat, 'auto'> {
  if (saysJson(contentType)) return bytes.length === 0 ? 'text' : 'json';
  const type = mediaType(contentType);
  const isText =
    type === '' ||
    type.startsWith('text/') ||
    /^application\/(xml|javascript|x-www-form-urlencoded|x-ndjson|yaml)$|\+xml$/.test(type);
  return isText ? 'text' : 'bytes';
}

/** Whether a content type says that its content is JSON. */
export function saysJson(contentType: string): boolean {
  return /^application\/json$|\+json$/.test(mediaType(contentType));
}

function mediaType(contentType: string): string {
  return contentType.split(';')[0]?.trim().toLowerCase() ?? '';
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as unknown;
  } catch {
    throw new NodeFailure('the response is no valid JSON', { code: 'HTTP_PARSE', data: { sizeBytes: bytes.length } });
  }
}

/** Decodes text in the charset of its content type. Invalid bytes are replaced. */
export function decodeText(bytes: Uint8Array, contentType: string): string {
  const charset = /charset="?([^\s;"]+)/i.exec(contentType)?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}
