/** The operations `lint` and `fmt`: report everything about a workflow's text, and print a pipeline in canonical format. Nothing is run. */
import { lintVerdicts } from '../../dialects/dot/lint/lint-pipeline.ts';
import { dialectOf } from '../../dialects/text-workflow.ts';
import { CairnError } from '../../errors.ts';
import type { Graph, Violation } from '../../graph/graph.ts';
import { knownLimit, knownLimits } from '../../graph/limit.ts';
import { lintGraph } from '../../graph/lint/lint-graph.ts';
import { nearest } from '../../graph/nearest.ts';
import { exportField } from '../contract/fields.ts';
import type { FieldsOf, Operation, WorkContext } from '../contract/operation.ts';
import { definition, flag, listOf, objectOf, violation } from '../contract/output-shapes.ts';

interface LintWorkflowInput {
  /** Of a pipeline or a YAML workflow. Default: `source` is a module that exports a graph. */
  readonly text?: string;
  /** The module, or what the text is called in places of faults. */
  readonly source: string;
  /** Of a module that has several graphs. */
  readonly export?: string;
}

interface FormatWorkflowInput {
  readonly text: string;
  /** Stands in places of faults. */
  readonly source: string;
}

interface LintWorkflowOutput {
  /** Whether there are no errors; there may be warnings. */
  readonly isValid: boolean;
  readonly violations: readonly Violation[];
}

const fields: FieldsOf<FormatWorkflowInput> = {
  text: { type: 'text', description: 'the workflow', isRequired: true },
  source: { type: 'text', description: 'its name in messages', isRequired: true },
};

export const lintWorkflow: Operation<LintWorkflowInput, LintWorkflowOutput, WorkContext> = {
  name: 'lint_workflow',
  command: 'lint',
  summary: 'say all that is wrong with a workflow, or odd about it',
  input: {
    source: fields.source,
    text: { type: 'text', description: 'the workflow; default: source is a module that exports a graph' },
    export: exportField,
  },
  output: 'its faults, each with severity, place and fix',
  outputSchema: objectOf({ isValid: flag, violations: listOf(violation) }),
  isReadOnly: true,
  scope: 'read',
  /** @throws GRAPH_PARSE the module cannot be loaded, or exports no graph */
  async run(context, { text, source, export: exportName }) {
    const violations =
      text === undefined ? await lintModule(context, source, exportName) : await lintText(context, text, source);
    return { isValid: violations.every(({ severity }) => severity !== 'error'), violations };
  },
};

async function lintText(context: WorkContext, text: string, source: string): Promise<readonly Violation[]> {
  const { workflow, violations } = (await context.openWorkflows()).check(text, source);
  if (workflow === undefined) return violations;
  // A pipeline has rules of its own, which say all of it in its own words.
  if (dialectOf(workflow.graph.text ?? '') === 'dot')
    return [...violations, ...lintVerdicts(workflow.graph), ...lintLimits(workflow.graph)];
  return [...violations, ...lintGraph(workflow.graph), ...lintLimits(workflow.graph)];
}

/** The limits that a text names and that nothing defines here. A node under one would fail when its turn comes. */
function lintLimits({ id, nodes, policies }: Graph): readonly Violation[] {
  const named = [
    { place: `graph ${id}`, limit: policies.limit },
    ...nodes.map((node) => ({ place: `node ${node.id}`, limit: node.limit })),
  ];
  return named.flatMap(({ place, limit }) =>
    [limit ?? []].flat().flatMap((ref): readonly Violation[] => {
      if (typeof ref !== 'string' || knownLimit(ref) !== undefined) return [];
      const guess = nearest(ref, knownLimits());
      const fix = `${guess === undefined ? '' : `did you mean ${guess}? `}define it under \`limits\` in the configuration, or in code that every worker loads`;
      return [{ rule: 'limit_unknown', severity: 'warning', place, message: `no limit ${ref} is defined here`, fix }];
    }),
  );
}

async function lintModule(
  { loadGraph }: WorkContext,
  source: string,
  exportName: string | undefined,
): Promise<readonly Violation[]> {
  try {
    const { graph } = await loadGraph(source, exportName);
    return [...graph.warnings, ...lintGraph(graph)];
  } catch (error) {
    const violations = CairnError.is(error, 'GRAPH_INVALID') ? error.data['violations'] : undefined;
    if (!Array.isArray(violations)) throw error;
    return violations as readonly Violation[];
  }
}

export const formatWorkflow: Operation<FormatWorkflowInput, { readonly text: string }, WorkContext> = {
  name: 'format_workflow',
  command: 'fmt',
  summary: 'write a pipeline in its canonical form',
  input: fields,
  output: 'the text',
  outputSchema: objectOf({ text: definition }),
  isReadOnly: true,
  scope: 'read',
  /** @throws GRAPH_PARSE, USAGE_INVALID */
  async run(context, { text, source }) {
    return { text: (await context.openWorkflows()).format(text, source) };
  },
};
