/** The events that a run's listeners get: durable ones once and in order, with live ones in between. */
import { checkpointId } from '../../history/stored/checkpoint.ts';
import type { RunRow } from '../../ports/store.ts';
import type { SpanParts, TraceSpan } from '../../graph/contracts/trace-contract.ts';
import type { LiveEvent, RunEvent } from '../api.ts';
import { changeOf, type Landed } from './committer.ts';
import type { RunSecrets } from './run-secrets.ts';

type Listener = (event: RunEvent | LiveEvent | undefined, error?: unknown) => void;

/** Receives the spans that nodes' code starts. */
export interface RunTracer {
  /** Starts a span; undefined if the node has no traced attempt. */
  trace(node: readonly string[], name: string, parts: SpanParts, secrets: RunSecrets): TraceSpan | undefined;
}

/** One for each run being advanced. It is closed when that ends. */
export class RunFeed {
  readonly runId: string;
  isClosed = false;
  /** The engine's telemetry; undefined if there is none. */
  tracer: RunTracer | undefined;
  error: unknown;
  /** Set by the runner. Returns what is running now, which is reported to each new listener. */
  running: () => readonly LiveEvent[] = () => [];
  readonly #runKey: string;
  readonly #listeners = new Set<Listener>();

  constructor({ runId, key }: Pick<RunRow, 'runId' | 'key'>) {
    this.runId = runId;
    this.#runKey = key;
  }

  get isWatched(): boolean {
    return this.#listeners.size > 0;
  }

  publish(landed: Landed): void {
    if (this.#listeners.size === 0) return;
    const event: RunEvent = {
      type: 'checkpoint',
      runId: this.runId,
      seq: landed.seq,
      checkpointId: checkpointId(this.#runKey, landed.seq),
      at: landed.at,
      change: changeOf(landed),
    };
    for (const listener of this.#listeners) listener(event);
  }

  publishLive(event: LiveEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  close(error?: unknown): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.error = error;
    for (const listener of this.#listeners) listener(undefined, error);
  }

  /** Calls back for each event; `undefined` means that no more will come. @returns a function that stops listening */
  listen(listener: Listener): () => void {
    for (const event of this.running()) listener(event);
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
