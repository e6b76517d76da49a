/** Removes what expired of graphs of a program, periodically while a worker of it lives (D21). */
import type { Engine } from '../engine/api.ts';
import type { RetentionSettings } from '../graph/retention.ts';

/** A graph, and which of its runs that ended are retained. */
interface RetainedGraph {
  readonly graph: { readonly id: string };
  readonly retention?: RetentionSettings;
}

/** How often, over all processes of a store. */
const everyMs = 3_600_000;

/**
 * Goes through the graphs at once and then every hour; of several processes one does it. Its timer does not keep the process alive.
 *
 * @param failed - told what went wrong, which touches no run
 * @returns ends it, after the batch under way
 */
export function retainGraphs(
  engine: Engine,
  graphs: readonly RetainedGraph[],
  failed: (error: unknown) => void,
): () => Promise<void> {
  const retained = graphs.flatMap(({ graph, retention }) => (retention === undefined ? [] : [{ ...graph, retention }]));
  if (retained.length === 0) return async () => {};
  const ending = new AbortController();
  const work = async (): Promise<void> => {
    const { readRetention } = await import('../graph/retention.ts');
    const { expireRuns } = await import('../history/retention/apply-retention.ts');
    const { store, tenant, clock } = engine.ports;
    const place = { store, tenant, now: () => clock.now(), isWorkerDead: () => undefined };
    for (const { id, retention } of retained) {
      // Under another name each time: whoever did it last does not keep it.
      const isMine = await store.removals?.takeDuty(`retention ${tenant} ${id}`, crypto.randomUUID(), everyMs);
      if (isMine === false) continue;
      for await (const _ of expireRuns(place, id, readRetention(retention))) if (ending.signal.aborted) return;
    }
  };
  let working = work().catch(failed);
  const timer = setInterval(() => {
    working = working.then(work).catch(failed);
  }, everyMs);
  timer.unref();
  return async () => {
    ending.abort();
    clearInterval(timer);
    await working;
  };
}
