/** Streams the events of a run after a seq, each once and in order, from any process. */
import { CairnError } from '../../errors.ts';
import type { Graph } from '../../graph/graph.ts';
import { checkpointId } from '../../history/stored/checkpoint.ts';
import { loadState, readHistory } from '../../history/load/load.ts';
import type { RunRow } from '../../ports/store.ts';
import type { LiveEvent, RunEvent, StateEvent, StreamEvent } from '../api.ts';
import type { EngineEnvironment } from '../run/run-core.ts';
import type { RunFeed } from '../run/run-feed.ts';
import { restingFrame, resultOf } from './run-result.ts';

interface StreamOptions {
  /** Seq of the last event seen; default: none. */
  readonly after?: number;
  /** Whether to include live events. Default true. */
  readonly live?: boolean;
}

/**
 * Streams events. With a feed (the run is advanced here): until the run pauses or ends. Without: what is stored, and what is added while
 * somebody advances the run.
 */
export async function* streamEvents(
  env: EngineEnvironment,
  runId: string,
  feed: RunFeed | undefined,
  graph: Graph,
  options: StreamOptions,
): AsyncGenerator<StreamEvent> {
  const queue = new EventQueue();
  const stop =
    feed === undefined || feed.isClosed ? undefined : feed.listen((event, error) => queue.push(event, error));
  try {
    let cursor = options.after ?? -1;
    for await (const event of storedEvents(env, runId, graph, cursor)) {
      cursor = event.seq;
      yield event;
    }
    if (stop === undefined) {
      yield* polledEvents(env, runId, graph, cursor);
      return;
    }
    for await (const event of queue) {
      if (event.type !== 'checkpoint') {
        if (options.live !== false) yield event;
      } else if (event.seq > cursor) {
        cursor = event.seq;
        yield event;
      }
    }
  } finally {
    stop?.();
  }
}

async function requireRun(env: EngineEnvironment, runId: string): Promise<RunRow> {
  const run = await env.store.readRun({ tenant: env.tenant, runId });
  if (run === undefined) throw new CairnError('RUN_NOT_FOUND', { runId });
  return run;
}

/** The stored events after a seq. If checkpoints there were pruned, first the state at the oldest one kept. */
async function* storedEvents(
  env: EngineEnvironment,
  runId: string,
  graph: Graph,
  after: number,
): AsyncGenerator<RunEvent | StateEvent> {
  const run = await requireRun(env, runId);
  let from = after + 1;
  if (from < run.prunedBelow) {
    const { root, seq } = await loadState(env.store, env.blobs, run, run.prunedBelow);
    const { state } = resultOf(runId, seq, root, restingFrame(root, graph));
    yield { type: 'state', runId, seq, checkpointId: checkpointId(run.key, seq), state };
    from = seq + 1;
  }
  for await (const { run: owner, checkpoint } of readHistory(env.store, run, { from, to: run.head })) {
    const { seq, at, change } = checkpoint;
    yield { type: 'checkpoint', runId, seq, checkpointId: checkpointId(owner.key, seq), at, change };
  }
}

async function* polledEvents(
  env: EngineEnvironment,
  runId: string,
  graph: Graph,
  after: number,
): AsyncGenerator<StreamEvent> {
  let cursor = after;
  for (;;) {
    const run = await requireRun(env, runId);
    for await (const event of storedEvents(env, runId, graph, cursor)) {
      cursor = event.seq;
      yield event;
    }
    if (run.status !== 'running' || run.claim === undefined) return;
    await new Promise<void>((resolve) => {
      env.clock.setTimer(env.limits.messagePollMs, resolve);
    });
  }
}

type QueuedEvent = RunEvent | LiveEvent;

/** Turns a listener's callbacks into an async iterable. */
class EventQueue {
  readonly #events: QueuedEvent[] = [];
  #isClosed = false;
  #error: unknown;
  #wake: (() => void) | undefined;

  push(event: QueuedEvent | undefined, error: unknown): void {
    if (event === undefined) {
      this.#isClosed = true;
      this.#error = error;
    } else this.#events.push(event);
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<QueuedEvent> {
    for (;;) {
      yield* this.#events.splice(0);
      if (this.#events.length > 0) continue;
      if (this.#error !== undefined) throw this.#error;
      if (this.#isClosed) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
