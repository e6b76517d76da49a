/** What all lint rules get: the pipeline, its layout, and where they report findings. */
import type { Layout } from '../model/layout.ts';
import { parseCondition, type ParsedCondition } from '../model/edge-condition.ts';
import type { Pipeline, PipelineEdge } from '../model/pipeline.ts';
import type { DotFaults } from '../text/faults.ts';

export interface Report {
  readonly pipeline: Pipeline;
  readonly layout: Layout;
  /** Stage types that have a handler of the user's. */
  readonly handlers: ReadonlySet<string>;
  /** Parses the condition of an edge. Each different text is parsed once. */
  readonly conditionOf: (edge: PipelineEdge) => ParsedCondition;
  /** @param at - offset in the file */
  readonly error: (rule: string, at: number, message: string, fix: string) => void;
  readonly warn: (rule: string, at: number, message: string, fix: string) => void;
}

export function createReport(
  faults: DotFaults,
  pipeline: Pipeline,
  layout: Layout,
  handlers: ReadonlySet<string>,
): Report {
  const conditions = new Map<string, ParsedCondition>();
  return {
    pipeline,
    layout,
    handlers,
    conditionOf: ({ attributes }) => {
      const text = attributes.text('condition');
      const known = conditions.get(text);
      if (known !== undefined) return known;
      const parsed = parseCondition(text);
      conditions.set(text, parsed);
      return parsed;
    },
    error: (rule, at, message, fix) => faults.add(at, { rule, message, fix }),
    warn: (rule, at, message, fix) => faults.add(at, { rule, message, fix, severity: 'warning' }),
  };
}
