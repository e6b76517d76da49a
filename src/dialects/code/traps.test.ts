/**
 * Ways in which graph runtimes go wrong without a word, each shown not to be here: effects and resumes, routing, history. The rest:
 * traps-of-runs.test.ts for people, failures, policies, ownership and time; test/traps.test.ts for what is not of this dialect alone.
 */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { END, humanNode, NodeFailure, outcome, routerNode, START, toolNode, workflow } from '../../index.ts';
import { createVirtualClock } from '../../ports/virtual-clock.ts';
import { chain, collect, diamond, later, open } from '../../../test/support/small-graphs.ts';
import type { StreamEvent } from '../../engine/api.ts';

const durable = (events: readonly StreamEvent[]) => events.filter((event) => event.type === 'checkpoint');

/** A tool that fails the first time. */
function failingOnce(calls: string[], failure: () => Error) {
  return {
    name: 'pay',
    execute: (): string => {
      calls.push('pay');
      if (calls.length === 1) throw failure();
      return 'paid';
    },
  };
}

describe('effects and resume', () => {
  test('X3 a failed effect that did not happen is tried again by resume, not passed over', async () => {
    const calls: string[] = [];
    const graph = open().addNode('pay', toolNode(failingOnce(calls, () => new NodeFailure('down', { applied: 'no' }))));
    const compiled = chain(
      graph.addNode('next', ({ state }) => `${String(state.outputs['pay'])}!`),
      'pay',
      'next',
    ).compile();
    const failed = await compiled.invoke({});
    expect([failed.status, failed.failed, calls.length]).toEqual(['failed', ['pay'], 1]);
    const resumed = await compiled.resume(failed.runId);
    expect([resumed.status, resumed.state.outputs['next'], calls.length]).toEqual(['completed', 'paid!', 2]);
  });

  test('X3 a failed effect that may have happened becomes a question, not a success', async () => {
    const calls: string[] = [];
    const graph = chain(
      open().addNode('pay', toolNode(failingOnce(calls, () => new Error('connection reset')))),
      'pay',
    );
    const compiled = graph.compile();
    const { runId } = await compiled.invoke({});
    const resumed = await compiled.resume(runId);
    expect([resumed.status, resumed.waits.map(({ kind }) => kind), calls.length]).toEqual(['paused', ['doubt'], 1]);
    const answered = await compiled.resume(runId, { answers: { pay: { decision: 'happened', output: 'by hand' } } });
    expect([answered.status, answered.state.outputs['pay'], calls.length]).toEqual(['completed', 'by hand', 1]);
  });

  test('E5 artifacts written side by side are all kept', async () => {
    const graph = open();
    for (const id of ['x', 'y', 'z']) graph.addNode(id, () => outcome({ artifacts: { [id]: id } }));
    const { state } = await diamond(
      graph.addNode('end', ({ state }) => Object.keys(state.artifacts).sort(), { join: 'all' }),
      ['x', 'y', 'z'],
      'end',
    )
      .compile()
      .invoke({});
    expect(state.artifacts).toEqual({ x: 'x', y: 'y', z: 'z' });
    expect(state.outputs['end']).toEqual(['x', 'y', 'z']);
  });

  test('G8 what siblings of a failed node did is kept, and not done again', async () => {
    const calls = { good: 0, bad: 0 };
    const graph = open()
      .addNode('good', async () => {
        await later();
        calls.good += 1;
        return outcome({ scratch: { good: 1 }, artifacts: { good: 2 } });
      })
      .addNode('bad', () => {
        calls.bad += 1;
        if (calls.bad === 1) throw new Error('no');
        return outcome({ scratch: { bad: 1 } });
      })
      .addNode('end', ({ state }) => ({ ...state.scratch, ...state.artifacts }), { join: 'all' });
    const compiled = diamond(graph, ['good', 'bad'], 'end').compile();
    const failed = await compiled.invoke({});
    expect([failed.status, failed.state.scratch, failed.state.artifacts]).toEqual(['failed', { good: 1 }, { good: 2 }]);
    const resumed = await compiled.resume(failed.runId);
    expect(resumed.status).toBe('completed');
    expect(calls).toEqual({ good: 1, bad: 2 });
  });

  test('C1 every checkpoint of parallel work holds what it says is done: from each, the join sees all arms', async () => {
    const graph = open({ checkpointPolicy: 'every_node' });
    for (const id of ['x', 'y', 'z']) graph.addNode(id, () => outcome({ scratch: { [id]: true }, output: id }));
    graph.addNode('join', ({ state }) => Object.keys(state.scratch).sort().join(''), { join: 'all' });
    const compiled = diamond(graph, ['x', 'y', 'z'], 'join').compile();
    const run = await compiled.invoke({});
    for (let seq = 0; seq <= run.seq; seq += 1) {
      const fork = await compiled.fork({ runId: run.runId, seq });
      const { status, state } = await compiled.resume(fork);
      expect([seq, status, state.outputs['join']]).toEqual([seq, 'completed', 'xyz']);
    }
  });

  test('E5 parallel updates merge through a reducer once each', async () => {
    const graph = open({ reducers: { 'scratch.sum': 'sum', 'scratch.mean': 'avg', 'scratch.list': 'append' } });
    graph.addNode('first', () => outcome({ scratch: { sum: 5, mean: 1, list: ['first'] } })).addEdge(START, 'first');
    for (const [id, value] of [
      ['x', 2],
      ['y', 3],
    ] as const) {
      graph
        .addNode(id, () => outcome({ scratch: { sum: 1, mean: value, list: [id] } }))
        .addEdge('first', id)
        .addEdge(id, END);
    }
    const { state } = await graph.compile().invoke({});
    expect(state.scratch).toMatchObject({ sum: 7, mean: 2 });
    expect([...(state.scratch['list'] as string[])].sort()).toEqual(['first', 'x', 'y']);
  });
});

describe('routing', () => {
  const recorder = () => {
    const ran: string[] = [];
    return { ran, node: (id: string) => () => void ran.push(id) };
  };

  test('G3 what hangs on a branch that was not taken does not run', async () => {
    const { ran, node } = recorder();
    const graph = open();
    for (const id of ['a', 'b', 'c', 'd', 'e']) graph.addNode(id, node(id));
    graph.addEdge(START, 'a').addConditionalEdge('a', () => 'b', ['b', 'c']);
    graph.addEdge('c', 'd').addEdge('d', 'e').addEdge('b', END).addEdge('e', END);
    const result = await graph.compile().invoke({});
    expect(ran).toEqual(['a', 'b']);
    expect([...result.skipped].sort()).toEqual(['c', 'd', 'e']);
  });

  test('G3 a node that one parent does not choose runs if another does', async () => {
    const { ran, node } = recorder();
    const graph = open();
    for (const id of ['a', 'b', 'shared']) graph.addNode(id, node(id)).addEdge(id, END);
    graph.addEdge(START, 'a').addEdge(START, 'b');
    graph.addEdge('a', 'shared', { when: () => false }).addEdge('b', 'shared', { when: () => true });
    await graph.compile().invoke({});
    expect(ran.sort()).toEqual(['a', 'b', 'shared']);
  });

  test('G3 a workflow branch runs the arm that was chosen, and what comes after it', async () => {
    const { ran, node } = recorder();
    const flow = workflow('orders')
      .input(z.object({ total: z.number() }))
      .branch(({ state }) => (state.input.total > 100 ? 'review' : 'accept'), {
        review: node('review'),
        accept: node('accept'),
      })
      .then('ship', node('ship'))
      .returns(() => 'done');
    const result = await flow.compile().invoke({ total: 200 });
    expect([result.status, result.output, ran]).toEqual(['completed', 'done', ['review', 'ship']]);
  });

  test('G6 a conditional edge leads on from any node, and from START', async () => {
    const { ran, node } = recorder();
    const graph = open();
    for (const id of ['a', 'b', 'c']) graph.addNode(id, node(id)).addEdge(id, id === 'a' ? 'c' : END);
    graph
      .addConditionalEdge(START, () => 'a', ['a', 'b'])
      .addConditionalEdge('c', () => 'stop', { stop: END, back: 'b' });
    const result = await graph.compile().invoke({});
    expect([result.status, ran]).toEqual(['completed', ['a', 'c']]);
  });

  test('G4 cycles run until their condition ends them', async () => {
    const graph = open({ reducers: { 'scratch.tries': 'sum' } })
      .addNode('try', ({ visit }) => outcome({ output: visit, scratch: { tries: 1 } }))
      .addNode('done', ({ state }) => state.scratch['tries'])
      .addEdge(START, 'try')
      .addConditionalEdge('try', ({ state }) => (Number(state.scratch['tries']) < 4 ? 'try' : 'done'), ['try', 'done'])
      .addEdge('done', END);
    const { status, state } = await graph.compile().invoke({});
    expect([status, state.outputs['try'], state.outputs['done']]).toEqual(['completed', 4, 4]);
  });

  test('G6 a route to nowhere fails the run and names what was asked for', async () => {
    for (const [id, build] of [
      [
        'router',
        () =>
          chain(
            open().addNode(
              'router',
              routerNode(() => 'moon'),
            ),
            'router',
          ),
      ],
      [
        'choice',
        () =>
          open()
            .addNode('choice', () => 1)
            .addEdge(START, 'choice')
            .addConditionalEdge('choice', () => 'moon' as never, [END]),
      ],
    ] as const) {
      const result = await build().compile().invoke({});
      expect([id, result.status, result.failed]).toEqual([id, 'failed', [id]]);
      expect(JSON.stringify([result.error?.message, result.error?.data, String(result.error?.cause)])).toContain(
        'moon',
      );
    }
  });

  test('G10 a choice of END ends that line, and nothing that was not chosen runs', async () => {
    const { ran, node } = recorder();
    const graph = open();
    for (const id of ['a', 'b', 'c']) graph.addNode(id, node(id));
    graph
      .addEdge(START, 'a')
      .addConditionalEdge('a', () => END, ['b', END])
      .addEdge('b', 'c')
      .addEdge('c', END);
    const result = await graph.compile().invoke({});
    expect([result.status, ran, [...result.skipped].sort()]).toEqual(['completed', ['a'], ['b', 'c']]);
  });

  test('G6 a condition is a function or is refused: nothing guesses what text may mean', async () => {
    const graph = chain(
      open().addNode('a', () => 1),
      'a',
    ).addEdge('a', END, { when: '(scratch.n > 1' as never });
    expect(() => graph.compile()).toThrow(/condition/);
    const unsure = chain(
      open().addNode('a', () => 1),
      'a',
    ).addEdge('a', END, { when: (() => 'no') as never });
    const result = await unsure.compile().invoke({});
    expect([result.status, result.failed]).toEqual(['failed', ['a']]);
  });
});

describe('history', () => {
  test('C3 the newest checkpoint is the one with the highest seq, however fast they were made', async () => {
    const clock = createVirtualClock();
    const graph = open({ checkpointPolicy: 'every_node' });
    const ids = Array.from({ length: 8 }, (_, index) => `n${index}`);
    for (const id of ids) graph.addNode(id, () => id);
    const compiled = chain(graph, ...ids).compile({ clock });
    const { runId } = await compiled.invoke({}, { runId: 'quick' });
    const events = durable(await collect(compiled.events(runId)));
    expect(new Set(events.map(({ at }) => at)).size).toBe(1);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
    const head = await compiled.inspect('quick');
    expect([head.seq, head.state.outputs['n7']]).toEqual([events.length - 1, 'n7']);
  });

  test('C2 history is not shared with anyone: later nodes and callers cannot rewrite it', async () => {
    const kept = { list: [1] };
    const graph = open({ checkpointPolicy: 'every_node' })
      .addNode('a', () => outcome({ scratch: { kept } }))
      .addNode('b', ({ state }) => {
        kept.list.push(2);
        expect(() => (state.scratch['kept'] as typeof kept).list.push(3)).toThrow(TypeError);
        return (state.scratch['kept'] as typeof kept).list.length;
      });
    const compiled = chain(graph, 'a', 'b').compile();
    const result = await compiled.invoke({});
    expect([result.state.outputs['b'], result.state.scratch]).toEqual([1, { kept: { list: [1] } }]);
    const forked = await compiled.resume(await compiled.fork({ runId: result.runId, seq: 1 }));
    expect(forked.state.scratch).toEqual({ kept: { list: [1] } });
  });

  test('C1 a resumed run goes on making checkpoints', async () => {
    let isDown = true;
    const graph = open({ checkpointPolicy: 'every_node' })
      .addNode('a', () => {
        if (isDown) throw new Error('down');
      })
      .addNode('b', () => 1)
      .addNode('c', () => 2);
    const compiled = chain(graph, 'a', 'b', 'c').compile();
    const failed = await compiled.invoke({});
    isDown = false;
    const resumed = await compiled.resume(failed.runId);
    expect(resumed.seq).toBeGreaterThanOrEqual(failed.seq + 3);
  });

  test('C10 policy none writes the start and the end; a node of every_node can opt out', async () => {
    const build = (checkpointPolicy: 'every_node' | 'none', checkpoint?: 'none') => {
      const graph = open({ checkpointPolicy });
      for (const id of ['a', 'b', 'c', 'd'])
        graph.addNode(id, () => id, checkpoint === undefined ? {} : { checkpoint });
      return chain(graph, 'a', 'b', 'c', 'd').compile().invoke({});
    };
    const [every, none, optedOut] = [await build('every_node'), await build('none'), await build('every_node', 'none')];
    expect(every.seq).toBeGreaterThanOrEqual(4);
    expect(none.seq).toBe(1);
    expect(optedOut.seq).toBe(1);
    expect(none.state.outputs).toEqual({ a: 'a', b: 'b', c: 'c', d: 'd' });
  });

  test('H2 a fork takes a routing decision again when the patch touches what it read', async () => {
    const graph = open({ checkpointPolicy: 'every_node' })
      .addNode('judge', () => outcome({ scratch: { confidence: 0.2 } }))
      .addNode('again', () => 'again')
      .addNode('publish', () => 'publish')
      .addEdge(START, 'judge')
      .addConditionalEdge('judge', ({ state }) => (Number(state.scratch['confidence']) > 0.9 ? 'publish' : 'again'), [
        'again',
        'publish',
      ])
      .addEdge('again', END)
      .addEdge('publish', END);
    const compiled = graph.compile();
    const run = await compiled.invoke({});
    expect(run.skipped).toEqual(['publish']);
    const fork = await compiled.fork({ runId: run.runId, seq: 1 }, { set: { 'scratch.confidence': 0.95 } });
    const forked = await compiled.resume(fork);
    expect([forked.status, forked.skipped, forked.state.outputs['publish']]).toEqual([
      'completed',
      ['again'],
      'publish',
    ]);
    expect((await compiled.inspect(run.runId)).state.scratch).toEqual({ confidence: 0.2 });
  });

  test('G1 H3 ids and hashes are stable, and a run does not go on silently under another graph', async () => {
    const build = (version: string) =>
      chain(
        open({ id: 'mailer' })
          .addNode('ask', humanNode({ prompt: 'Send?' }))
          .addNode('send', () => 1, { version }),
        'ask',
        'send',
      );
    expect(build('1').toGraph().hash).toBe(build('1').toGraph().hash);
    expect(build('1').toGraph().id).toBe('mailer');
    const first = build('1').compile();
    const { runId } = await first.invoke({});
    const shorter = chain(
      open({ id: 'mailer' }).addNode('other', () => 1),
      'other',
    ).compile({ engine: first.engine });
    await expect(shorter.resume(runId)).rejects.toMatchObject({ code: 'RUN_GRAPH_CHANGED' });
    expect((await first.resume(runId, { answers: { ask: 'yes' } })).status).toBe('completed');
  });

  test('C2 values beyond JSON come back as they were', async () => {
    const values = {
      big: 2n ** 70n,
      when: new Date(5),
      map: new Map([['a', new Set([1])]]),
      bytes: Uint8Array.of(1, 2),
      nan: Number.NaN,
    };
    const graph = open({ checkpointPolicy: 'every_node' })
      .addNode('a', () => values)
      .addNode('b', humanNode({ prompt: '?' }));
    const compiled = chain(graph, 'a', 'b').compile();
    const { runId } = await compiled.invoke({});
    const { state } = await compiled.resume(runId, { answers: { b: 'ok' } });
    expect(state.outputs['a']).toEqual(values);
  });

  test('C1 diagnostics are state: a pause and a resume keep them', async () => {
    const graph = open({ reducers: { 'diagnostics.tokens': 'sum' } })
      .addNode('a', () => outcome({ diagnostics: { tokens: 7 } }))
      .addNode('ask', humanNode({ prompt: '?' }))
      .addNode('b', () => outcome({ diagnostics: { tokens: 5 } }));
    const compiled = chain(graph, 'a', 'ask', 'b').compile();
    const { runId } = await compiled.invoke({});
    expect((await compiled.resume(runId, { answers: { ask: 'ok' } })).state.diagnostics).toEqual({ tokens: 12 });
  });

  test('C2 live objects are refused with their path, and what was committed stays', async () => {
    const graph = chain(
      open()
        .addNode('a', () => 1)
        .addNode('b', () => outcome({ scratch: { voice: { transport: () => 1 } } })),
      'a',
      'b',
    );
    const result = await graph.compile().invoke({});
    expect([result.status, result.failed, result.state.outputs['a']]).toEqual(['failed', ['b'], 1]);
    expect(JSON.stringify([result.error?.data, result.error?.message, String(result.error?.cause)])).toContain(
      'transport',
    );
  });
});
