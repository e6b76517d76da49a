/** What a parent sees of the runs inside its child run (W6.9). */
import { expect, test } from 'vitest';
import type { Graph } from '../../graph/graph.ts';
import type { ChildHandle, NodeContext } from '../../graph/contracts/node-contract.ts';
import { dyingEngine, settleDown } from '../../../test/dying-engine.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';

const settles = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** What is seen in two rounds of a child, by the names of the rounds. */
async function look(handle: ChildHandle): Promise<unknown> {
  const [one, two] = [await handle.stateIn('rounds', '1'), await handle.stateIn('rounds', '2')];
  return [one?.outputs ?? null, two?.outputs ?? null];
}

/** A child that goes through two rounds, asks in the second, and is looked at by its parent before, between, there and after. */
function looking(seen: unknown[]): Graph {
  const round = graphOf(
    'round',
    [
      node('hears', 'read', (ctx) => ctx.receive('go')),
      node('asks', 'human', (ctx) => (ctx.input === 2 ? ctx.ask({ prompt: '?' }) : 'no question')),
    ],
    edges('> hears', 'hears > asks', 'asks >'),
  );
  const rounds = async (ctx: NodeContext): Promise<void> => {
    await ctx.run(round, 1, { name: '1' });
    await ctx.run(round, 2, { name: '2' });
  };
  const child = graphOf(
    'child',
    [node('rounds', 'read', rounds, { subgraph: round }), node('plain', 'pure', () => 1)],
    edges('> plain', 'plain > rounds', 'rounds >'),
  );
  const looks = async (ctx: NodeContext): Promise<unknown> => {
    const handle = await ctx.start(child, {});
    const own: unknown[] = [];
    for (const word of ['a', 'b']) {
      await handle.signal('go', word);
      await ctx.step('beside', { effect: 'external', idempotent: true }, settles);
      own.push(await look(handle));
    }
    seen.push([...own]);
    await handle.result();
    own.push(await look(handle), await handle.stateIn('plain', '1'), await handle.stateIn('nothing', '1'));
    return own;
  };
  return graphOf('g', [node('p', 'read', looks)], edges('> p', 'p >'));
}

const between = [{ hears: 'a', asks: 'no question' }, {}];
const asking = [between[0], { hears: 'b' }];
const none = [null, null];

test('W6.9 a handle shows the state of a run inside its child as it was seen first, also after a crash and in a fork', async () => {
  const bench = createBench();
  const seen: unknown[] = [];
  const graph = looking(seen);
  const { runId, waits, seq } = await runToRest(bench.engine, graph);
  const engine = afterCrash(bench);
  const fork = await engine.fork({ runId, seq });
  for (const id of [runId, fork.runId]) {
    const [asked] = id === runId ? waits : (await resumeToRest(engine, id, graph)).waits;
    await engine.answer(id, asked?.waitId ?? '', 'yes');
    const { state } = await resumeToRest(engine, id, graph);
    expect(state.outputs['p']).toEqual([between, asking, none, null, null]);
  }
  expect(seen.length).toBeGreaterThan(2);
  expect(new Set(seen.map((own) => JSON.stringify(own)))).toEqual(new Set([JSON.stringify([between, asking])]));
});

test('P1 W6.9 killed at every commit, it shows what it showed, and what is there now', async () => {
  let trials = 0;
  for (let commits = 1; commits < 40; commits += 1) {
    const bench = createBench();
    const died = Promise.withResolvers<undefined>();
    const dying = dyingEngine(bench, commits, () => died.resolve(undefined));
    const handle = await dying.start(looking([]), {}, { runId: 'r' });
    const first = await Promise.race([handle.result(), died.promise]);
    await settleDown();
    const engine = afterCrash(bench);
    const seen: unknown[] = [];
    const graph = looking(seen);
    const { waits } = first ?? (await resumeToRest(engine, 'r', graph));
    await engine.answer('r', waits[0]?.waitId ?? '', 'yes');
    await resumeToRest(engine, 'r', graph);
    expect(seen.at(-1)).toEqual([between, asking]);
    if (first !== undefined) break;
    trials += 1;
  }
  expect(trials).toBeGreaterThan(5);
});
