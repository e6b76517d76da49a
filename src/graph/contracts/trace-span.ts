/** Spans that code reports to telemetry: operations with a duration within an attempt, modelled on OpenTelemetry (E10). */

/** Attributes of a span. Lists hold texts; their type is mutable because that of OpenTelemetry is. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | string[]>>;

/** Details of a span. */
export interface SpanParts {
  readonly attributes?: SpanAttributes;
  /**
   * Returns attributes with what people, models and tools said. Called only if the telemetry is configured to receive contents. Values
   * under names of secrets, and secrets that the run knows, are masked in the result.
   */
  readonly contents?: () => SpanAttributes;
}

/** A span that has started. If nobody ends it, it ends with its attempt. */
export interface TraceSpan {
  /** Starts a span inside this one. */
  trace(name: string, parts?: SpanParts): TraceSpan | undefined;
  /** Ends the span. @param parts.error - says that it failed: a code or name, never a message, which may hold contents */
  end(parts?: SpanParts & { readonly error?: string }): void;
}
