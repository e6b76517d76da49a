/** What code tells a telemetry of what it does that takes time: spans within an attempt, after the model of OpenTelemetry (E10). */

/** Lists are texts, and mutable in type only, as OpenTelemetry has them. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | string[]>>;

/** What is told of a span. */
export interface SpanParts {
  readonly attributes?: SpanAttributes;
  /**
   * What says what people, models and tools said. It is called only for a telemetry that was set to be told contents; values under names
   * of secrets, and secrets that the run knows, are masked in it.
   */
  readonly contents?: () => SpanAttributes;
}

/** A span that was begun. One that nobody ends is ended with its attempt. */
export interface TraceSpan {
  /** Begins a span inside of this one. */
  trace(name: string, parts?: SpanParts): TraceSpan | undefined;
  /** @param parts.error - a code or a name: it did not end well. Never a message, which may hold contents. */
  end(parts?: SpanParts & { readonly error?: string }): void;
}
