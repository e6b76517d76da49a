/** How much of a run's state a fork must consider. If it is nothing, a fork costs only as much as its patch (H2). */
import type { RunTree } from '../../state/tree.ts';

/** Counts open waits, and whether there are failures, patches, or supplied outcomes that were not used yet. */
export function pendingOf(root: RunTree): number {
  let count = 0;
  for (const _ in root.waits) count += 1;
  if (root.failures !== undefined) count += 1;
  if (root.patched !== undefined) count += 1;
  if (root.supplied !== undefined) count += 1;
  return count;
}
