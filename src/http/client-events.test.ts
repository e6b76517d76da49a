import { expect, test } from 'vitest';
import { createClient } from './client.ts';

const event = { type: 'end', runId: 'r', cursor: '7', status: 'completed' };

/** A server that streams a text as it is, a few bytes at a time. */
function clientOf(text: string): ReturnType<typeof createClient> {
  const bytes = new TextEncoder().encode(text);
  const pieces = Array.from({ length: Math.ceil(bytes.length / 5) }, (_, at) => bytes.slice(5 * at, 5 * at + 5));
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = pieces.shift();
      if (next === undefined) controller.close();
      else controller.enqueue(next);
    },
  });
  return createClient('http://127.0.0.1:1', 't', { fetch: () => Promise.resolve(new Response(body)) });
}

const json = JSON.stringify(event);
const half = json.indexOf('"runId"');

test.each([
  ['lines that end with a line feed', `: hello\n\nevent: run\ndata: ${json}\n\nevent: end\ndata: {}\n\n`],
  ['lines that end with CRLF', `event: run\r\ndata: ${json}\r\n\r\nevent: end\r\ndata: {}\r\n\r\n`],
  ['no blank behind the colon', `event:run\ndata:${json}\n\nevent:end\ndata:{}\n\n`],
  [
    'data of several lines',
    `event: run\ndata: ${json.slice(0, half)}\ndata: ${json.slice(half)}\n\nevent: end\ndata: {}\n\n`,
  ],
])('the client reads a stream of events with %s', async (_, text) => {
  const followed: unknown[] = [];
  for await (const one of clientOf(text).follow('r')) followed.push(one);
  expect(followed).toEqual([event]);
});
