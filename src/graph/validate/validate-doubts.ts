/** Warns of effects in doubt that a person could confirm without giving the state updates that later decisions depend on (X3). */
import type { GraphDefinition, NodeDefinition } from '../graph.ts';
import { partitions } from '../contracts/node-contract.ts';
import { edgePlace } from '../shape/link-graph.ts';
import type { Report } from './violations.ts';

const channelRead = new RegExp(`\\b(?:state\\.)?(?:${partitions.join('|')})[.[]`);

/** Whether a person may be asked if the effect happened. */
function mayBeAsked({ effect, idempotent, implementation }: NodeDefinition): boolean {
  const isEffect = effect === 'write' || effect === 'external';
  return isEffect && idempotent !== true && implementation.reconcile === undefined;
}

/**
 * Reports edges whose condition reads such updates. Conditions written as functions are skipped, because what they read is known only when
 * they run.
 */
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
