/** Workers over compiled graphs: a program starts one to advance runs that nobody waits for (W5, O2). */
import type { Engine, Isolation } from '../engine/api.ts';
import {
  createEngineWorker,
  type EngineWorkerOptions,
  type Versioning,
  type Worker,
  type WorkOptions,
} from '../engine/worker.ts';
import { CairnError } from '../errors.ts';
import type { Graph } from '../graph/graph.ts';
import type { RetentionSettings } from '../graph/retention.ts';
import type { Store } from '../ports/store.ts';
import { createDefaultEngine } from './default-engine.ts';
import { catchUncaughtErrors } from './process/uncaught-errors.ts';
import { isolateIn } from './isolation/isolation.ts';
import type { App } from './open-app.ts';
import { retainGraphs } from './retain-graphs.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';

export type { Versioning, Worker } from '../engine/worker.ts';

/** Options of a worker. */
export interface WorkerOptions extends WorkOptions {
  /**
   * The graphs whose runs it advances, as `compile()` returns them. Without a `store` all must share one engine:
   * `second.compile({ engine: first.engine })`.
   */
  readonly graphs: readonly WorkedGraph[];
  /**
   * Where it looks for runs: a store, or the URL of one. It advances them with an engine of its own, which `stop` closes, and with it a
   * store that was opened from its URL. Default: the store of the graphs' engine.
   */
  readonly store?: Store | string;
  /**
   * Whether errors that nobody caught fail the attempt in whose code they arose (E6.9), in place of ending the process; default false, since
   * they are the program's to handle. Errors of no node's code stay the program's.
   */
  readonly catchUncaught?: boolean;
  /**
   * A module that exports these graphs, compiled: `new URL('./graphs.js', import.meta.url)`. Runs that ended their process twice are advanced
   * in a process of their own that imports it, beside the others, and a node that ends that too fails (O7). It must do nothing else when it
   * is imported. Default: such runs wait until this worker has nothing else to do, and longer with each death.
   */
  readonly isolate?: URL;
}

/** The part of a compiled graph that a worker needs. */
export interface WorkedGraph {
  readonly graph: Graph;
  readonly engine: Engine;
  /** Which of its runs that ended are kept. While the worker lives, the others are removed every hour, by one process of all. */
  readonly retention?: RetentionSettings;
}

/** How a worker may take up runs of other code. */
export const versionings: readonly Versioning[] = ['prefer', 'pinned'];

const optionNames: Readonly<Record<keyof WorkerOptions, true>> = {
  graphs: true,
  store: true,
  queues: true,
  versioning: true,
  pollMs: true,
  concurrency: true,
  onError: true,
  onTaken: true,
  onRested: true,
  catchUncaught: true,
  isolate: true,
};

/**
 * Starts a worker. It looks for runs that can go on (detached, answered, due, or abandoned by a dead process) and advances them until it is
 * stopped. It keeps its process alive. Failed runs are not tried again.
 * @throws CONFIG_INVALID an unknown option, no graph, graphs of several engines, a number out of range
 */
export function createWorker({ catchUncaught = false, ...options }: WorkerOptions): Worker {
  refuseUnknownKeys('createWorker', options, Object.keys(optionNames));
  if (catchUncaught) {
    const worker = createWorker(options);
    const stop = catchUncaughtErrors();
    return { look: () => worker.look(), runs: () => worker.runs(), stop: () => worker.stop().finally(stop) };
  }
  checkNumber('concurrency', options.concurrency);
  checkNumber('pollMs', options.pollMs);
  if (options.versioning !== undefined && !versionings.includes(options.versioning))
    throw invalid('versioning', `it is one of ${versionings.join(', ')}`);
  const { graphs, store, isolate, ...others } = options;
  const rest = { ...others, ...(isolate !== undefined && { isolation: isolationOf(isolate, store) }) };
  const [first] = graphs;
  if (first === undefined) throw invalid('graphs', 'a worker needs a compiled graph');
  if (store !== undefined) return workOver(store, graphs, rest);
  if (graphs.some(({ engine }) => engine !== first.engine))
    throw invalid('graphs', 'they have several engines: share one with compile({ engine: first.engine })');
  // Before the first look and the first word of itself: by it, runs come to who has their code.
  for (const { graph, engine } of graphs) engine.know(graph);
  return retaining(first.engine, graphs, { ...rest, engine: first.engine });
}

/** @throws CONFIG_INVALID what is given is no URL of a file, or the store cannot be opened by another process */
function isolationOf(isolate: URL, store: Store | string | undefined): Isolation {
  if (!(isolate instanceof URL) || isolate.protocol !== 'file:')
    throw invalid('isolate', 'it is the URL of a module that exports the graphs: new URL(FILE, import.meta.url)');
  if (typeof store === 'object')
    throw invalid(
      'isolate',
      'the store is an object of this process; give its URL, so that another process can open it',
    );
  return isolateIn(() => ({ kind: 'graphs', url: isolate.href, ...(store !== undefined && { store }) }));
}

/** A worker with an engine of its own. */
function workOver(
  store: Store | string,
  graphs: readonly WorkedGraph[],
  options: WorkOptions & Pick<EngineWorkerOptions, 'isolation'>,
): Worker {
  const engine = createDefaultEngine({ store, wakes: false });
  for (const { graph } of graphs) engine.know(graph);
  const worker = retaining(engine, graphs, { ...options, engine });
  return {
    ...worker,
    stop: async () => {
      await worker.stop();
      await engine.close();
    },
  };
}

/** A worker that also removes what expired of its graphs. */
function retaining(engine: Engine, graphs: readonly WorkedGraph[], options: EngineWorkerOptions): Worker {
  const worker = createEngineWorker({ ...options, graphs: graphs.map(({ graph }) => graph.id) });
  const end = retainGraphs(engine, graphs, (error) => options.onError?.('', error));
  return {
    look: () => worker.look(),
    runs: () => worker.runs(),
    stop: async () => {
      await end();
      await worker.stop();
    },
  };
}

function checkNumber(path: string, value: number | undefined): void {
  if (value !== undefined && !(Number.isSafeInteger(value) && value > 0))
    throw invalid(path, 'it is a whole number, 1 or more');
}

function invalid(path: string, reason: string): CairnError {
  return new CairnError('CONFIG_INVALID', { path, reason });
}

/**
 * Makes all graphs known to an app's engine that these modules export, and those of its configuration (`modules`). @param cwd - folder for
 * relative paths. @throws GRAPH_PARSE, GRAPH_INVALID
 */
export async function knowModules(
  { config, engine, modules: named }: App,
  cwd: string,
  modules: readonly string[] = [],
): Promise<readonly WorkedGraph[]> {
  const { loadGraphsOf } = await import('./workflows/load-graph-module.ts');
  const known: WorkedGraph[] = [];
  for (const file of modules) named.add(file);
  for (const file of new Set([...(config.modules ?? []), ...modules]))
    for (const graph of await loadGraphsOf(cwd, file)) {
      engine.know(graph);
      known.push({ graph, engine });
    }
  return known;
}

/** Starts a worker for all runs of an app. Their graphs are found as for every command. */
export function startWorker({ engine }: App, options: Omit<EngineWorkerOptions, 'engine' | 'isolation'>): Worker {
  return createEngineWorker({ ...options, engine });
}
