/** Checks each edge, by itself and among the edges of the same source (G3, G5, G9). */
import { type Choice, type EdgeDefinition, type GraphDefinition, END, START } from '../graph.ts';
import { edgePlace } from '../shape/link-graph.ts';
import { type Report, checkFields, checkOneOf } from './violations.ts';

const edgeFields = ['from', 'to', 'on', 'condition', 'choice', 'label', 'weight', 'always', 'place'];

function checkEnds(report: Report, edge: EdgeDefinition, ids: ReadonlySet<string>): void {
  const place = edgePlace(edge);
  for (const id of edge.from === edge.to ? [edge.from] : [edge.from, edge.to]) {
    if (!ids.has(id))
      report.error('G1', place, `unknown node ${JSON.stringify(id)}`, 'add the node, or correct the edge');
  }
  if (edge.to === START)
    report.error('G1', place, 'an edge into START', 'lead it to the node that is meant; START is only left');
  if (edge.from === END) report.error('G1', place, 'an edge out of END', 'start it at another node; END is a sink');
}

function checkRouting(report: Report, edge: EdgeDefinition): void {
  const place = edgePlace(edge);
  checkOneOf(report, 'G8', place, 'on', edge.on, ['completed', 'failed', 'any']);
  if (edge.weight !== undefined && !Number.isFinite(edge.weight)) {
    report.error('G5', place, `weight is ${String(edge.weight)}`, 'give a finite number');
  }
  if (edge.condition !== undefined && edge.choice !== undefined) {
    report.error('G5', place, 'a condition and a choice on one edge', 'keep one of the two');
  }
  if (edge.choice !== undefined && edge.label === '') {
    report.error('G5', place, 'an edge of a choice without a label', 'give it the label that the choice returns');
  }
  const isConditional = edge.condition !== undefined || edge.choice !== undefined;
  if (edge.always === true && (isConditional || (edge.on !== undefined && edge.on !== 'any'))) {
    report.error(
      'G9',
      place,
      'always on an edge with a condition',
      'an always edge fires however its source settled: keep one of the two',
    );
  }
  if (edge.from === START && edge.on === 'failed') {
    report.error('G9', place, 'an edge for the failure of START, which never fails', 'remove the edge or its `on`');
  }
}

/** Checks that each label of a choice stands for one edge, because a choice names edges by label. */
function checkLabels(report: Report, edges: readonly EdgeDefinition[]): void {
  const bySource = new Map<string, Map<Choice, Set<string>>>();
  for (const edge of edges) {
    if (edge.choice === undefined) continue;
    const choices = bySource.get(edge.from) ?? new Map<Choice, Set<string>>();
    bySource.set(edge.from, choices);
    const labels = choices.get(edge.choice) ?? new Set<string>();
    choices.set(edge.choice, labels);
    const label = edge.label ?? edge.to;
    if (labels.has(label)) {
      const message = `a second edge labelled ${JSON.stringify(label)} of the same choice`;
      report.error('G5', edgePlace(edge), message, 'give each edge of a choice a label of its own');
    }
    labels.add(label);
  }
}

/** Checks every edge. */
export function validateEdges(report: Report, definition: GraphDefinition): void {
  const ids = new Set([START, END, ...definition.nodes.map((node) => node.id)]);
  for (const edge of definition.edges) {
    checkFields(report, edgePlace(edge), edge, edgeFields);
    checkEnds(report, edge, ids);
    checkRouting(report, edge);
  }
  checkLabels(report, definition.edges);
}
