/** What the rules of the lint share: the pipeline, how it hangs together, and where findings go. */
import type { Layout } from '../model/layout.ts';
import { parseCondition, type ParsedCondition } from '../model/condition.ts';
import type { Pipeline, PipelineEdge } from '../model/pipeline.ts';
import type { DotFaults } from '../text/faults.ts';

export interface Report {
  readonly pipeline: Pipeline;
  readonly layout: Layout;
  /** Types of stages beside those of the language. */
  readonly handlers: ReadonlySet<string>;
  /** Each text is read once, however many edges have it. */
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
      const known = conditions.get(text) ?? parseCondition(text);
      conditions.set(text, known);
      return known;
    },
    error: (rule, at, message, fix) => faults.add(at, { rule, message, fix }),
    warn: (rule, at, message, fix) => faults.add(at, { rule, message, fix, severity: 'warning' }),
  };
}
