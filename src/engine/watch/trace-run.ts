/** Reports to telemetry what happens to a run while it is advanced here, using the same events as other listeners. */
import type { Graph } from '../../graph/graph.ts';
import type { RunRow } from '../../ports/store.ts';
import type { SpanParts, TraceSpan } from '../../graph/contracts/trace-contract.ts';
import type { Attributes, Span, Telemetry } from '../../ports/telemetry.ts';
import type { LiveEvent } from '../api.ts';
import type { RunFeed, RunTracer } from '../run/run-feed.ts';
import type { RunSecrets } from '../run/run-secrets.ts';
import { AttemptTrace, quietly } from './attempt-trace.ts';

/** @param parent - W3C traceparent of the span that contains the run's span */
export function traceRun(
  telemetry: Telemetry,
  feed: RunFeed,
  run: RunRow,
  graph: Graph,
  parent: string | undefined,
): void {
  const trace = new RunTrace(telemetry, { 'cairn.run.id': run.runId, 'cairn.graph.id': graph.id }, parent);
  feed.tracer = trace;
  feed.listen((event, error) => {
    if (event === undefined) trace.end(error);
    else if (event.type === 'checkpoint') trace.count('cairn.checkpoints');
    else trace.take(event);
  });
}

class RunTrace implements RunTracer {
  readonly #telemetry: Telemetry;
  readonly #about: Attributes;
  readonly #run: Span | undefined;
  /** Open attempts by node path. */
  readonly #attempts = new Map<string, AttemptTrace>();

  constructor(telemetry: Telemetry, about: Attributes, parent: string | undefined) {
    this.#telemetry = telemetry;
    this.#about = about;
    this.#run = quietly(() => telemetry.startSpan('cairn.run', about, parent));
  }

  count(name: string): void {
    const about = { 'cairn.graph.id': this.#about['cairn.graph.id'] ?? '' };
    quietly(() => this.#telemetry.count(name, 1, about));
  }

  /** Applies an event. An attempt lasts until it settles or is delayed for a retry. One that waits lasts until the run ends or pauses. */
  take({ type, node, detail }: LiveEvent): void {
    const path = node.join('/');
    if (type === 'started') {
      this.#endAttempt(path, {});
      const about = { ...this.#about, 'cairn.node': path };
      this.#attempts.set(path, new AttemptTrace(this.#telemetry, about, this.#spanAround(node)));
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

  trace(node: readonly string[], name: string, parts: SpanParts, secrets: RunSecrets): TraceSpan | undefined {
    const attempt = this.#attempts.get(node.join('/'));
    return attempt?.begin(name, parts, secrets, attempt.span);
  }

  /** The span around a node: that of the attempt whose child run it is in, or the run's own. */
  #spanAround(node: readonly string[]): Span | undefined {
    for (let length = node.length - 1; length > 0; length -= 1) {
      const around = this.#attempts.get(node.slice(0, length).join('/'));
      if (around !== undefined) return around.span;
    }
    return this.#run;
  }

  #endAttempt(path: string, attributes: Attributes): void {
    this.#attempts.get(path)?.end(attributes);
    this.#attempts.delete(path);
  }
}
