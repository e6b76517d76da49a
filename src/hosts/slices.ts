/** What all hosts share: the graphs that they serve, how long a slice of a run is, and the sweep that repairs lost wake-ups (HO2, HO6). */
import { invalidOption } from '../graph/known-keys.ts';
import type { AdvanceResult, Engine } from '../engine/api.ts';
import { CairnError } from '../errors.ts';
import type { Graph } from '../graph/graph.ts';

/** The part of a compiled graph that a host needs. */
export interface HostedGraph {
  readonly graph: Graph;
  readonly engine: Engine;
}

/** The graphs of a host, which have one engine. */
export interface Hosted {
  readonly engine: Engine;
  /** Ids of the graphs. */
  readonly ids: readonly string[];
  /** The longest that an effect which has begun may take until it is recorded, in ms. */
  readonly longestMs: number;
}

/** Time reserved for reading a run before its slice, and for releasing it after it. */
export const slackMs = 1_000;

/**
 * @param maxMs - how long one call may take, in ms; undefined: as long as it likes
 * @throws CONFIG_INVALID no graph, or graphs of several engines; HOST_TOO_SHORT a node may take longer than `maxMs`
 */
export function serve(graphs: readonly HostedGraph[], maxMs: number = Infinity): Hosted {
  const [first] = graphs;
  if (first === undefined) throw invalidOption('graphs', 'a host needs a compiled graph');
  const { engine } = first;
  if (graphs.some((each) => each.engine !== engine))
    throw invalidOption('graphs', 'they have several engines: share one with compile({ engine: first.engine })');
  if (!(maxMs > slackMs)) throw invalidOption('maxMs', `it is a number above ${slackMs}`);
  let longestMs = 0;
  for (const { graph } of graphs)
    for (const node of graph.nodes) {
      const neededMs = deadlineMs(node, engine);
      if (neededMs + slackMs > maxMs) throw new CairnError('HOST_TOO_SHORT', { node: node.id, neededMs, maxMs });
      longestMs = Math.max(longestMs, neededMs);
    }
  return { engine, ids: graphs.map(({ graph }) => graph.id), longestMs };
}

/** How long an attempt of a node may take; 0 if it has no deadline and is no effect. */
function deadlineMs({ effect, timeoutMs }: Graph['nodes'][number], { ports: { bounds } }: Engine): number {
  const isActing = effect === 'write' || effect === 'external';
  const limitMs = timeoutMs ?? (isActing ? bounds.effectMs : 0);
  return limitMs === 0 ? 0 : limitMs + bounds.cancelGraceMs;
}

/** When a run is to be advanced again, in ms from now: 0 is at once; undefined, when a message comes, or never (HO8). */
export function nextSliceMs(result: AdvanceResult, now: number): number | undefined {
  if (result.status === 'running' || result.status === 'cancelling') return 0;
  const at = result.status === 'paused' ? result.dueAt : result.status === 'held' ? result.until : undefined;
  return at === undefined ? undefined : Math.max(0, at - now);
}

/** Runs that a sweep takes up at once, and the most that it looks at. */
const sweepWidth = 8;
const sweepMost = 100;

/** Does something for each run that can go on and that nobody advances, some at a time. @param work - resolves to false to end the sweep */
export async function sweepRuns({ engine, ids }: Hosted, work: (runId: string) => Promise<boolean>): Promise<void> {
  const waiting = [...(await engine.listClaimable({ limit: sweepMost, graphs: ids }))];
  const one = async (): Promise<void> => {
    for (let runId = waiting.shift(); runId !== undefined; runId = waiting.shift()) if (!(await work(runId))) return;
  };
  await Promise.all(Array.from({ length: sweepWidth }, one));
}
