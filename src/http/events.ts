/** The events of a run as server-sent events: each recorded one once and in order, resumed by the browser with its last id. */
import { CairnError } from '../errors.ts';
import { followHistory, type FollowedEvent } from '../history/read/follow.ts';
import type { WorkContext } from '../operations/declare/operation.ts';
import { shownEvent } from '../operations/declare/perform.ts';
import { toJson } from '../operations/declare/to-json.ts';
import { answerHeaders, problemOf } from './problem.ts';

export interface EventOptions {
  readonly context: WorkContext;
  /** The run's whole id. */
  readonly runId: string;
  readonly after: string | undefined;
  readonly until: 'end' | 'rest';
  /** The client left, or the server closes. */
  readonly signal: AbortSignal;
  /** Called once, when the stream is over. */
  readonly ended: () => void;
}

/** Proxies cut streams that say nothing for some 15 seconds. */
const commentMs = 10_000;

const encoder = new TextEncoder();

function encode(event: FollowedEvent): Uint8Array {
  const id = event.type === 'checkpoint' ? `id: ${event.cursor}\n` : '';
  return encoder.encode(`${id}event: ${event.type}\ndata: ${JSON.stringify(toJson(shownEvent(event)))}\n\n`);
}

const encodeNamed = (name: string, data: unknown): Uint8Array =>
  encoder.encode(`event: ${name}\ndata: ${JSON.stringify(toJson(data))}\n\n`);

/** Streams the events. @throws USAGE_INVALID, RUN_NOT_FOUND; what comes up later is told in the stream. A run that has ended and of which all was seen gives 204, at which browsers stop to reconnect. */
export async function eventResponse(options: EventOptions): Promise<Response> {
  const { context, runId, after, until, signal, ended } = options;
  const { store, blobs, tenant } = context;
  const leaving = new AbortController();
  const over = AbortSignal.any([signal, leaving.signal]);
  const events = followHistory({ store, blobs, tenant }, runId, {
    until,
    signal: over,
    ...(after !== undefined && { after }),
  });
  let comment: NodeJS.Timeout | undefined;
  const close = (): void => {
    clearInterval(comment);
    leaving.abort();
    ended();
  };
  let next: Promise<IteratorResult<FollowedEvent, void>> | undefined;
  try {
    const run = await store.readRun({ tenant, runId });
    if (run === undefined) throw new CairnError('RUN_NOT_FOUND', { runId });
    if (run.status !== 'running' && (until === 'rest' || run.status !== 'paused')) {
      next = events.next();
      if ((await next).done === true && after !== undefined) {
        close();
        return new Response(null, { status: 204, headers: answerHeaders });
      }
    }
  } catch (error) {
    close();
    throw error;
  }
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        // The first bytes tell the client, and proxies, that the stream is open.
        controller.enqueue(encoder.encode(': open\n\n'));
        comment = setInterval(() => {
          if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(': \n\n'));
        }, commentMs);
        comment.unref();
      },
      async pull(controller) {
        try {
          const { done, value } = await (next ?? events.next());
          next = undefined;
          if (done !== true) return controller.enqueue(encode(value));
          const run = await store.readRun({ tenant, runId });
          if (!over.aborted) controller.enqueue(encodeNamed('end', { runId, status: run?.status, seq: run?.head }));
          close();
          controller.close();
        } catch (error) {
          if (!over.aborted) controller.enqueue(encodeNamed('problem', problemOf(error)));
          close();
          controller.close();
        }
      },
      cancel: close,
    },
    { highWaterMark: 16 },
  );
  return new Response(body, {
    headers: {
      ...answerHeaders,
      'cache-control': 'no-store, no-transform',
      'content-type': 'text/event-stream',
      'x-accel-buffering': 'no',
    },
  });
}
