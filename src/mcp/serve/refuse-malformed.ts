/** Answers malformed input on stdin with an error, because a client that waits for a reply would wait forever. */
import { Transform, type Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { Sdk } from './server-house.ts';

const parseError = -32_700;
const invalidRequest = -32_600;

/** The id of what was meant as a request. */
function idOf(value: unknown): string | number | null {
  const { id, method } = (value ?? {}) as { readonly id?: unknown; readonly method?: unknown };
  return method !== undefined && (typeof id === 'string' || typeof id === 'number') ? id : null;
}

/** The error reply to a line that is not a message; undefined if it is one. */
function refusalOf({ deserializeMessage }: Sdk, line: string): object | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    const message = `this line is no JSON: ${(error as Error).message}`;
    return { jsonrpc: '2.0', id: null, error: { code: parseError, message } };
  }
  try {
    deserializeMessage(line);
    return undefined;
  } catch {
    const message = Array.isArray(value) ? 'batches are not part of the protocol' : 'this is no JSON-RPC 2.0 message';
    return { jsonrpc: '2.0', id: idOf(value), error: { code: invalidRequest, message } };
  }
}

/**
 * Passes valid messages on and replies to all other lines.
 * @param reply - writes one line to the client
 * @returns a stream that ends with the input, and fails if a line exceeds the protocol's limit
 */
export function refuseMalformed(sdk: Sdk, input: Readable, reply: (line: string) => void): Readable {
  const decoder = new StringDecoder();
  let parts: string[] = [];
  let length = 0;
  const lines = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const [first = '', ...others] = decoder.write(chunk).split('\n');
      parts.push(first);
      length += first.length;
      for (const next of others) {
        const line = parts.join('');
        parts = [next];
        length = next.length;
        const refusal = line.trim() === '' ? undefined : refusalOf(sdk, line);
        if (refusal === undefined) this.push(`${line}\n`);
        else reply(`${JSON.stringify(refusal)}\n`);
      }
      const isTooLong = length > sdk.STDIO_DEFAULT_MAX_BUFFER_SIZE;
      done(isTooLong ? new Error(`a message is over the maximum size of ${sdk.STDIO_DEFAULT_MAX_BUFFER_SIZE}`) : null);
    },
  });
  input.on('error', (error) => lines.destroy(error));
  return input.pipe(lines);
}
