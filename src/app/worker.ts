/** A worker over compiled graphs: what a program starts that is to go on with runs which nobody waits for (W5, O2). */
import type { Engine } from '../engine/api.ts';
import { createEngineWorker, type EngineWorkerOptions, type Worker, type WorkOptions } from '../engine/worker.ts';
import { CairnError } from '../errors.ts';
import type { Graph } from '../graph/graph.ts';
import type { App } from './open-app.ts';

export type { Worker } from '../engine/worker.ts';

/** What a worker takes up, and how. */
export interface WorkerOptions extends WorkOptions {
  /**
   * The graphs whose runs are advanced, as `compile()` gives them. Those of several graphs share one engine:
   * `second.compile({ engine: first.engine })`.
   */
  readonly graphs: readonly WorkedGraph[];
}

/** What a worker needs of a compiled graph. */
export interface WorkedGraph {
  readonly graph: Graph;
  readonly engine: Engine;
}

const optionNames: Readonly<Record<keyof WorkerOptions, true>> = {
  graphs: true,
  queues: true,
  pollMs: true,
  concurrency: true,
  onError: true,
  onTaken: true,
  onRested: true,
};

/**
 * Starts to look for runs that can go on (detached, answered, abandoned by a process that died, due) and advances them until it is
 * stopped. It keeps its process alive. Failed runs stay as they are.
 * @throws CONFIG_INVALID an option that does not exist, no graph, graphs of several engines, a number out of range
 */
export function createWorker(options: WorkerOptions): Worker {
  for (const name of Object.keys(options))
    if (!Object.hasOwn(optionNames, name))
      throw invalid(name, `a worker has no such option; it has ${Object.keys(optionNames).join(', ')}`);
  checkNumber('concurrency', options.concurrency);
  checkNumber('pollMs', options.pollMs);
  const { graphs, ...rest } = options;
  const [first] = graphs;
  if (first === undefined) throw invalid('graphs', 'a worker needs a compiled graph');
  if (graphs.some(({ engine }) => engine !== first.engine))
    throw invalid('graphs', 'they have several engines: share one with compile({ engine: first.engine })');
  return createEngineWorker({ ...rest, engine: first.engine, graphs: graphs.map(({ graph }) => graph.id) });
}

function checkNumber(path: string, value: number | undefined): void {
  if (value !== undefined && !(Number.isSafeInteger(value) && value > 0))
    throw invalid(path, 'it is a whole number, 1 or more');
}

function invalid(path: string, reason: string): CairnError {
  return new CairnError('CONFIG_INVALID', { path, reason });
}

/** A worker over all runs of an opened app: their graphs are found as for every command. */
export function startWorker(app: App, options: Omit<EngineWorkerOptions, 'engine'>): Worker {
  return createEngineWorker({ ...options, engine: app.engine });
}
