/** Child runs that begin at a node of their graph in place of its start (W6). */
import { describe, expect, test } from 'vitest';
import type { EdgeDefinition, Graph, GraphPolicies } from '../../graph/graph.ts';
import { outcome, type NodeContext } from '../../graph/contracts/node-contract.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';

const routings: readonly GraphPolicies['routing'][] = ['first', 'all'];

/** A node that runs a child from an entry and gives the names of what ran in it, in order. */
function parentOf(child: Graph, entry?: string): Graph {
  const run = async (ctx: NodeContext): Promise<unknown> => {
    const { status, state } = await ctx.run(child, 'in', entry === undefined ? {} : { entry });
    return [status, ...((state.scratch['ran'] as readonly string[] | undefined) ?? [])];
  };
  return graphOf('parent', [node('p', 'read', run)], edges('> p', 'p >'));
}

const says = (id: string, more: Parameters<typeof node>[3] = {}): ReturnType<typeof node> =>
  node(id, 'pure', () => outcome({ scratch: { ran: [id] } }), more);

function chain(routing: GraphPolicies['routing'], more: readonly EdgeDefinition[] = []): Graph {
  return graphOf(
    'child',
    [says('a'), says('b'), says('c', { join: 'all' }), says('d')],
    [...edges('> a', 'a > b', 'b > c', 'c > d', 'd >'), ...more],
    { policies: { routing }, reducers: { 'scratch.ran': 'append' } },
  );
}

describe.each(routings)('W6.8 routing %s', (routing) => {
  test('a child run begins at its entry, and what is before it never runs', async () => {
    const ranFrom = async (entry?: string): Promise<unknown> =>
      (await runToRest(createBench().engine, parentOf(chain(routing), entry))).state.outputs['p'];
    expect(await ranFrom()).toEqual(['completed', 'a', 'b', 'c', 'd']);
    expect(await ranFrom('a')).toEqual(['completed', 'a', 'b', 'c', 'd']);
    expect(await ranFrom('b')).toEqual(['completed', 'b', 'c', 'd']);
    expect(await ranFrom('d')).toEqual(['completed', 'd']);
  });

  test('a join waits for nothing from before the entry, and what fires always does not fire there', async () => {
    const child = chain(routing, [
      { from: 'a', to: 'c' },
      { from: 'a', to: 'd', always: true },
    ]);
    const result = await runToRest(createBench().engine, parentOf(child, 'b'));
    expect(result.state.outputs['p']).toEqual(['completed', 'b', 'c', 'd']);
  });

  test('a loop that leads back to before the entry runs that too, from its second round on', async () => {
    const back = (visits: number) => ({
      text: `until ${visits}`,
      evaluate: ({ state }: { readonly state: { readonly scratch: Readonly<Record<string, unknown>> } }) =>
        (state.scratch['ran'] as readonly string[]).filter((id) => id === 'b').length < visits,
    });
    const child = graphOf(
      'child',
      [says('a'), says('b'), says('c', { join: 'all' })],
      [...edges('> a', 'a > b'), { from: 'b', to: 'a', condition: back(2) }, ...edges('b > c', 'c >')],
      { policies: { routing: 'first' }, reducers: { 'scratch.ran': 'append' } },
    );
    const result = await runToRest(createBench().engine, parentOf(child, 'b'));
    expect(result.state.outputs['p']).toEqual(['completed', 'b', 'a', 'b', 'c']);
  });

  test('the entry is on record: a child that asks goes on from there after a crash, and in a fork', async () => {
    const asking = graphOf(
      'child',
      [
        says('a'),
        node('b', 'human', async (ctx) => (await ctx.ask({ prompt: '?' }), outcome({ scratch: { ran: ['b'] } }))),
        says('c', { join: 'all' }),
      ],
      edges('> a', 'a > b', 'a > c', 'b > c', 'c >'),
      { policies: { routing }, reducers: { 'scratch.ran': 'append' } },
    );
    const graph = parentOf(asking, 'b');
    const bench = createBench();
    const { runId, seq, waits } = await runToRest(bench.engine, graph);
    const fork = await bench.engine.fork({ runId, seq });
    for (const id of [runId, fork.runId]) {
      const engine = afterCrash(bench);
      await engine.answer(id, waits[0]?.waitId ?? '', 'yes');
      expect((await resumeToRest(engine, id, graph)).state.outputs['p']).toEqual(['completed', 'b', 'c']);
    }
  });
});

test('W6.8 an entry that the graph does not have is refused, and names those it has', async () => {
  for (const entry of ['x', '__start__', '__end__']) {
    const { error } = await runToRest(createBench().engine, parentOf(chain('all'), entry));
    const message: unknown = expect.stringContaining(`no node '${entry}' to begin at; it has a, b, c, d`);
    expect(error?.cause).toMatchObject({ code: 'NODE_CALL_REFUSED', message });
  }
});

test('W6.8 a child run that is recorded from one entry is not taken up from another', async () => {
  const asking = graphOf(
    'child',
    [says('a'), node('b', 'human', (ctx) => ctx.ask({ prompt: '?' }))],
    edges('> a', 'a > b', 'b >'),
    { reducers: { 'scratch.ran': 'append' } },
  );
  const bench = createBench();
  const { runId, waits } = await runToRest(bench.engine, parentOf(asking, 'b'));
  const engine = afterCrash(bench);
  await engine.answer(runId, waits[0]?.waitId ?? '', 'yes');
  const { error } = await resumeToRest(engine, runId, parentOf(asking, 'a'));
  const message: unknown = expect.stringContaining("begun at 'b', and is called for at 'a'");
  expect(error?.cause).toMatchObject({ code: 'NODE_CALL_REFUSED', message });
});
