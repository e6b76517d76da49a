import { describe, expect, test } from 'vitest';
import type { Engine, OpenQuestion, RunHandle, RunResult } from '../../engine/api.ts';
import { END, START, type GraphSchemas } from '../../graph/graph.ts';
import type { CheckpointName } from '../../history/read/references.ts';
import { AgentGraph } from './agent-graph.ts';

const wait = (waitId: string, node: readonly string[], name = 'question'): OpenQuestion => ({
  waitId,
  runId: 'run',
  graphId: 'g',
  kind: 'question',
  node,
  name,
});

const paused: RunResult = {
  runId: 'run',
  status: 'paused',
  seq: 7,
  spent: {},
  saved: {},
  state: { input: {}, scratch: {}, artifacts: {}, diagnostics: {}, outputs: {}, failures: {} },
  waits: [
    wait('w1', ['ask']),
    wait('w2', ['map', 'a', 'ask2']),
    wait('w3', ['map', 'b', 'ask2']),
    wait('w4', ['other'], 'title'),
  ],
  failed: [],
  skipped: [],
};

/** An engine that only writes down what it is asked. */
function recordingEngine() {
  const calls: unknown[] = [];
  const record =
    <T>(name: string, result: T) =>
    (...args: readonly unknown[]): Promise<T> => {
      calls.push([name, ...args.map((arg) => (arg === graph.graph ? 'GRAPH' : withoutGraph(arg)))]);
      return Promise.resolve(result);
    };
  const withoutGraph = (arg: unknown): unknown =>
    typeof arg === 'object' && arg !== null && 'graph' in arg
      ? { ...arg, graph: arg.graph === graph.graph ? 'GRAPH' : 'OTHER' }
      : arg;
  const handle: RunHandle = {
    runId: 'run',
    created: true,
    result: () => Promise.resolve(paused),
    events: async function* events(options) {
      calls.push(['events', options]);
      yield { type: 'checkpoint', runId: 'run', seq: 0, checkpointId: 'key.0', at: 0, change: [] };
    },
  };
  const engine = {
    know: () => undefined,
    start: record('start', handle),
    resume: record('resume', handle),
    locate: (name: CheckpointName) => {
      const { seq = 7 } = typeof name === 'string' ? {} : name;
      return Promise.resolve({ runId: 'run', seq, checkpointId: `key.${seq}`, isHead: seq === 7 });
    },
    history: { find: () => Promise.resolve({ runId: 'run' }) },
    inspect: () => Promise.resolve(paused),
    waits: () => Promise.resolve(paused.waits),
    answerAll: record('answerAll', []),
    signal: record('signal', undefined),
    cancel: record('cancel', undefined),
    fork: record('fork', { runId: 'forked', seq: 8 }),
    preview: record('preview', []),
    close: record('close', undefined),
  } as unknown as Engine;
  const open: AgentGraph<GraphSchemas, Record<string, unknown>, Record<string, unknown>> = new AgentGraph(
    {},
    { id: 'g' },
  );
  const graph = open
    .addNode('a', () => 1)
    .addEdge(START, 'a')
    .addEdge('a', END)
    .compile({ engine });
  return { calls, graph };
}

describe('resume', () => {
  test('H1 the head goes on, and an older checkpoint is forked', async () => {
    const { calls, graph } = recordingEngine();
    await graph.resume('run');
    await graph.resume({ runId: 'run', seq: 7 }, { retryFailed: false });
    await graph.resume({ runId: 'run', seq: 3 });
    expect(calls).toEqual([
      ['resume', 'run', { graph: 'GRAPH' }],
      ['resume', 'run', { graph: 'GRAPH', retryFailed: false }],
      ['fork', { runId: 'run', seq: 3 }, { graph: 'GRAPH' }],
      ['resume', 'forked', { graph: 'GRAPH' }],
    ]);
  });

  test('H1 an answer goes to its wait, whatever checkpoint is given with it', async () => {
    const { calls, graph } = recordingEngine();
    await graph.resume({ runId: 'run', seq: 3 }, { answers: { ask: 1, title: 2, 'map/b/ask2': 3, w2: 4 }, by: 'ada' });
    expect(calls).toEqual([
      [
        'answerAll',
        'run',
        [
          ['w1', 1],
          ['w4', 2],
          ['w3', 3],
          ['w2', 4],
        ],
        { by: 'ada', stays: true },
      ],
      ['resume', 'run', { graph: 'GRAPH', by: 'ada' }],
    ]);
  });

  test('W2 an answer that may be meant for several waits is given to none, and neither is any other', async () => {
    const { calls, graph } = recordingEngine();
    await expect(graph.resume('run', { answers: { ask: 1, ask2: 2 } })).rejects.toThrow(
      /several questions that fit ask2: map\/a\/ask2 \(w2\), map\/b\/ask2 \(w3\)/,
    );
    expect(calls).toEqual([]);
  });
});

test('H2 a fork takes dotted paths or patches, a checkpoint or a run', async () => {
  const { calls, graph } = recordingEngine();
  expect(await graph.fork('run', { set: { 'scratch.confidence': 0.95 }, runId: 'mine' })).toEqual({
    runId: 'forked',
    seq: 8,
  });
  await graph.fork(
    { runId: 'run', seq: 2 },
    { set: [{ path: ['scratch', 'a.b'], value: 1 }], answers: { ask: 2 }, rerunPure: true },
  );
  await graph.preview({ runId: 'run', seq: 2 }, { asFork: true });
  await graph.preview({ runId: 'run', seq: 2 }, { retry: true, retryFailed: false });
  expect(calls).toEqual([
    [
      'fork',
      { runId: 'run', seq: 7 },
      { graph: 'GRAPH', runId: 'mine', set: [{ path: ['scratch', 'confidence'], value: 0.95 }] },
    ],
    [
      'fork',
      { runId: 'run', seq: 2 },
      { graph: 'GRAPH', set: [{ path: ['scratch', 'a.b'], value: 1 }], answers: { ask: 2 }, rerunPure: true },
    ],
    ['preview', { runId: 'run', seq: 2 }, { graph: 'GRAPH', asFork: true }],
    ['preview', { runId: 'run', seq: 2 }, { graph: 'GRAPH', retry: true, retryFailed: false }],
  ]);
});

test('E7 an abort cancels the run; a signal that is done with is let go of', async () => {
  const { calls, graph } = recordingEngine();
  await graph.invoke({ n: 1 }, { runId: 'run', signal: AbortSignal.abort() });
  const later = new AbortController();
  await graph.invoke({ n: 1 }, { signal: later.signal });
  later.abort();
  expect(calls).toEqual([
    ['start', 'GRAPH', { n: 1 }, { runId: 'run' }],
    ['cancel', 'run'],
    ['start', 'GRAPH', { n: 1 }, {}],
  ]);
});

test('E1 a stream starts the run and passes on where to begin', async () => {
  const { calls, graph } = recordingEngine();
  const seen = [];
  for await (const event of graph.stream({}, { after: 3, live: false })) seen.push(event.type);
  expect(seen).toEqual(['checkpoint', 'checkpoint_saved']);
  expect(calls).toEqual([
    ['start', 'GRAPH', {}, {}],
    ['events', { after: 3, live: false }],
  ]);
});

test('O3 an engine that was given stays open; none is made before it is needed', async () => {
  const { calls, graph } = recordingEngine();
  await graph.close();
  expect(calls).toEqual([]);
  const unused = new AgentGraph({}, { id: 'g' })
    .addNode('a', () => 1)
    .addEdge(START, 'a')
    .addEdge('a', END)
    .compile();
  await unused.close();
});
