/** The telemetry port: spans and counters, modelled on OpenTelemetry but independent of it. Without one, the engine reports nothing. */
import type { SpanAttributes } from '../graph/contracts/trace-span.ts';

export type Attributes = SpanAttributes;

/** What made a span fail, in the form that `recordException` of OpenTelemetry takes. Secrets that the run knows are masked. */
export interface SpanException {
  readonly name: string;
  readonly message: string;
  readonly code: string;
  /** Name and message, and the frames of the user's own code below them. */
  readonly stack: string;
}

/** An operation with a duration. */
export interface Span {
  /** What made an attempt fail; its span ends right after. Absent: the message of `end` is all that is told. */
  recordException?(exception: SpanException): void;
  /** Ends the span. `error` says that it failed, and why: the message of what an attempt or a run failed by, with secrets masked. */
  end(attributes?: Attributes & { readonly error?: string }): void;
}

/** Receives what the engine does. Calls must return at once. What they throw is ignored, because no run may fail for being watched. */
export interface Telemetry {
  /**
   * Starts a span.
   * @param parent - the span it belongs to, or a W3C `traceparent` from another process
   */
  startSpan(name: string, attributes: Attributes, parent: Span | string | undefined): Span;
  /** Adds to a counter. */
  count(name: string, by: number, attributes: Attributes): void;
  /**
   * Records one value of a distribution: `cairn.checkpoint.save` and `cairn.checkpoint.load`, in ms, how long a store took to make a
   * checkpoint durable, and to read the state of a run that is taken up; and by each worker, three times a lease, `cairn.backlog`, how many
   * runs are ready that it could take up, and `cairn.backlog.age`, in ms, for how long the oldest of them has been. Absent: nobody asks for
   * it, and nothing is measured.
   */
  measure?(name: string, value: number, attributes: Attributes): void;
  /**
   * W3C `traceparent` of the caller's current operation. It is recorded when a run is started or resumed, so that its trace continues in
   * other processes.
   */
  traceparent?(): string | undefined;
  /** Whether it gets contents, too: requests and answers of models, arguments and results of tools, with secrets masked. Default false. */
  readonly contents?: boolean;
}
