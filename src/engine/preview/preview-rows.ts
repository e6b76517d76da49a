/** Makes rows of a preview from parts of a change and from the graph (X5). */
import { hasAmounts } from '../../graph/amounts.ts';
import type { Graph, GraphNode } from '../../graph/graph.ts';
import type { ChangePart } from '../../history/stored/change.ts';
import type { Account, NodeRecord } from '../../state/tree.ts';
import type { Prediction, PreviewRow } from '../api.ts';
import { costOf } from '../record/account.ts';

/** The cost in a record, including what the record took over. */
export function costShown(account: Account | undefined): Pick<PreviewRow, 'cost'> | undefined {
  const cost = account === undefined ? undefined : costOf(account);
  return hasAmounts(cost) ? { cost } : undefined;
}

/** The row for a part about a visit that settles without running; undefined for other parts. */
export function rowOfPart(part: ChangePart): PreviewRow | undefined {
  const { kind, node = [], visit = 1, effect = 'pure', from, by, status, error } = part;
  const row = (prediction: Prediction, because: string): PreviewRow => ({
    node,
    visit,
    effect,
    prediction,
    because,
    ...costShown(part),
  });
  if (kind === 'replay' && from !== undefined)
    return row(part.effect === undefined ? 'reused' : 'replayed', `${from.runId}@${from.seq}`);
  if (kind !== 'settle') return undefined;
  if (status === 'failed') return row('fails', error?.code ?? '');
  if (status !== undefined) return undefined;
  if (by === undefined) return row('restored', 'kept when its reducer or condition failed');
  return row('restored', by === 'fork' ? 'set by the fork' : `decided by ${by}`);
}

/** Whether the visit has an open question; undefined if, as far as its record tells, it has asked nothing yet. */
export function isAsked(record: NodeRecord | undefined): boolean | undefined {
  const questions = Object.values(record?.steps ?? {}).filter(({ kind }) => kind === 'ask');
  // Questions asked before a save may be part of the saved state.
  if (questions.length === 0 && record?.saves === undefined) return undefined;
  return questions.some(({ status }) => status !== 'done');
}

/** The nodes that can be reached from some nodes, and from which of these. */
export function nodesBehind(graph: Graph, origins: Iterable<number>): ReadonlyMap<GraphNode, readonly string[]> {
  const deciding = new Map<GraphNode, string[]>();
  for (const origin of origins) {
    const queue = [origin];
    const seen = new Set<number>();
    for (let index = queue.pop(); index !== undefined; index = queue.pop()) {
      for (const { to } of graph.nodes[index]?.outgoing ?? []) {
        const target = graph.nodes[to];
        if (target === undefined || target.index < 2 || seen.has(to)) continue;
        seen.add(to);
        queue.push(to);
        deciding.set(target, [...(deciding.get(target) ?? []), graph.nodes[origin]?.id ?? '']);
      }
    }
  }
  return deciding;
}
