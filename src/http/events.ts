/** Events as server-sent events: each recorded one once and in order, resumed by the browser with its last id. */
import { followHistory, isOverFor } from '../history/read/follow.ts';
import { followRuns, type FollowRunsOptions } from '../history/read/follow-runs.ts';
import { resolveRun } from '../history/read/references.ts';
import type { WorkContext } from '../operations/contract/operation.ts';
import { maskedEvent } from '../operations/contract/perform.ts';
import { toJson } from '../operations/contract/to-json.ts';
import { answerHeaders, problemOf } from './problem.ts';

interface StreamOptions {
  readonly context: WorkContext;
  readonly after: string | undefined;
  /** Aborted when the client is gone, or the server closes. */
  readonly signal: AbortSignal;
  /** Called once, when the stream is over. */
  readonly ended: () => void;
}

export interface RunEventOptions extends StreamOptions {
  /** The run's whole id. */
  readonly runId: string;
  readonly until: 'end' | 'rest';
  /** Whether pieces of what nodes are just making are sent too. */
  readonly live: boolean;
}

export interface RunsEventOptions extends StreamOptions {
  readonly filter: Pick<FollowRunsOptions, 'labels' | 'graph'>;
}

/** An event as it is sent. One without an id does not move the place at which a client goes on. */
interface ServerEvent {
  readonly id?: string;
  readonly name: string;
  readonly data: unknown;
}

/** Proxies cut streams that say nothing for some 15 seconds. */
const commentMs = 10_000;

const encoder = new TextEncoder();

const encode = ({ id, name, data }: ServerEvent): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(toJson(maskedEvent(data)))}\n\n`;

/**
 * Streams the events of a run. @throws USAGE_INVALID, RUN_NOT_FOUND; a later error is an event of the stream. A run that has ended and of
 * which all was seen gives 204, at which browsers stop to reconnect.
 */
export async function runEvents(options: RunEventOptions): Promise<Response> {
  const { context, runId, after, until, live } = options;
  const { store, blobs, tenant } = context;
  const key = { tenant, runId };
  const leaving = leavingOf(options);
  try {
    const run = await resolveRun(store, tenant, key);
    const isOver = isOverFor(run, until);
    const following = { until, live: live && !isOver, signal: leaving.signal, ...(after !== undefined && { after }) };
    const followed = followHistory({ store, blobs, tenant }, runId, following);
    const events = async function* (): AsyncGenerator<ServerEvent> {
      for await (const event of followed)
        yield { ...('cursor' in event && { id: event.cursor }), name: event.type, data: event };
      const { status, head } = (await store.readRun(key)) ?? {};
      if (!leaving.signal.aborted) yield { name: 'end', data: { runId, status, seq: head } };
    };
    const stream = events();
    const first = isOver ? await stream.next() : undefined;
    if (after !== undefined && first?.value?.name === 'end') {
      leaving.leave();
      return new Response(null, { status: 204, headers: answerHeaders });
    }
    return streamResponse(stream, leaving, first);
  } catch (error) {
    leaving.leave();
    throw error;
  }
}

/** Streams the events of many runs. It does not end by itself. @throws USAGE_INVALID */
export function runsEvents(options: RunsEventOptions): Response {
  const { context, after, filter } = options;
  const { store, blobs, tenant } = context;
  const leaving = leavingOf(options);
  try {
    const following = { ...filter, signal: leaving.signal, ...(after !== undefined && { after }) };
    const runs = followRuns({ store, blobs, tenant }, following);
    const events = async function* (): AsyncGenerator<ServerEvent> {
      for await (const { position, event } of runs) yield { id: position, name: event.type, data: event };
    };
    return streamResponse(events(), leaving);
  } catch (error) {
    leaving.leave();
    throw error;
  }
}

/** A stream's client, who may leave. */
export interface Leaving {
  readonly signal: AbortSignal;
  /** Ends the stream. */
  readonly leave: () => void;
}

export function leavingOf({ signal, ended }: Pick<StreamOptions, 'signal' | 'ended'>): Leaving {
  const leaving = new AbortController();
  return {
    signal: AbortSignal.any([signal, leaving.signal]),
    leave: () => {
      leaving.abort();
      ended();
    },
  };
}

/** @param first - the first event, where it was read already */
function streamResponse(
  events: AsyncGenerator<ServerEvent>,
  leaving: Leaving,
  first?: IteratorResult<ServerEvent, unknown>,
): Response {
  const frames = async function* (): AsyncGenerator<string> {
    if (first?.done === false) yield encode(first.value);
    for await (const event of events) yield encode(event);
  };
  return serverSentEvents(frames(), leaving, {
    failed: (error) => encode({ name: 'problem', data: problemOf(error) }),
  });
}

/**
 * A response that streams texts of events. @param how.failed - what is sent last if the stream fails
 */
export function serverSentEvents(
  frames: AsyncGenerator<string>,
  { signal, leave }: Leaving,
  how: { readonly failed: (error: unknown) => string; readonly headers?: Readonly<Record<string, string>> },
): Response {
  let comment: NodeJS.Timeout | undefined;
  const close = (): void => {
    clearInterval(comment);
    leave();
  };
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
          const { done, value } = await frames.next();
          if (done !== true) return controller.enqueue(encoder.encode(value));
        } catch (error) {
          if (!signal.aborted) controller.enqueue(encoder.encode(how.failed(error)));
        }
        close();
        controller.close();
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
      ...how.headers,
    },
  });
}
