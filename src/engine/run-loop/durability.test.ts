/** What each write asks of the store: to survive nothing, a kill, or a power cut (E2.1, E3.4, E4). */
import { expect, test } from 'vitest';
import type { Engine } from '../api.ts';
import { killedInEffect, settleDown } from '../../../test/dying-engine.ts';
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
import type { Graph } from '../../graph/graph.ts';
import type { Durability, Store } from '../../ports/store.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';

/** A store that writes down what each admission and each commit asked for, by seq. */
function askedStore(): { readonly store: Store; readonly asked: ReadonlyMap<number, Durability> } {
  const memory = createMemoryStore({ now: () => 1_700_000_000_000 });
  const asked = new Map<number, Durability>();
  const store: Store = {
    ...memory,
    admitRun: (admission) => {
      asked.set(admission.checkpoint.seq, admission.durability);
      return memory.admitRun(admission);
    },
    commit: (commit) => {
      asked.set(commit.checkpoint.seq, commit.durability);
      return memory.commit(commit);
    },
  };
  return { store, asked };
}

/** Each change of a run, with what its checkpoint asked for. */
async function askedBy(
  engine: Engine,
  runId: string,
  asked: ReadonlyMap<number, Durability>,
): Promise<readonly string[]> {
  return (await changesOf(engine, runId)).map((change, seq) => `${asked.get(seq)}: ${change}`);
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test.each([
  ['barrier', 'process'],
  ['exit', 'none'],
] as const)(
  'E4 under %s intents, effects, opened waits, a pause and the end ask for power, all else for %s',
  async (policy, less) => {
    const graph = graphOf(
      'g',
      [
        node('a', 'pure', () => 1),
        node('b', 'pure', () => 1),
        node('w', 'write', () => 1),
        node('s', 'read', async (ctx) => {
          await ctx.step('p', {}, () => 1);
          await turn();
          return ctx.step('e', { effect: 'external' }, turn);
        }),
        node('q', 'human', (ctx) => ctx.ask({ prompt: '?' })),
        node('c', 'pure', turn),
        node('z', 'pure', () => 1),
      ],
      edges('> a', 'a > b', 'b > w', 'w > s', 's > q', 'q > c', 'c > z', 'z >'),
      { policies: { durability: policy } },
    );
    const { store, asked } = askedStore();
    const { engine } = createBench({ store, findGraph: () => graph });
    const { runId, waits } = await runToRest(engine, graph);
    await engine.answer(runId, waits[0]?.waitId ?? '', 1);
    await resumeToRest(engine, runId, graph);
    expect(await askedBy(engine, runId, asked)).toEqual([
      'power: start',
      `${less}: settle a`,
      'power: settle b + intent w',
      'power: settle w',
      `${less}: step s p`,
      'power: intent s e',
      'power: step s e + settle s',
      'power: wait q',
      'power: pause',
      `${less}: answer q question`,
      'power: settle q',
      `${less}: settle c`,
      'power: settle z + end',
    ]);
  },
);

/** A store whose commit at a seq is held until `land`; and the seqs in the order in which they were sent. */
function storeHolding(seq: () => number): {
  readonly store: Store;
  readonly sent: readonly number[];
  readonly land: () => void;
} {
  const memory = createMemoryStore({ now: () => 1_700_000_000_000 });
  const landing = Promise.withResolvers<void>();
  const sent: number[] = [];
  const commit: Store['commit'] = async (given) => {
    sent.push(given.checkpoint.seq);
    if (given.checkpoint.seq >= seq()) await landing.promise;
    return memory.commit(given);
  };
  return { store: { ...memory, commit }, sent, land: landing.resolve };
}

test.each([
  ['human', ['q goes on'], 2],
  ['pure', ['q goes on', 'n began'], 3],
] as const)(
  'E3.4 before the commit that takes an answer has landed, a %s node that asked goes on with it: %j',
  async (effect, expected, commits) => {
    const calls: string[] = [];
    const asks = node('q', effect, async (ctx) => {
      await ctx.ask({ prompt: '?' });
      calls.push('q goes on');
    });
    const next = node('n', 'pure', () => void calls.push('n began'));
    const end = Promise.withResolvers<void>();
    const busy = node('busy', 'pure', () => end.promise);
    const graph = graphOf('g', [asks, next, busy], edges('> q', 'q > n', 'n >', '> busy', 'busy >'));
    let held = Infinity;
    const { store, sent, land } = storeHolding(() => held);
    const { engine } = createBench({ store, findGraph: () => graph });
    const handle = await engine.start(graph, {}, { runId: 'r' });
    await settleDown();
    const before = sent.length;
    held = before + 1;
    const [wait] = await engine.waits('r');
    await engine.answer('r', wait?.waitId ?? '', 1);
    await settleDown();
    expect(calls).toEqual(expected);
    expect(sent).toHaveLength(before + commits);
    land();
    end.resolve();
    expect((await handle.result()).status).toBe('completed');
    expect(calls).toEqual(['q goes on', 'n began']);
  },
);

test('E3.4 what a person decides about an effect in doubt asks for power', async () => {
  const { store, asked } = askedStore();
  const { bench, graph } = await killedInEffect(
    (run) => graphOf('g', [node('pay', 'write', run)], edges('> pay', 'pay >')),
    createBench({ store, findGraph: () => graph }),
  );
  const { waits } = await resumeToRest(afterCrash(bench), 'r', graph);
  await bench.engine.answer('r', waits[0]?.waitId ?? '', { decision: 'happened', output: 1 });
  const engine = afterCrash(bench);
  await resumeToRest(engine, 'r', graph);
  expect((await askedBy(engine, 'r', asked)).slice(-2)).toEqual(['power: answer pay', 'power: settle pay + end']);
});

const asking = graphOf('g', [node('q', 'human', (ctx) => ctx.ask({ prompt: '?' }))], edges('> q', 'q >'), {
  policies: { durability: 'exit' },
});
const hanging = graphOf('g', [node('h', 'pure', () => new Promise(() => {}))], edges('> h', 'h >'), {
  policies: { durability: 'exit' },
});
const failing = graphOf('g', [node('f', 'pure', () => Promise.reject(new Error('no')))], edges('> f', 'f >'), {
  policies: { durability: 'exit' },
});

test.each<[string, Graph, readonly string[]]>([
  ['that fails', failing, ['power: start', 'power: settle f + end']],
  ['that its owner cancels', hanging, ['power: start', 'power: end']],
  ['that is cancelled while it is paused', asking, ['power: start', 'power: wait q', 'power: pause', 'power: end']],
])('E4.1 the end of a run %s asks for power', async (_, graph, expected) => {
  const { store, asked } = askedStore();
  const { engine } = createBench({ store, findGraph: () => graph });
  const handle = await engine.start(graph, {}, { runId: 'r' });
  if (graph === asking) await handle.result();
  if (graph !== failing) await engine.cancel('r');
  await handle.result();
  expect(await askedBy(engine, 'r', asked)).toEqual(expected);
});

test('E2.1 the admission of a fork asks for power', async () => {
  const { store, asked } = askedStore();
  const { engine } = createBench({ store, findGraph: () => asking });
  const { runId, seq } = await runToRest(engine, asking);
  await engine.fork({ runId, seq });
  expect(asked.get(seq + 1)).toBe('power');
});

test('E3.6 an acknowledged commit says nothing of later ones: an effect begins when its own intent has landed', async () => {
  const memory = createMemoryStore({ now: () => 1_700_000_000_000 });
  const lands = [0, 1, 2].map(() => Promise.withResolvers<void>());
  const sent: number[] = [];
  const commit: Store['commit'] = async (given) => {
    sent.push(given.checkpoint.seq);
    await lands[given.checkpoint.seq]?.promise;
    return memory.commit(given);
  };
  const { engine } = createBench({ store: { ...memory, commit } });
  const calls: string[] = [];
  const graph = graphOf(
    'g',
    [node('a', 'pure', () => 1), node('b', 'pure', () => 1), node('pay', 'write', () => void calls.push('pay'))],
    edges('> a', 'a > b', 'b > pay', 'pay >'),
  );
  const handle = await engine.start(graph, {});
  await settleDown();
  expect(sent).toEqual([1, 2]);
  lands[1]?.resolve();
  await settleDown();
  expect(calls).toEqual([]);
  lands[2]?.resolve();
  expect((await handle.result()).status).toBe('completed');
  expect(calls).toEqual(['pay']);
});

test('K1a effects are packed for a store that outlives the process, and for one in memory they are not', async () => {
  const text = 'the quick brown fox jumps over the lazy dog '.repeat(100);
  const graph = graphOf(
    'g',
    [
      node('calls', 'pure', async (ctx) => {
        for (let call = 1; call <= 20; call += 1) await ctx.step(`call ${call}`, { effect: 'external' }, () => text);
      }),
    ],
    edges('> calls', 'calls >'),
  );
  const packedOn = async (durability: Durability): Promise<number> => {
    const store = {
      ...createMemoryStore({ now: () => 1_700_000_000_000 }),
      capabilities: { durability, isShared: false },
    };
    const { engine } = createBench({ store });
    expect((await runToRest(engine, graph, {}, 'r')).status).toBe('completed');
    const rows = await store.readCheckpoints({ tenant: 'default', runId: 'r' }, { from: 0, to: 99 });
    return rows.filter(({ body }) => body[0] !== '{'.charCodeAt(0)).length;
  };
  expect(await packedOn('none')).toBe(0);
  expect(await packedOn('power')).toBeGreaterThan(10);
});
