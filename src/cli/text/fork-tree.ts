/** Runs as people look for them: each fork under the run that it was forked from. */
import type { ListedRun } from '../../operations/runs/list-runs.ts';

/** A run, and how many of its ancestors stand above it in the list. */
export interface PlacedRun {
  readonly run: ListedRun;
  readonly depth: number;
}

/** Runs keep their order; a fork whose parent is among them is moved below it, after that one's earlier forks. */
export function underParents(runs: readonly ListedRun[]): readonly PlacedRun[] {
  const listed = new Set(runs.map(({ runId }) => runId));
  const parentOf = ({ parent }: ListedRun): string | undefined =>
    parent !== undefined && listed.has(parent.runId) ? parent.runId : undefined;
  const forks = Map.groupBy(runs, parentOf);
  const placed: PlacedRun[] = [];
  const waiting: PlacedRun[] = (forks.get(undefined) ?? []).map((run) => ({ run, depth: 0 })).toReversed();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    placed.push(next);
    const depth = next.depth + 1;
    waiting.push(...(forks.get(next.run.runId) ?? []).map((run) => ({ run, depth })).toReversed());
  }
  return placed;
}
