/** Tells a telemetry what becomes of a run while it is advanced here, from the same events that everybody can listen to. */
import type { Graph } from '../../graph/graph.ts';
import type { RunRow } from '../../ports/store.ts';
import type { Attributes, Span, Telemetry } from '../../ports/telemetry.ts';
import type { LiveEvent } from '../api.ts';
import type { RunFeed } from '../run/run-feed.ts';

/** @param parent - the W3C traceparent that the run's span belongs to */
export function traceRun(
  telemetry: Telemetry,
  feed: RunFeed,
  run: RunRow,
  graph: Graph,
  parent: string | undefined,
): void {
  const trace = new RunTrace(telemetry, { 'cairn.run.id': run.runId, 'cairn.graph.id': graph.id }, parent);
  feed.listen((event, error) => {
    if (event === undefined) trace.end(error);
    else if (event.type === 'checkpoint') trace.count('cairn.checkpoints');
    else trace.take(event);
  });
}

class RunTrace {
  readonly #telemetry: Telemetry;
  readonly #about: Attributes;
  readonly #run: Span | undefined;
  /** Open spans of attempts, by node path. */
  readonly #attempts = new Map<string, Span | undefined>();

  constructor(telemetry: Telemetry, about: Attributes, parent: string | undefined) {
    this.#telemetry = telemetry;
    this.#about = about;
    this.#run = this.#begin('cairn.run', about, parent);
  }

  count(name: string): void {
    const about = { 'cairn.graph.id': this.#about['cairn.graph.id'] ?? '' };
    quietly(() => this.#telemetry.count(name, 1, about));
  }

  /** An attempt lasts until it has settled or is put off to be tried again; one that waits, until the run rests. */
  take({ type, node, detail }: LiveEvent): void {
    const path = node.join('/');
    if (type === 'started') {
      this.#endAttempt(path, {});
      this.#attempts.set(path, this.#begin('cairn.attempt', { ...this.#about, 'cairn.node': path }, this.#run));
      this.count('cairn.attempts');
    } else if (type === 'settled') {
      const { status } = detail as { readonly status: string };
      this.#endAttempt(path, { 'cairn.status': status, ...(status === 'failed' && { error: 'failed' }) });
    } else if (type === 'retrying') {
      this.#endAttempt(path, { 'cairn.status': 'retrying', error: 'failed' });
      this.count('cairn.retries');
    } else if (type === 'waiting') this.count('cairn.waits');
  }

  end(error: unknown): void {
    for (const path of this.#attempts.keys()) this.#endAttempt(path, {});
    quietly(() => this.#run?.end(error === undefined ? {} : { error: error instanceof Error ? error.name : 'failed' }));
  }

  #begin(name: string, attributes: Attributes, parent: Span | string | undefined): Span | undefined {
    return quietly(() => this.#telemetry.startSpan(name, attributes, parent));
  }

  #endAttempt(path: string, attributes: Attributes): void {
    quietly(() => this.#attempts.get(path)?.end(attributes));
    this.#attempts.delete(path);
  }
}

/** A telemetry that fails is a telemetry that says nothing. */
function quietly<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
