/** Turns the changes in a fork that a checkpoint store made into patches for a fork of ours. */
import type { Patch } from '../../engine/api.ts';
import { viewState } from '../../history/read/state-view.ts';
import type { GraphState } from '../../ports/checkpoint-store.ts';
import type { RunTree } from '../../state/tree.ts';
import { plain } from './describe-checkpoint.ts';

const isKeyed = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** One patch for each value that differs from the run's, so that the fork runs with the state that the checkpoint store shows. */
export function patchesOf(root: RunTree, wanted: GraphState): readonly Patch[] {
  const { state } = viewState(root);
  return (['input', 'scratch', 'artifacts', 'diagnostics'] as const).flatMap((partition): readonly Patch[] => {
    const before = plain(state[partition]);
    const after = wanted[partition];
    if (isSame(before, after)) return [];
    if (partition === 'input' || !isKeyed(before) || !isKeyed(after)) return [{ path: [partition], value: after }];
    const removed = Object.keys(before).filter((key) => !Object.hasOwn(after, key));
    return [
      ...removed.map((key) => ({ path: [partition, key], value: undefined, isRemoved: true as const })),
      ...Object.entries(after)
        .filter(([key, value]) => !isSame(before[key], value))
        .map(([key, value]) => ({ path: [partition, key], value })),
    ];
  });
}
