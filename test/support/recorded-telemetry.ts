/** A telemetry that keeps what it is told. */
import type { Attributes, Span, SpanException, Telemetry } from '../../src/ports/telemetry.ts';

export interface RecordedSpan extends Span {
  readonly name: string;
  readonly attributes: Attributes;
  readonly parent: Span | string | undefined;
  readonly exceptions: readonly SpanException[];
  /** What it ended with; undefined: it is open. */
  ended: Attributes | undefined;
}

export interface RecordedTelemetry {
  readonly telemetry: Telemetry;
  readonly spans: readonly RecordedSpan[];
  readonly counts: Readonly<Record<string, number>>;
  /** Names of the spans, indented under those that they belong to; `!`: it ended with an error. */
  readonly tree: () => readonly string[];
}

export function recordTelemetry(more: Partial<Telemetry> = {}): RecordedTelemetry {
  const spans: RecordedSpan[] = [];
  const counts: Record<string, number> = {};
  const telemetry: Telemetry = {
    startSpan: (name, attributes, parent) => {
      const exceptions: SpanException[] = [];
      const span: RecordedSpan = {
        name,
        attributes,
        parent,
        exceptions,
        ended: undefined,
        recordException: (exception) => void exceptions.push(exception),
        end: (last = {}) => void (span.ended = last),
      };
      spans.push(span);
      return span;
    },
    count: (name, by) => void (counts[name] = (counts[name] ?? 0) + by),
    ...more,
  };
  const under = (parent: RecordedSpan | undefined, depth: number): readonly string[] =>
    spans
      .filter((span) => (typeof span.parent === 'object' ? span.parent : undefined) === parent)
      .flatMap((span) => {
        const { name, ended } = span;
        const state = ended === undefined ? ' (open)' : 'error' in ended ? '!' : '';
        return [`${'  '.repeat(depth)}${name}${state}`, ...under(span, depth + 1)];
      });
  return { telemetry, spans, counts, tree: () => under(undefined, 0) };
}
