/** Runs as people look for them: each fork under the run that it was forked from. */
import type { ListedRun } from '../../operations/runs/list-runs.ts';

/** A run, and the lines that lead to it from its ancestors above it in the list; empty without any. */
export interface PlacedRun {
  readonly run: ListedRun;
  readonly lines: string;
}

/** Runs keep their order; a fork whose parent is among them is moved below it, after that one's earlier forks. */
export function underParents(runs: readonly ListedRun[]): readonly PlacedRun[] {
  const listed = new Set(runs.map(({ runId }) => runId));
  const parentOf = ({ parent }: ListedRun): string | undefined =>
    parent !== undefined && listed.has(parent.runId) ? parent.runId : undefined;
  const forks = Map.groupBy(runs, parentOf);
  const placed: PlacedRun[] = [];
  const waiting: PlacedRun[] = (forks.get(undefined) ?? []).map((run) => ({ run, lines: '' })).toReversed();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    placed.push(next);
    const before = next.lines.replace('├ ', '│ ').replace('└ ', '  ');
    const children = forks.get(next.run.runId) ?? [];
    const last = children.length - 1;
    waiting.push(
      ...children.map((run, index) => ({ run, lines: `${before}${index < last ? '├ ' : '└ '}` })).toReversed(),
    );
  }
  return placed;
}
