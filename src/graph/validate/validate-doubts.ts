/** Warns where an effect in doubt may be answered without the updates that decide what follows it (X3). */
import type { GraphDefinition, NodeDefinition } from '../graph.ts';
import { partitions } from '../contracts/node-contract.ts';
import { edgePlace } from '../shape/link-graph.ts';
import type { Report } from './violations.ts';

const channelRead = new RegExp(`\\b(?:state\\.)?(?:${partitions.join('|')})[.[]`);

/** Whether a person is asked, when it is not known whether it happened. */
function mayBeAsked({ effect, idempotent, implementation }: NodeDefinition): boolean {
  const isEffect = effect === 'write' || effect === 'external';
  return isEffect && idempotent !== true && implementation.reconcile === undefined;
}

/** Conditions of code are not looked at: what they read is known when they run. */
export function validateDoubts(report: Report, { nodes, edges }: GraphDefinition): void {
  if (!Array.isArray(nodes) || !Array.isArray(edges)) return;
  const asked = new Set(nodes.filter(mayBeAsked).map(({ id }) => id));
  for (const edge of edges) {
    const text = edge.condition?.text;
    if (!asked.has(edge.from) || text === undefined || !channelRead.test(text)) continue;
    report.warn(
      'X3',
      edgePlace(edge),
      `its condition reads the state after ${edge.from}; a person who says that ${edge.from} happened must give its updates, or the run goes the other way`,
      'give the node a `reconcile` that returns an outcome, or let the condition read its output',
    );
  }
}
