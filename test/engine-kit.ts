/** Helpers for engine tests: an engine over memory stores, small graphs, and a virtual clock. */
import { createMemoryBlobs } from '../src/blobs/memory-blobs.ts';
import type { Engine, EngineOptions, RunHandle, RunResult } from '../src/engine/api.ts';
import { createEngine } from '../src/engine/engine.ts';
import { compileGraph } from '../src/graph/compile/compile-graph.ts';
import {
  END,
  START,
  type EdgeDefinition,
  type Graph,
  type GraphDefinition,
  type NodeDefinition,
} from '../src/graph/graph.ts';
import type { EffectClass, NodeContext } from '../src/graph/contracts/node-contract.ts';
import type { Ids } from '../src/ports/ids.ts';
import type { RunRow, Store } from '../src/ports/store.ts';
import { createMemoryStore } from '../src/stores/memory/memory-store.ts';
import { createVirtualClock, type VirtualClock } from '../src/ports/virtual-clock.ts';
import { within } from './support/awaited.ts';

let runCount = 0;

export function testIds(workerId = 'worker-1', dead: readonly string[] = []): Ids {
  return {
    createRunId: () => `run-${(runCount += 1)}`,
    workerId,
    random: () => 0.5,
    isWorkerDead: (id) => (dead.includes(id) ? true : undefined),
  };
}

export interface Bench {
  readonly engine: Engine;
  readonly store: Store;
  readonly options: EngineOptions;
  readonly clock: VirtualClock;
}

export function createBench(more: Partial<EngineOptions> = {}): Bench {
  const clock = createVirtualClock({ isAutomatic: true });
  const store = more.store ?? createMemoryStore({ now: clock.now });
  // Virtual time runs faster than effects that take real time, so effects get no deadline they could reach unless a test sets one.
  const limits = { effectMs: 1e12, ...more.limits };
  const options: EngineOptions = { store, blobs: createMemoryBlobs(), clock, ids: testIds(), ...more, limits };
  return { engine: createEngine(options), store, options, clock };
}

/** The engine of another process on the same store, which knows that the first process is dead. */
export function afterCrash(bench: Bench): Engine {
  return createEngine({ ...bench.options, ids: testIds('worker-2', ['worker-1']) });
}

export function node(
  id: string,
  effect: EffectClass,
  run: (ctx: NodeContext) => unknown,
  more: Partial<NodeDefinition> = {},
): NodeDefinition {
  return { id, type: 'function', effect, implementation: { run }, ...more };
}

/** Edges from texts such as `> a`, `a > b` and `b >`, where a missing end stands for START or END. */
export function edges(...pairs: readonly string[]): EdgeDefinition[] {
  return pairs.map((pair) => {
    const [from, to] = pair.split('>').map((id) => id.trim());
    return { from: from === '' ? START : (from as string), to: to === '' ? END : (to as string) };
  });
}

export function graphOf(
  id: string,
  nodes: readonly NodeDefinition[],
  links: readonly EdgeDefinition[],
  more: Partial<GraphDefinition> = {},
): Graph {
  return compileGraph({ id, nodes, edges: links, ...more });
}

export async function runToRest(engine: Engine, graph: Graph, input: unknown = {}, runId?: string): Promise<RunResult> {
  const handle = await engine.start(graph, input, runId === undefined ? {} : { runId });
  return restOf(engine, graph, handle);
}

export async function resumeToRest(engine: Engine, runId: string, graph: Graph): Promise<RunResult> {
  return restOf(engine, graph, await engine.resume(runId, { graph }));
}

/** The result of a run once it rests. A run that never rests fails the test with a message about what it was doing. */
function restOf(engine: Engine, graph: Graph, handle: RunHandle): Promise<RunResult> {
  const tell = async (): Promise<string> => {
    const { status, seq, waits, state } = await engine.inspect(handle.runId);
    const open = waits.map(({ kind, node }) => `${kind} of ${node.join('/')}`);
    return `; it is ${status} at seq ${seq}, with outputs of [${Object.keys(state.outputs).join()}] and [${open.join()}] open`;
  };
  return within(`the run ${handle.runId} of the graph ${graph.id} comes to rest`, handle.result(), tell);
}

export async function rowOf({ store }: Bench, runId: string): Promise<RunRow> {
  return (await store.readRun({ tenant: 'default', runId })) as RunRow;
}

/** Every change in a run's history, oldest first: `settle a`, `intent b`… */
export async function changesOf(engine: Engine, runId: string): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const event of engine.events(runId)) {
    if (event.type !== 'checkpoint') continue;
    lines.push(
      event.change
        .map((part) => [part.kind, part.node?.join('/'), part.step].filter((word) => word !== undefined).join(' '))
        .join(' + '),
    );
  }
  return lines;
}

/** How a node of the run's own graph ended, each time it did, as the history tells. */
export async function endingsOf(engine: Engine, runId: string, nodeId: string): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const event of engine.events(runId)) {
    if (event.type !== 'checkpoint') continue;
    for (const { kind, node: path, status = 'completed' } of event.change)
      if (kind === 'settle' && path?.length === 1 && path[0] === nodeId) found.push(status);
  }
  return found;
}
