/** Holds what a preview said of a fork against what the fork then did (X5). */
import type { CheckpointRef, Engine, PreviewRow } from '../../src/engine/api.ts';
import type { Graph } from '../../src/graph/graph.ts';

/** What became of each visit: taken over or run, by the first part of the history that tells. */
export async function outcomesAfter(
  engine: Engine,
  graph: Graph,
  { runId, seq }: CheckpointRef,
): Promise<ReadonlyMap<string, string>> {
  const outcomes = new Map<string, string>();
  // Events need the graph of the run; the engine of a trial has no way to find it.
  const handle = await engine.resume(runId, { graph, retryFailed: false });
  await handle.result();
  for await (const event of handle.events({ after: seq, live: false })) {
    if (event.type !== 'checkpoint') continue;
    for (const part of event.change) {
      if (part.node === undefined || part.node.length !== 1 || ['skipped', 'cancelled'].includes(part.status ?? ''))
        continue;
      const told =
        part.kind === 'replay' || part.by === 'fork'
          ? 'taken over'
          : ['settle', 'intent', 'retry', 'wait', 'step'].includes(part.kind)
            ? 'run'
            : undefined;
      const place = `${part.node[0]}`;
      if (told !== undefined && !outcomes.has(place)) outcomes.set(place, told);
    }
  }
  return outcomes;
}

/** A failure that nothing handled stops what would have come, so of a failed run only what did come is compared. */
export function findPreviewFaults(
  rows: readonly PreviewRow[],
  outcomes: ReadonlyMap<string, string>,
  isFailed: boolean,
): readonly string[] {
  const faults: string[] = [];
  const seen = new Set<string>();
  for (const row of rows) {
    const place = row.node.join('/');
    const isSet = row.because === 'set by the fork';
    if ((row.prediction === 'restored' && !isSet) || row.prediction === 'unknown' || seen.has(place)) continue;
    seen.add(place);
    const expected = isSet || row.prediction === 'replayed' || row.prediction === 'reused' ? 'taken over' : 'run';
    const found = outcomes.get(place);
    if (found !== undefined && found !== expected)
      faults.push(`${place} was predicted ${row.prediction}, and was ${found}`);
    if (found === undefined && expected === 'taken over' && !isFailed)
      faults.push(`${place} was predicted ${row.prediction}, and nothing became of it`);
  }
  const told = new Set(rows.map((row) => row.node.join('/')));
  for (const place of outcomes.keys()) if (!told.has(place)) faults.push(`${place} was not predicted`);
  return faults;
}
