/** Lint rules for edges: conditions are readable and can hold, labels differ, and every outcome has a way on. */
import { normalLabel, type PipelineEdge } from '../model/pipeline.ts';
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

function lintCondition({ conditionOf, error, warn, pipeline, layout }: Report, edge: PipelineEdge): void {
  const given = edge.attributes.given('condition');
  if (given === undefined) return;
  const parsed = conditionOf(edge);
  const at = given.valueAt ?? edge.at;
  if (parsed.clauses === undefined) {
    error(
      'condition_syntax',
      at,
      `${conditionNamed(edge)}, character ${parsed.offset + 1}: ${parsed.fault}`,
      'write clauses such as outcome=success && context.key!=value',
    );
    return;
  }
  for (const { key, operator, value } of parsed.clauses) {
    const isOwn = key === 'outcome' && operator !== 'set' && !(stageStatuses as readonly string[]).includes(value);
    if (isOwn && !hasGivers(pipeline, layout, edge.from))
      warn(
        'custom_outcome',
        at,
        `${conditionNamed(edge)} compares the outcome with ${JSON.stringify(value)}, which ${edge.from} never has`,
        `use one of ${stageStatuses.join(', ')}`,
      );
    if (key !== 'outcome' && key !== 'preferred_label' && !key.startsWith('context.'))
      warn('condition_key', at, `${conditionNamed(edge)} reads ${key} from the context`, `write context.${key}`);
  }
}

/** Types of stages whose ends follow from others, or from a person's choice: they have no outcomes of an author's own. */
const fixedTypes: readonly (string | undefined)[] = ['start', 'exit', 'parallel', 'parallel.fan_in', 'wait.human'];

/** Whether a stage, or one before it whose outcome a diamond passes on, can give an outcome of an author's own. */
function hasGivers({ stages }: Report['pipeline'], { incoming }: Report['layout'], id: string): boolean {
  const open = [id];
  const seen = new Set(open);
  for (const one of open) {
    const type = stages.get(one)?.type;
    if (type !== 'conditional' && !fixedTypes.includes(type)) return true;
    if (type !== 'conditional') continue;
    for (const { from } of incoming.get(one) ?? []) {
      if (seen.has(from)) continue;
      seen.add(from);
      open.push(from);
    }
  }
  return false;
}

const conditionNamed = ({ from, to }: PipelineEdge): string => `the condition of ${from} -> ${to}`;

function lintLabels({ warn }: Report, from: string, edges: readonly PipelineEdge[]): void {
  if (edges.length < 2) return;
  const open = edges.filter(({ attributes }) => attributes.text('condition') === '');
  if (open.length < 2) return;
  const labels = new Map<string, string>();
  for (const edge of open) {
    const { attributes, to } = edge;
    const label = normalLabel(attributes.text('label'));
    if (label === '') continue;
    const other = labels.get(label);
    if (other !== undefined && other !== to)
      warn(
        'label_conflict',
        edge.attributes.placeOf('label'),
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
  const single = conditions.flatMap((clauses) => (clauses.length === 1 ? clauses : []));
  const said = new Set(single.map(({ key, operator, value }) => `${key} ${operator} ${value}`));
  if (single.some(({ key, operator, value }) => operator === '=' && said.has(`${key} != ${value}`))) return;
  if (said.has('outcome = success') && said.has('outcome = fail')) return;
  warn(
    'all_conditional_edges',
    pipeline.stages.get(from)?.at ?? 0,
    `every edge of ${from} has a condition, and some outcomes may fit none of them`,
    'add an edge without a condition',
  );
}
