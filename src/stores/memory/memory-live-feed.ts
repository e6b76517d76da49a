/** Live pieces of runs in this process. */
import type { LiveFeed, LivePiece } from '../../ports/live-feed.ts';
import type { RunKey } from '../../ports/store.ts';

export function createMemoryLiveFeed(): LiveFeed {
  const runs = new Map<string, Map<number, LivePiece>>();
  const nameOf = ({ tenant, runId }: RunKey): string => JSON.stringify([tenant, runId]);
  return {
    pollMs: 20,
    write: async (run, { remove = [], add = [] }) => {
      const name = nameOf(run);
      const pieces = remove === 'all' ? new Map<number, LivePiece>() : (runs.get(name) ?? new Map<number, LivePiece>());
      if (remove !== 'all') for (const n of remove) pieces.delete(n);
      for (const piece of add) pieces.set(piece.n, piece);
      if (pieces.size === 0) runs.delete(name);
      else runs.set(name, pieces);
    },
    read: async (run, after) => [...(runs.get(nameOf(run))?.values() ?? [])].filter(({ n }) => n > after),
  };
}
