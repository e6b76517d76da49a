/** How soon a run on Postgres hears of what other processes write, what it costs to take one up, and what many idle ones cost. */
import { createDefaultEngine } from '../../src/app/default-engine.ts';
import { createEngineWorker } from '../../src/engine/worker.ts';
import type { Engine } from '../../src/engine/api.ts';
import { AgentGraph, END, humanNode, START, type Graph } from '../../src/index.ts';
import type { Group, Repetition } from '../group.ts';
import { startServer, type CountedStore, type MeasuredServer } from '../postgres.ts';

const heldRuns = 100;
const idleMs = 4_000;
const answerMs = 50;
/** No look of its own finds anything within a measurement: only what wakes it. */
const pollMs = 600_000;

const nameOfAnswer = 'Postgres: answer given elsewhere until its run has completed';
const nameOfHeld = 'Postgres: answer given elsewhere until a held run has it';
const nameOfWake = 'Postgres: statements from a wake-up to the first node';
const nameOfIdle = 'Postgres: statements a second of 100 held idle runs';

export const postgresWaits: Group = {
  rows: [
    { name: nameOfAnswer, against: '50 ms', target: 1 },
    { name: nameOfHeld, against: '50 ms', target: 1 },
    { name: nameOfWake, against: '3', target: 1 },
    { name: nameOfIdle, against: '2', target: 1 },
  ],
  prepare: async () => {
    const server = await startServer();
    const scene = await setUp(server);
    return {
      repeat: async () => ({
        ...(await measureAnswers(scene)),
        ...(await measureWake(scene)),
        ...(await measureIdle(scene)),
      }),
      close: async () => {
        for (const { engine, opened } of [scene.owner, scene.other]) {
          await engine.close();
          await opened.close();
        }
        await server.stop();
      },
    };
  },
};

/** One process of a fleet: an engine over a store of its own. */
interface Place {
  readonly opened: CountedStore;
  readonly engine: Engine;
}

interface Scene {
  readonly owner: Place;
  readonly other: Place;
}

/** Called by the node of a graph when it begins. */
let begun: () => void = () => undefined;
/** What the held runs wait for. */
let held: Promise<void> = Promise.resolve();

const asking = new AgentGraph({}, { id: 'asking' })
  .addNode('ask', humanNode({ prompt: 'Go on?' }))
  .addNode('end', () => begun())
  .addEdge(START, 'ask')
  .addEdge('ask', 'end')
  .addEdge('end', END)
  .compile().graph;
const busy = new AgentGraph({}, { id: 'busy' })
  .addNode('ask', humanNode({ prompt: 'Go on?' }))
  .addNode('end', () => begun())
  .addNode('long', () => held)
  .addEdge(START, 'ask')
  .addEdge(START, 'long')
  .addEdge('ask', 'end')
  .addEdge('end', END)
  .addEdge('long', END)
  .compile().graph;
const single = new AgentGraph({}, { id: 'single' })
  .addNode('only', () => begun())
  .addEdge(START, 'only')
  .addEdge('only', END)
  .compile().graph;
const idle = new AgentGraph({}, { id: 'idle' })
  .addNode('long', () => held)
  .addEdge(START, 'long')
  .addEdge('long', END)
  .compile().graph;

async function setUp(server: MeasuredServer): Promise<Scene> {
  const place = (): Place => {
    const opened = server.open();
    const engine = createDefaultEngine({ store: opened.store, wakes: false });
    for (const graph of [asking, busy, single, idle]) engine.know(graph);
    return { opened, engine };
  };
  const scene = { owner: place(), other: place() };
  const { store } = scene.owner.opened;
  const stop = store.watch?.('default', () => undefined);
  while (store.hearsOthers?.() !== true) await pause(20);
  stop?.();
  return scene;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const begins = (): Promise<number> =>
  new Promise((resolve) => {
    begun = () => resolve(performance.now());
  });

async function questionOf(engine: Engine, runId: string): Promise<string> {
  for (;;) {
    const [wait] = await engine.waits(runId);
    if (wait !== undefined) return wait.waitId;
    await pause(5);
  }
}

async function measureAnswers({ owner, other }: Scene): Promise<Repetition> {
  const rested: Record<string, (at: number) => void> = {};
  const worker = createEngineWorker({
    engine: owner.engine,
    pollMs,
    onRested: ({ runId }) => rested[runId]?.(performance.now()),
  });
  // What it looked for at first is done.
  await pause(100);
  const runId = await startPaused(owner.engine, asking);
  const completed = new Promise<number>((resolve) => {
    rested[runId] = resolve;
  });
  const question = await questionOf(other.engine, runId);
  const answeredAt = performance.now();
  await other.engine.answer(runId, question, 'yes');
  const answerTook = (await completed) - answeredAt;
  const release = hold();
  const handle = await owner.engine.start(busy, {});
  const waitId = await questionOf(other.engine, handle.runId);
  const heard = begins();
  const askedAt = performance.now();
  await other.engine.answer(handle.runId, waitId, 'yes');
  const heldTook = (await heard) - askedAt;
  release();
  await handle.result();
  await worker.stop();
  return {
    [nameOfAnswer]: { ours: answerTook, floor: answerMs, unit: 'ms' },
    [nameOfHeld]: { ours: heldTook, floor: answerMs, unit: 'ms' },
  };
}

async function startPaused(engine: Engine, graph: Graph): Promise<string> {
  const handle = await engine.start(graph, {});
  await handle.result();
  return handle.runId;
}

function hold(): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  held = promise;
  return resolve;
}

async function measureWake({ owner, other }: Scene): Promise<Repetition> {
  const worker = createEngineWorker({ engine: owner.engine, pollMs });
  await pause(100);
  const before = owner.opened.statements;
  let statements = 0;
  const done = Promise.withResolvers<void>();
  begun = () => {
    statements = owner.opened.statements - before;
    done.resolve();
  };
  await other.engine.start(single, {}, { detach: true });
  await done.promise;
  await worker.stop();
  return { [nameOfWake]: { ours: statements, floor: 3, unit: 'calls' } };
}

async function measureIdle({ owner }: Scene): Promise<Repetition> {
  const release = hold();
  const handles = await Promise.all(Array.from({ length: heldRuns }, () => owner.engine.start(idle, {})));
  await pause(500);
  const before = owner.opened.statements;
  await pause(idleMs);
  const statements = ((owner.opened.statements - before) * 1000) / idleMs;
  release();
  await Promise.all(handles.map((handle) => handle.result()));
  return { [nameOfIdle]: { ours: statements, floor: 2, unit: 'calls' } };
}
