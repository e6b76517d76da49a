/** The telemetry port: spans and counters, after the model of OpenTelemetry, and nothing of it. An engine without one tells nothing. */
import type { SpanAttributes } from '../graph/contracts/trace-contract.ts';

export type Attributes = SpanAttributes;

/** Something that takes time. */
export interface Span {
  /** Ends it. `error`: it did not end well. */
  end(attributes?: Attributes & { readonly error?: string }): void;
}

/** Where the engine tells what it does. Calls return at once; what they throw is dropped, since no run may fail of being watched. */
export interface Telemetry {
  /** @param parent - the span it belongs to, or a W3C `traceparent` from another process */
  startSpan(name: string, attributes: Attributes, parent: Span | string | undefined): Span;
  /** Adds to a counter. */
  count(name: string, by: number, attributes: Attributes): void;
  /** W3C `traceparent` of whatever the caller is doing now: recorded when a run is started or resumed, so that its trace goes on in other processes. */
  traceparent?(): string | undefined;
  /** Whether it is told contents, too: what models are asked and answer, arguments and results of tools, with secrets masked. Default false. */
  readonly contents?: boolean;
}
