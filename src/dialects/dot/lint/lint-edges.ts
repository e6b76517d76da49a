/** Lint rules for edges: conditions are readable and can hold, labels differ, and every outcome has a way on. */
import type { Clause } from '../model/condition.ts';
import { normalLabel } from '../model/labels.ts';
import type { PipelineEdge } from '../model/pipeline.ts';
import { stageStatuses } from '../run/stage/stage-outcome.ts';
import type { Report } from './report.ts';

export function lintEdges(report: Report): void {
  for (const edge of report.pipeline.edges) lintCondition(report, edge);
  for (const [from, edges] of report.layout.outgoing) {
    const type = report.pipeline.stages.get(from)?.type;
    if (type === 'parallel') continue;
    lintLabels(report, from, edges);
    if (type !== 'wait.human') lintCoverage(report, from, edges);
  }
}

function lintCondition({ conditionOf, error, warn }: Report, edge: PipelineEdge): void {
  if (!edge.attributes.has('condition')) return;
  const { clauses, fault, offset } = { offset: 0, ...conditionOf(edge) };
  const at = edge.placeOf('condition');
  const where = `the condition of ${edge.from} -> ${edge.to}`;
  if (clauses === undefined) {
    error(
      'condition_syntax',
      at,
      `${where}, character ${offset + 1}: ${fault ?? ''}`,
      'write clauses such as outcome=success && context.key!=value',
    );
    return;
  }
  for (const { key, operator, value } of clauses) {
    if (key === 'outcome' && operator !== 'set' && !(stageStatuses as readonly string[]).includes(value))
      warn(
        'custom_outcome',
        at,
        `${where} compares the outcome with ${JSON.stringify(value)}, which no stage has`,
        `use one of ${stageStatuses.join(', ')}, or preferred_label`,
      );
    if (key !== 'outcome' && key !== 'preferred_label' && !key.startsWith('context.'))
      warn('condition_key', at, `${where} reads ${key} from the context`, `write context.${key}`);
  }
}

function lintLabels({ warn }: Report, from: string, edges: readonly PipelineEdge[]): void {
  const labels = new Map<string, string>();
  for (const edge of edges) {
    const { attributes, to } = edge;
    const label = normalLabel(attributes.text('label'));
    if (label === '' || attributes.text('condition') !== '') continue;
    const other = labels.get(label);
    if (other !== undefined && other !== to)
      warn(
        'label_conflict',
        edge.placeOf('label'),
        `${from} has two edges labelled ${JSON.stringify(label)}, to ${other} and to ${to}: one of them is never preferred`,
        'give them different labels',
      );
    labels.set(label, other ?? to);
  }
}

/** If every edge has a condition, some outcome may match none of them, and the run would fail there. */
function lintCoverage({ conditionOf, warn, pipeline }: Report, from: string, edges: readonly PipelineEdge[]): void {
  if (edges.some(({ attributes }) => !attributes.has('condition'))) return;
  const conditions = edges.map((edge) => conditionOf(edge).clauses ?? []);
  if (conditions.some((clauses) => clauses.length === 0)) return;
  const single = conditions.filter((clauses) => clauses.length === 1).map(([clause]) => clause as Clause);
  const denied = new Set(single.flatMap(({ key, operator, value }) => (operator === '!=' ? [`${key} ${value}`] : [])));
  const isOutcome = (status: string): boolean =>
    single.some(({ key, operator, value }) => key === 'outcome' && operator === '=' && value === status);
  if (single.some((clause) => clause.operator === '=' && denied.has(`${clause.key} ${clause.value}`))) return;
  if (isOutcome('success') && isOutcome('fail')) return;
  warn(
    'all_conditional_edges',
    pipeline.stages.get(from)?.at ?? 0,
    `every edge of ${from} has a condition, and some outcomes may fit none of them`,
    'add an edge without a condition',
  );
}
