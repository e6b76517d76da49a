/** Reports to telemetry what happens to a run while it is advanced here, using the same events as other listeners. */
import { CairnError } from '../../errors.ts';
import type { SpanAttributes, SpanParts, TraceSpan } from '../../graph/contracts/trace-span.ts';
import type { Attributes, Span, SpanException, Telemetry } from '../../ports/telemetry.ts';
import { shown } from '../../state/secrecy/shown-text.ts';
import type { TextMask } from '../../state/secrecy/text-mask.ts';
import type { RunSecrets, RunFeed, RunTracer } from '../live-run/committer.ts';
import type { Graph } from '../../graph/graph.ts';
import type { Change } from '../../history/stored/change.ts';
import type { RunRow } from '../../ports/store.ts';
import type { LiveEvent } from '../api.ts';

// The spans of one attempt: its own, and those that its code starts. Spans still open when the attempt ends are ended with it.

/** Calls a telemetry and ignores its errors. */
function quietly<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}

class AttemptTrace {
  readonly span: Span | undefined;
  readonly #telemetry: Telemetry;
  readonly #about: Attributes;
  readonly #open = new Set<CodeSpan>();

  /** @param about - attributes of every span of the attempt */
  constructor(telemetry: Telemetry, about: Attributes, parent: Span | string | undefined) {
    this.#telemetry = telemetry;
    this.#about = about;
    this.span = quietly(() => telemetry.startSpan('cairn.attempt', about, parent));
  }

  end(attributes: Attributes, exception: SpanException | undefined): void {
    for (const open of this.#open) open.end();
    if (exception !== undefined) quietly(() => this.span?.recordException?.(exception));
    const why = exception === undefined ? {} : errorAttributes(exception);
    quietly(() => this.span?.end({ ...attributes, ...why }));
  }

  begin(name: string, parts: SpanParts, secrets: RunSecrets, parent: Span | undefined): TraceSpan | undefined {
    const span = quietly(() => {
      const attributes = this.spanAttributes(parts, secrets.mask);
      return this.#telemetry.startSpan(secrets.mask?.text(name) ?? name, { ...this.#about, ...attributes }, parent);
    });
    if (span === undefined) return undefined;
    const begun = new CodeSpan(this, span, secrets);
    this.#open.add(begun);
    return begun;
  }

  /** Closes a span. Returns false if it has ended already. */
  close(span: CodeSpan): boolean {
    return this.#open.delete(span);
  }

  spanAttributes({ attributes, contents }: SpanParts, mask: TextMask | undefined): Attributes {
    const contentAttributes =
      contents !== undefined && this.#telemetry.contents === true ? quietly(contents) : undefined;
    return masked({ ...attributes, ...(shown(contentAttributes) as SpanAttributes | undefined) }, mask);
  }
}

function masked(attributes: SpanAttributes, mask: TextMask | undefined): SpanAttributes {
  return mask === undefined ? attributes : (mask.all(attributes) as SpanAttributes);
}

function errorAttributes({ code, message }: Pick<SpanException, 'code' | 'message'>): {
  readonly 'error.type': string;
  readonly error: string;
} {
  return { 'error.type': code, error: message };
}

class CodeSpan implements TraceSpan {
  readonly #attempt: AttemptTrace;
  readonly #span: Span;
  readonly #secrets: RunSecrets;

  constructor(attempt: AttemptTrace, span: Span, secrets: RunSecrets) {
    this.#attempt = attempt;
    this.#span = span;
    this.#secrets = secrets;
  }

  trace(name: string, parts: SpanParts = {}): TraceSpan | undefined {
    return this.#attempt.begin(name, parts, this.#secrets, this.#span);
  }

  end({ error, ...parts }: SpanParts & { readonly error?: string } = {}): void {
    if (!this.#attempt.close(this)) return;
    quietly(() => {
      const attributes = this.#attempt.spanAttributes(parts, this.#secrets.mask);
      this.#span.end(error === undefined ? attributes : { ...attributes, 'error.type': error, error });
    });
  }
}

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
    else if (event.type === 'checkpoint') trace.takeChange(event.change);
    else trace.take(event);
  });
}

class RunTrace implements RunTracer {
  readonly #telemetry: Telemetry;
  readonly #about: Attributes;
  readonly #run: Span | undefined;
  /** Open attempts by node path. */
  readonly #attempts = new Map<string, AttemptTrace>();
  /** Why open attempts failed, by node path: told before they end. */
  readonly #exceptions = new Map<string, SpanException>();
  /** What the run fails by, by node path. */
  readonly #fatal = new Map<string, SpanException>();
  #hasFailed = false;

  constructor(telemetry: Telemetry, about: Attributes, parent: string | undefined) {
    this.#telemetry = telemetry;
    this.#about = about;
    this.#run = quietly(() => telemetry.startSpan('cairn.run', about, parent));
  }

  takeChange(change: Change): void {
    if (change.some((part) => part.kind === 'end' && part.status === 'failed')) this.#hasFailed = true;
  }

  /** Applies an event. An attempt lasts until it settles or is delayed for a retry. One that waits lasts until the run ends or pauses. */
  take({ type, node, detail }: LiveEvent): void {
    const path = node.join('/');
    if (type === 'started') {
      this.#endAttempt(path, {});
      this.#fatal.delete(path);
      const about = { ...this.#about, 'cairn.node': path };
      this.#attempts.set(path, new AttemptTrace(this.#telemetry, about, this.#spanAround(node)));
    } else if (type === 'settled') {
      const { status } = detail as { readonly status: string };
      this.#endAttempt(path, { 'cairn.status': status });
    } else if (type === 'retrying') this.#endAttempt(path, { 'cairn.status': 'retrying' });
  }

  end(error: unknown): void {
    for (const path of this.#attempts.keys()) this.#endAttempt(path, {});
    quietly(() => this.#run?.end(this.#endOfRun(error)));
  }

  /** @param error - why the run could not be advanced, which is no failure of the run */
  #endOfRun(error: unknown): Attributes & { readonly error?: string } {
    if (CairnError.is(error)) return errorAttributes(error);
    if (error !== undefined) return { error: error instanceof Error ? error.name : 'failed' };
    if (!this.#hasFailed) return {};
    const [fatal] = this.#fatal.values();
    return { 'cairn.status': 'failed', ...(fatal === undefined ? { error: 'failed' } : errorAttributes(fatal)) };
  }

  failed(node: readonly string[], exception: SpanException, isOfFrame: boolean): void {
    const path = node.join('/');
    if (this.#attempts.has(path)) this.#exceptions.set(path, exception);
    if (isOfFrame && node.length === 1) this.#fatal.set(path, exception);
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
    this.#attempts.get(path)?.end(attributes, this.#exceptions.get(path));
    this.#attempts.delete(path);
    this.#exceptions.delete(path);
  }
}
