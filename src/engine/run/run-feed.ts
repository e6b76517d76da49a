/** What a run's watchers hear: durable events once and in order, live events between. */
import { checkpointId } from '../../history/stored/checkpoint.ts';
import type { RunRow } from '../../ports/store.ts';
import type { SpanParts, TraceSpan } from '../../graph/contracts/trace-contract.ts';
import type { LiveEvent, RunEvent } from '../api.ts';
import { changeOf, type Landed } from './committer.ts';
import type { RunSecrets } from './run-secrets.ts';

type Listener = (event: RunEvent | LiveEvent | undefined, error?: unknown) => void;

/** Who is told of the spans that the code of nodes begins. */
export interface RunTracer {
  /** Undefined: the node has no attempt that is told of. */
  trace(node: readonly string[], name: string, parts: SpanParts, secrets: RunSecrets): TraceSpan | undefined;
}

/** One per run that is advanced here; closed when that ends. */
export class RunFeed {
  readonly runId: string;
  isClosed = false;
  /** Of the engine's telemetry. Undefined: there is none. */
  tracer: RunTracer | undefined;
  error: unknown;
  /** Set by the runner: what runs now, told to each new listener, since it began before they came. */
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

  /** Calls back for each event; `undefined` says that no more will come here. Returns the way to stop. */
  listen(listener: Listener): () => void {
    for (const event of this.running()) listener(event);
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
