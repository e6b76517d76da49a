/** Workers that live, and runs that are rows of effects: what has happened how often, and how far each run is. */
import { createMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import type { Engine } from '../../src/engine/api.ts';
import { createEngine } from '../../src/engine/engine.ts';
import { createEngineWorker, type Worker } from '../../src/engine/worker.ts';
import type { Graph } from '../../src/graph/graph.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Store } from '../../src/ports/store.ts';
import { edges, graphOf, node, testIds } from '../engine-kit.ts';

export interface FleetOptions {
  readonly workers: number;
  readonly runs: number;
  /** How many effects a run makes, one after the other. */
  readonly effects: number;
  /** How long the next effect takes. */
  readonly effectMs: () => number;
  readonly leaseMs: number;
  readonly clock: Clock;
  /** The store as one process has it. Called once for each, and first for whoever starts the runs. */
  readonly openStore: () => Store;
}

export interface Progress {
  /** How many effects have ended, by the record. */
  readonly ended: number;
  readonly isOver: boolean;
}

export interface Fleet {
  readonly runs: number;
  /** How far each run is. */
  readonly progress: () => Promise<ReadonlyMap<string, Progress>>;
  /** How many runs are completed, how many effects are in doubt, and how many were made exactly once. */
  readonly report: () => Promise<{ readonly completed: number; readonly doubts: number; readonly once: number }>;
  readonly close: () => Promise<void>;
}

/** Starts runs, and workers with the default limits, none of which knows whether another is dead. */
export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const { clock, leaseMs } = options;
  const calls = new Map<string, number>();
  const graph = graphIn(options, calls);
  const blobs = createMemoryBlobs();
  const engineOf = (id: string): Engine =>
    createEngine({ store: options.openStore(), blobs, clock, ids: testIds(id), leaseMs, findGraph: () => graph });
  const starter = engineOf('starter');
  const runIds = Array.from({ length: options.runs }, (_, index) => `run-${index}`);
  for (const runId of runIds) await starter.start(graph, { runId }, { runId, detach: true });
  const engines = Array.from({ length: options.workers }, (_, index) => engineOf(`worker-${index}`));
  const workers: readonly Worker[] = engines.map((engine) => createEngineWorker({ engine, clock, onError: () => {} }));
  const progress = async (): Promise<ReadonlyMap<string, Progress>> => {
    const entries = runIds.map(async (runId) => {
      const { status, state } = await starter.inspect(runId);
      return [runId, { ended: Object.keys(state.outputs).length, isOver: status !== 'running' }] as const;
    });
    return new Map(await Promise.all(entries));
  };
  return {
    runs: options.runs,
    progress,
    report: async () => {
      const rows = await Promise.all(runIds.map((runId) => starter.inspect(runId)));
      return {
        completed: rows.filter(({ status }) => status === 'completed').length,
        doubts: rows.flatMap(({ waits }) => waits).length,
        once: [...calls.values()].filter((count) => count === 1).length,
      };
    },
    close: async () => {
      const stopped = Promise.all(workers.map((worker) => worker.stop()));
      await Promise.all([...engines, starter].map((engine) => engine.close()));
      await stopped;
    },
  };
}

/** A row of effects: nodes and steps by turns, with pure work between them. */
function graphIn({ effects, effectMs, clock }: FleetOptions, calls: Map<string, number>): Graph {
  const work = async (key: string): Promise<string> => {
    calls.set(key, (calls.get(key) ?? 0) + 1);
    await new Promise<void>((resolve) => clock.setTimer(effectMs(), resolve));
    return key;
  };
  const names = Array.from({ length: effects }, (_, index) => `e${index}`);
  const nodes = names.map((name, index) =>
    index % 2 === 0
      ? node(name, 'external', (ctx) => work(ctx.idempotencyKey))
      : node(name, 'read', (ctx) =>
          ctx.step('call', { effect: 'write' }, ({ idempotencyKey }) => work(idempotencyKey)),
        ),
  );
  const links = names.map((name, index) => `${index === 0 ? '' : names[index - 1]} > ${name}`);
  return graphOf('row', nodes, edges(...links, `${names.at(-1)} >`));
}
