/** What is stored at which point, under each policy (C10). */
import { expect, test } from 'vitest';
import type { CheckpointPolicy, NodeCheckpoint } from '../../graph/graph.ts';
import { outcome } from '../../graph/contracts/node-contract.ts';
import { dyingEngine, settleDown } from '../../../test/dying-engine.ts';
import {
  afterCrash,
  changesOf,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  runToRest,
} from '../../../test/engine-kit.ts';

type Graph = ReturnType<typeof graphOf>;
const links = edges('> a', 'a > b', 'b > c', 'c >');

function chain(policy: CheckpointPolicy | undefined, b?: NodeCheckpoint): Graph {
  return graphOf(
    'g',
    [
      node('a', 'pure', () => outcome({ output: 'a', scratch: { a: 1 } })),
      node('b', 'pure', () => 'b', b === undefined ? {} : { checkpoint: b }),
      node('c', 'pure', (ctx) => [ctx.state.outputs['b'], ctx.state.scratch['a']]),
    ],
    links,
    policy === undefined ? {} : { policies: { checkpoint: policy } },
  );
}

async function checkpointsOf(graph: Graph): Promise<readonly string[]> {
  const bench = createBench({ findGraph: () => graph });
  const done = await runToRest(bench.engine, graph);
  expect(done.state.outputs['c']).toEqual(['b', 1]);
  return changesOf(bench.engine, done.runId);
}

const each = ['start', 'settle a', 'settle b', 'settle c + end'];
const atEnd = ['start', 'settle a + settle b + settle c + end'];
const afterB = ['start', 'settle a + settle b', 'settle c + end'];
const beforeB = ['start', 'settle a', 'settle b + settle c + end'];
const aroundB = ['start', 'settle a', 'settle b', 'settle c + end'];
const notB = ['start', 'settle a', 'settle b + settle c + end'];

test.each<[CheckpointPolicy | undefined, NodeCheckpoint | undefined, readonly string[]]>([
  [undefined, undefined, each],
  ['every_node', undefined, each],
  ['every_node', 'after', each],
  ['every_node', 'before', beforeB],
  ['every_node', 'both', each],
  ['every_node', 'none', notB],
  ['explicit', undefined, atEnd],
  ['explicit', 'after', afterB],
  ['explicit', 'before', beforeB],
  ['explicit', 'both', aroundB],
  ['explicit', 'none', atEnd],
  ['none', undefined, atEnd],
])("C10 under the policy %s and the node's %s there are exactly these checkpoints", async (policy, own, expected) => {
  expect(await checkpointsOf(chain(policy, own))).toEqual(expected);
});

test.each<CheckpointPolicy>(['none', 'explicit'])(
  'C10 under %s effects, waits, steps and failures are stored all the same, and a kill anywhere resumes right',
  async (checkpoint) => {
    const make = (calls: string[]): Graph =>
      graphOf(
        'g',
        [
          node('a', 'pure', () => void calls.push('a')),
          node('w', 'write', () => void calls.push('w')),
          node('s', 'read', (ctx) => ctx.step('one', { effect: 'write' }, () => void calls.push('one'))),
          node('q', 'human', (ctx) => ctx.ask({ prompt: '?' })),
          node('bad', 'pure', () => Promise.reject(new Error('bad')), { onFailure: 'continue' }),
          node('z', 'pure', () => void calls.push('z')),
        ],
        edges('> a', 'a > w', 'w > s', 's > q', 'q > bad', 'bad > z', 'z >'),
        { policies: { checkpoint } },
      );
    const whole: string[] = [];
    const graph = make(whole);
    const bench = createBench({ findGraph: () => graph });
    const paused = await runToRest(bench.engine, graph);
    await bench.engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', 1);
    const { seq } = await resumeToRest(bench.engine, paused.runId, graph);
    expect(await changesOf(bench.engine, paused.runId)).toEqual([
      'start',
      'settle a + intent w',
      'settle w',
      'intent s one',
      'step s one + settle s',
      'wait q',
      'pause',
      'answer q question',
      'settle q',
      'settle bad',
      'settle z + end',
    ]);
    for (let commits = 0; commits <= seq; commits += 1) {
      const calls: string[] = [];
      const killed = createBench();
      const mine = make(calls);
      const start = dyingEngine(killed, commits).start(mine, {}, { runId: 'r' });
      await settleDown();
      await start;
      const next = afterCrash(killed);
      let result = await resumeToRest(next, 'r', mine);
      for (let more = 0; more < 4 && result.status === 'paused'; more += 1) {
        const [wait] = result.waits;
        await next.answer('r', wait?.waitId ?? '', wait?.kind === 'doubt' ? 'happened' : 1);
        result = await resumeToRest(next, 'r', mine);
      }
      expect(result.status).toBe('completed');
      for (const effect of ['w', 'one']) expect(calls.filter((call) => call === effect)).toEqual([effect]);
      expect(calls.filter((call) => call === 'z')).toContain('z');
    }
  },
);

test('C10 what has no checkpoint of its own is gone after a kill, and is done again', async () => {
  let runs = 0;
  const never = new Promise<never>(() => {});
  const graph = graphOf(
    'g',
    [node('a', 'pure', () => (runs += 1)), node('hang', 'pure', () => (runs === 1 ? never : 'on'))],
    edges('> a', 'a > hang', 'hang >'),
    { policies: { checkpoint: 'none' } },
  );
  const bench = createBench();
  await bench.engine.start(graph, {}, { runId: 'r' });
  await settleDown();
  expect((await bench.store.readRun({ tenant: 'default', runId: 'r' }))?.head).toBe(0);
  expect((await resumeToRest(afterCrash(bench), 'r', graph)).state.outputs).toEqual({ a: 2, hang: 'on' });
});

test('C10 where a policy makes no checkpoint, what has settled is stored all the same before it is more than a mebibyte', async () => {
  const text = 'x'.repeat(200_000);
  const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
  const graph = graphOf(
    'g',
    ids.map((id) => node(id, 'pure', () => `${id}${text}`)),
    edges('> a', 'a > b', 'b > c', 'c > d', 'd > e', 'e > f', 'f > g', 'g >'),
    { policies: { checkpoint: 'none' } },
  );
  const bench = createBench({ findGraph: () => graph });
  const done = await runToRest(bench.engine, graph);
  expect(done.state.outputs['g']).toBe(`g${text}`);
  expect(await changesOf(bench.engine, done.runId)).toEqual([
    'start',
    'settle a + settle b + settle c + settle d + settle e + settle f',
    'settle g + end',
  ]);
});
