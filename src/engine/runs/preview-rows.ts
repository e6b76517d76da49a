/** The rows of a preview: what a part of a change, or the graph, says of a visit (X5). */
import { hasAmounts } from '../../graph/amounts.ts';
import type { Graph, GraphNode } from '../../graph/graph.ts';
import type { ChangePart } from '../../history/stored/change.ts';
import type { Account, NodeRecord } from '../../state/tree.ts';
import type { Prediction, PreviewRow } from '../api.ts';
import { costOf } from '../record/account.ts';

/** What a record says that it cost, there and where it was taken over from. */
export function costShown(account: Account | undefined): Pick<PreviewRow, 'cost'> | undefined {
  const cost = account === undefined ? undefined : costOf(account);
  return hasAmounts(cost) ? { cost } : undefined;
}

/** What a part says of a visit that settles and has not run; undefined: it is no such part. */
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

/** Whether a question of the visit is open; undefined: it has asked nothing yet, as far as its record goes. */
export function isAsked(record: NodeRecord | undefined): boolean | undefined {
  const questions = Object.values(record?.steps ?? {}).filter(({ kind }) => kind === 'ask');
  // What was asked before a save is in the saved state.
  if (questions.length === 0 && record?.saves === undefined) return undefined;
  return questions.some(({ status }) => status !== 'done');
}

/** The nodes that edges lead to from any of some nodes, and from which. */
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
