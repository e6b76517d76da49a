/** HTTP spoken over a bare socket, for requests that no client library would send. */
import { connect } from 'node:net';

/** What came back before the connection was closed, by either side. */
export interface RawAnswer {
  /** All that was received, one character a byte. */
  readonly text: string;
  /** The status of the answer; 0: there was none. */
  readonly status: number;
  /** Code of the first error of the socket. */
  readonly errorCode: string | undefined;
}

export interface ExchangeOptions {
  /** Whether the client closes its side once it has sent all. A server may then drop the answer. */
  readonly closesAfterSend?: boolean;
  /** Whether enough was received. Default: the server closes the connection. Streams do not end by themselves. */
  readonly isDone?: (text: string) => boolean;
}

/** Sends bytes to a port of loopback, and takes what comes back. @param bytes - a text has one character a byte */
export async function exchange(
  port: number,
  bytes: string | Uint8Array,
  { closesAfterSend = false, isDone }: ExchangeOptions = {},
): Promise<RawAnswer> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  let errorCode: string | undefined;
  // A server that refuses a body closes the connection while the body is still sent.
  socket.on('error', ({ code }: NodeJS.ErrnoException) => (errorCode ??= code));
  socket.setEncoding('latin1').on('data', (piece: string) => {
    text += piece;
    if (isDone?.(text) === true) socket.destroy();
  });
  const sent = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
  if (closesAfterSend) socket.end(sent);
  else socket.write(sent);
  // An error closes the connection too.
  await new Promise((resolve) => socket.once('close', resolve));
  return { text, status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), errorCode };
}
