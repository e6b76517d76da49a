/** Lint rules for edges: conditions are readable and can hold, labels differ, and every outcome has a way on. */
import { habitOfOutcome, readElsewhere } from '../model/other-engines.ts';
import { alongEdges, reach } from '../model/layout.ts';
import { normalLabel } from '../model/edge-label.ts';
import type { Clause } from '../model/edge-condition.ts';
import type { PipelineEdge } from '../model/pipeline.ts';
import { chooseEdge, wayLabel } from '../run/stage/choose-edge.ts';
import { isStatus, stageStatuses } from '../run/stage/stage-outcome.ts';
import type { Report } from './report.ts';

export function lintEdges(report: Report): void {
  for (const edge of report.pipeline.edges) lintCondition(report, edge);
  for (const [from, edges] of report.layout.outgoing) {
    const type = report.pipeline.stages.get(from)?.type;
    if (type === 'parallel') continue;
    lintLabels(report, from, edges);
    if (type !== 'wait.human') lintCoverage(report, from, edges);
  }
  lintSuccess(report);
}

/** The way of a run in which every stage succeeds and says nothing else, as far as the file alone decides it: does it go round for ever? */
function lintSuccess(report: Report): void {
  const { layout, warn } = report;
  const way: string[] = [];
  const seen = new Set<string>();
  let id = layout.start?.id;
  for (; id !== undefined && !seen.has(id); id = afterSuccess(report, id)) {
    seen.add(id);
    way.push(id);
  }
  const { exit, outgoing } = layout;
  // Where no way leads to the exit at all, that is reported instead.
  if (id === undefined || exit === undefined || seen.has(exit.id)) return;
  if (!reach([id], alongEdges(outgoing)).has(exit.id)) return;
  const circle = new Set(way.slice(way.indexOf(id)));
  const hasOwnEnd = [...circle].some((stage) =>
    (outgoing.get(stage) ?? []).some(
      (edge) => !circle.has(edge.to) && clausesOf(report, edge).some((clause) => isOwnOutcome(clause)),
    ),
  );
  if (hasOwnEnd) return;
  warn(
    'endless_success',
    report.pipeline.stages.get(id)?.at ?? 0,
    `a run in which every stage succeeds never ends: ${formatWay([...circle, id])}`,
    'lead a success to the exit, or let a stage end the loop by an outcome or a label of its own',
  );
}

/** The stage after one that succeeded. Undefined if the file alone does not decide it: a person, a label or the context does. */
function afterSuccess(report: Report, id: string): string | undefined {
  const { layout, pipeline } = report;
  const branches = layout.branches.get(id);
  if (branches !== undefined) return branches.join;
  const edges = layout.outgoing.get(id) ?? [];
  const conditions = edges.map((edge) => clausesOf(report, edge));
  const isChosen =
    pipeline.stages.get(id)?.type === 'wait.human' ||
    conditions.flat().some(({ key }) => key !== 'outcome') ||
    edges.filter(({ attributes }, at) => conditions[at]?.length === 0 && attributes.text('label') !== '').length > 1;
  if (isChosen) return undefined;
  const ways = edges.map((edge, at) => ({
    label: wayLabel(edge.index),
    to: edge.to,
    caption: '',
    clauses: conditions[at] ?? [],
    weight: edge.attributes.integer('weight') ?? 0,
    takesFailures: false,
  }));
  return chooseEdge({ edges: ways, isChosen: false }, { outcome: 'success' }, () => '')?.to;
}

const clausesOf = ({ conditionOf }: Report, edge: PipelineEdge): readonly Clause[] => conditionOf(edge).clauses ?? [];

/** A circle as a message shows it: the beginning of a long one. */
function formatWay(way: readonly string[]): string {
  return way.length <= 10 ? way.join(' -> ') : `${way.slice(0, 10).join(' -> ')} -> … (${way.length - 1} stages)`;
}

/** Whether a condition asks for an outcome that is no word of the language. */
function isOwnOutcome({ key, operator, value }: Clause): boolean {
  return key === 'outcome' && operator !== 'set' && !isStatus(value);
}

function lintCondition({ conditionOf, error, warn, pipeline, layout }: Report, edge: PipelineEdge): void {
  const attribute = edge.attributes.find('condition');
  if (attribute === undefined) return;
  const parsed = conditionOf(edge);
  const at = attribute.valueAt ?? edge.at;
  if (parsed.clauses === undefined) {
    error(
      'condition_syntax',
      at,
      `${conditionNamed(edge)}, character ${parsed.offset + 1}: ${parsed.fault}`,
      'write clauses such as outcome=success && context.key!=value',
    );
    return;
  }
  for (const clause of parsed.clauses) {
    const { key, value } = clause;
    if (isOwnOutcome(clause) && habitOfOutcome(value) === undefined && !hasGivers(pipeline, layout, edge.from))
      warn(
        'custom_outcome',
        at,
        `${conditionNamed(edge)} compares the outcome with ${JSON.stringify(value)}, which ${edge.from} never has`,
        `use one of ${stageStatuses.join(', ')}`,
      );
    const elsewhere = key === 'outcome' ? habitOfOutcome(value) : undefined;
    if (elsewhere !== undefined)
      warn(
        'custom_outcome',
        at,
        `${conditionNamed(edge)}: ${readElsewhere(elsewhere)}; here ${value} is an outcome of your own, which a stage must give`,
        `write ${elsewhere.write}`,
      );
    if (key !== 'outcome' && key !== 'preferred_label' && !key.startsWith('context.'))
      warn('condition_key', at, `${conditionNamed(edge)} reads ${key} from the context`, `write context.${key}`);
  }
}

/** Types of stages whose ends follow from others, or from a person's choice: they have no outcomes of an author's own. */
const fixedTypes: readonly (string | undefined)[] = ['start', 'exit', 'parallel', 'parallel.fan_in', 'wait.human'];

/** Most stages that are looked at for one edge. Beyond this some stage is assumed to give the outcome. */
const giversMax = 100;

/** Whether a stage, or one before it whose outcome a diamond passes on, can give an outcome of an author's own. */
function hasGivers({ stages }: Report['pipeline'], { incoming }: Report['layout'], id: string): boolean {
  // The set grows during the loop.
  const givers = new Set([id]);
  for (const giver of givers) {
    const type = stages.get(giver)?.type;
    if (type !== 'conditional' && !fixedTypes.includes(type)) return true;
    if (givers.size > giversMax) return true;
    if (type === 'conditional') for (const { from } of incoming.get(giver) ?? []) givers.add(from);
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
  const clausesSeen = new Set(single.map(({ key, operator, value }) => `${key} ${operator} ${value}`));
  if (single.some(({ key, operator, value }) => operator === '=' && clausesSeen.has(`${key} != ${value}`))) return;
  if (clausesSeen.has('outcome = success') && clausesSeen.has('outcome = fail')) return;
  warn(
    'all_conditional_edges',
    pipeline.stages.get(from)?.at ?? 0,
    `every edge of ${from} has a condition, and some outcomes may fit none of them`,
    'add an edge without a condition',
  );
}
