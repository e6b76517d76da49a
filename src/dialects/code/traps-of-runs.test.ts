/** The rest of traps.test.ts: people, failures, policies, ownership and time. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { chain, collect, diamond, later, open } from '../../../test/support/small-graphs.ts';
import {
  AgentGraph,
  CairnError,
  END,
  guardrailNode,
  humanNode,
  outcome,
  START,
  subgraphNode,
  toolNode,
  workflow,
} from '../../index.ts';
import { createVirtualClock } from '../../ports/virtual-clock.ts';

describe('people', () => {
  test('W2 an answer reaches the node that asked, by node, by wait id, or beforehand', async () => {
    const build = () =>
      chain(
        open()
          .addNode('ask', humanNode({ prompt: 'Ship it?', choices: ['yes', 'no'] }))
          .addNode('act', ({ state }) => `said ${String(state.outputs['ask'])}`),
        'ask',
        'act',
      ).compile();
    const compiled = build();
    const paused = await compiled.invoke({});
    expect([paused.status, paused.waits.map(({ prompt }) => prompt)]).toEqual(['paused', ['Ship it?']]);
    await expect(compiled.resume(paused.runId, { answers: { ask: 'maybe' } })).rejects.toMatchObject({
      code: 'ANSWER_INVALID',
    });
    await expect(compiled.resume(paused.runId, { answers: { nobody: 'yes' } })).rejects.toMatchObject({
      code: 'WAIT_NOT_FOUND',
    });
    const done = await compiled.resume(paused.runId, { answers: { ask: 'yes' }, by: 'ada' });
    expect([done.status, done.state.outputs['act']]).toEqual(['completed', 'said yes']);

    const other = build();
    const { runId, waits } = await other.invoke({});
    await other.answer(runId, waits[0]?.waitId ?? '', 'no');
    expect((await other.resume(runId)).state.outputs['act']).toBe('said no');
  });

  test('W5 a question has a deadline without any judge, also when nobody was there as it passed', async () => {
    const clock = createVirtualClock();
    const graph = chain(
      open().addNode('ask', humanNode({ prompt: '?', timeoutMs: 60_000, defaultAnswer: 'go' })),
      'ask',
    );
    const compiled = graph.compile({ clock });
    const paused = await compiled.invoke({});
    expect(paused.status).toBe('paused');
    await clock.advance(30_000);
    expect((await compiled.resume(paused.runId)).status).toBe('paused');
    await clock.advance(30_000);
    const done = await compiled.resume(paused.runId);
    expect([done.status, done.state.outputs['ask']]).toEqual(['completed', 'go']);
  });
});

describe('failures', () => {
  test('G10 completed, failed and paused are told apart by the status', async () => {
    const statusOf = async (graph: AgentGraph): Promise<string> =>
      (await chain(graph, 'a').compile().invoke({})).status;
    expect(await statusOf(open().addNode('a', () => 1))).toBe('completed');
    expect(await statusOf(open().addNode('a', () => Promise.reject(new Error('no'))))).toBe('failed');
    expect(await statusOf(open().addNode('a', humanNode({ prompt: '?' })))).toBe('paused');
  });

  test('E6 G6 what is thrown is retried, recorded and returned; it does not escape', async () => {
    let calls = 0;
    const retried = open().addNode(
      'a',
      () => {
        calls += 1;
        if (calls < 3) throw new Error('flaky');
        return calls;
      },
      { retry: { attempts: 3, delayMs: 1 } },
    );
    const good = await chain(retried, 'a').compile().invoke({});
    expect([good.status, good.state.outputs['a']]).toEqual(['completed', 3]);

    const condition = open()
      .addNode('a', () => 1)
      .addEdge(START, 'a')
      .addEdge('a', END, {
        when: () => {
          throw new Error('bad condition');
        },
      });
    const failed = await condition.compile().invoke({});
    expect([failed.status, failed.failed]).toEqual(['failed', ['a']]);
    expect(failed.error).toBeInstanceOf(CairnError);
  });

  test('G7 what is not there does not pretend to work: a tool, a child graph', () => {
    const unknown = open().addNode('find', toolNode('search')).addEdge(START, 'find').addEdge('find', END);
    expect(() => unknown.compile()).toThrow(/node find calls the tool search, which the graph is not given/);
    expect(() => subgraphNode({ id: 'child' } as never)).toThrow(/graph/);
  });

  test('G8 a guardrail blocks only when it says block: warn goes on, sanitize mends, reroute reroutes', async () => {
    const run = async (onViolation: 'block' | 'warn' | 'sanitize' | 'reroute') => {
      const guard = guardrailNode({
        check: () => ({ passed: false, reason: 'secret', sanitized: { scratch: { text: 'clean' } } }),
        onViolation,
        ...(onViolation === 'reroute' ? { rerouteTarget: 'mend' } : {}),
      });
      const graph = open()
        .addNode('guard', guard)
        .addNode('go', ({ state }) => state.scratch['text'] ?? 'as it was')
        .addNode('mend', () => 'mended');
      graph.addEdge(START, 'guard').addEdge('guard', 'go').addEdge('go', END).addEdge('mend', END);
      graph.addEdge('guard', 'mend', onViolation === 'reroute' ? {} : { when: () => false });
      const { status, state } = await graph.compile().invoke({});
      return [status, state.outputs['go'], state.outputs['mend']];
    };
    expect(await run('block')).toEqual(['failed', undefined, undefined]);
    expect(await run('warn')).toEqual(['completed', 'as it was', undefined]);
    expect(await run('sanitize')).toEqual(['completed', 'clean', undefined]);
    expect(await run('reroute')).toEqual(['completed', undefined, 'mended']);
  });

  test('C2 an error keeps its code, its data and its cause', async () => {
    const failing = () => {
      throw Object.assign(new Error('quota', { cause: new Error('429') }), { code: 'QUOTA' });
    };
    const compiled = chain(open().addNode('a', failing), 'a').compile();
    const { runId, error } = await compiled.invoke({});
    expect(error).toMatchObject({
      code: 'NODE_FAILED',
      cause: { message: 'quota', code: 'QUOTA', cause: { message: '429' } },
    });
    expect((await compiled.inspect(runId)).error).toMatchObject({
      code: 'NODE_FAILED',
      cause: { message: 'quota', code: 'QUOTA', cause: { message: '429' } },
    });
  });
});

describe('policies', () => {
  test('C1 P6 without an input the schema is given an empty object: what is missing is named, and defaults hold', async () => {
    const echo = (schema: z.ZodType): ReturnType<typeof open> =>
      chain(
        open({}, { input: schema }).addNode('a', ({ input }) => input),
        'a',
      );
    const n = z.number().default(3);
    const done = await echo(z.object({ n })).compile().invoke(undefined);
    expect([done.status, done.state.outputs['a']]).toEqual(['completed', { n: 3 }]);
    const late = z.object({ n }).refine(() => Promise.resolve(true));
    expect(
      (
        await echo(late)
          .compile()
          .invoke(undefined as never)
      ).state.outputs['a'],
    ).toEqual({ n: 3 });
    const missing = echo(z.object({ n, topic: z.string() })).compile();
    await expect(missing.invoke(undefined as never)).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringMatching(/: topic: .*string/) as string,
    });
    const one = await echo(z.undefined()).compile().invoke(undefined);
    expect(one.status).toBe('completed');
  });

  test('G9 schemas are enforced, and what would have no effect is refused', async () => {
    const schemas = { input: z.object({ n: z.number().default(3) }), scratch: z.object({ n: z.number() }) };
    const compiled = new AgentGraph(schemas)
      .addNode('a', ({ state }) => outcome({ scratch: { n: state.input.n === 3 ? 1 : ('many' as never) } }))
      .addEdge(START, 'a')
      .addEdge('a', END)
      .compile();
    await expect(compiled.invoke({ n: 'x' } as never)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    expect((await compiled.invoke({})).state).toMatchObject({ input: { n: 3 }, scratch: { n: 1 } });
    const bad = await compiled.invoke({ n: 4 });
    expect([bad.status, bad.failed]).toEqual(['failed', ['a']]);
    for (const option of ['memoryConsistency', 'discovery', 'persona', 'guardrails', 'transport']) {
      expect(() => open({ [option]: {} }).toGraph()).toThrow(new RegExp(option));
      expect(() =>
        chain(
          open().addNode('a', () => 1, { [option]: {} }),
          'a',
        ).toGraph(),
      ).toThrow(new RegExp(option));
    }
    expect('addDiscoveryEdge' in AgentGraph.prototype || 'addPersonalityEdge' in AgentGraph.prototype).toBe(false);
  });

  test('G3 a workflow waits for any arm or a quorum, cancels the rest, and hears onFailure', async () => {
    const aborted: string[] = [];
    const slow =
      (id: string) =>
      ({ signal }: { readonly signal: AbortSignal }) =>
        new Promise<string>((_, reject) => {
          signal.addEventListener('abort', () => {
            aborted.push(id);
            reject(new Error('aborted'));
          });
        });
    const begin = () => workflow('race').input(z.object({}));
    const any = await begin()
      .parallel({ quick: later, slow: slow('slow') }, { join: 'any' })
      .then('end', () => 1)
      .returns(() => 'done')
      .compile()
      .invoke({});
    expect([any.status, any.output, aborted]).toEqual(['completed', 'done', ['slow']]);
    const arms = { one: () => 1, two: later, three: slow('three') };
    const quorum = await begin()
      .parallel(arms, { join: { quorum: 2 } })
      .returns(() => 'done')
      .compile()
      .invoke({});
    expect([quorum.status, aborted]).toEqual(['completed', ['slow', 'three']]);
    const ran: string[] = [];
    const long = await begin()
      .parallel(
        (arm) => ({ quick: later, long: arm.step('first', slow('first')).then('second', () => ran.push('second')) }),
        { join: 'any' },
      )
      .returns(() => 'done')
      .compile()
      .invoke({});
    expect([long.status, aborted.at(-1), ran]).toEqual(['completed', 'first', []]);
    const fails = () => {
      throw new Error('no');
    };
    const continued = await begin()
      .step('bad', fails, { onFailure: 'continue' })
      .then('next', () => 2)
      .returns(({ state }) => state.artifacts.next)
      .compile()
      .invoke({});
    expect([continued.status, continued.output]).toEqual(['completed', 2]);
    expect(() =>
      begin()
        .parallel({ a: () => 1 }, { timeout: 5 } as never)
        .returns(() => 1)
        .toGraph(),
    ).toThrow(/timeout/);
  });

  test('E9 a tool takes its arguments from the state', async () => {
    const tool = { name: 'greet', execute: ({ name }: { name: string }) => `Hello ${name}` };
    const graph = open()
      .addNode('who', () => 'Ada')
      .addNode('greet', toolNode(tool, { args: ({ state }) => ({ name: state.outputs['who'] }) }));
    expect((await chain(graph, 'who', 'greet').compile().invoke({})).state.outputs['greet']).toBe('Hello Ada');
  });
});

describe('ownership and time', () => {
  test('P4 resuming twice at once does each effect once', async () => {
    const calls: string[] = [];
    const tool = {
      name: 'pay',
      execute: async () => {
        calls.push('pay');
        await later();
      },
    };
    const compiled = chain(
      open()
        .addNode('ask', humanNode({ prompt: '?' }))
        .addNode('pay', toolNode(tool)),
      'ask',
      'pay',
    ).compile();
    const { runId } = await compiled.invoke({});
    await compiled.answer(runId, 'ask', 'go');
    const both = await Promise.allSettled([compiled.resume(runId), compiled.resume(runId)]);
    const refused = both.filter((one) => one.status === 'rejected');
    expect(both.length - refused.length).toBeGreaterThan(0);
    for (const { reason } of refused) expect(reason).toMatchObject({ code: 'CLAIM_TAKEN' });
    expect(calls).toEqual(['pay']);
    expect((await compiled.resume(runId)).status).toBe('completed');
    expect(calls).toEqual(['pay']);
  });

  test('E6 a timeout ends the work through its signal, and leaves no timer behind', async () => {
    const clock = createVirtualClock();
    let isAborted = false;
    const graph = open().addNode(
      'slow',
      ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            isAborted = true;
            reject(signal.reason as Error);
          });
          void later().then(() => clock.advance(50));
        }),
      { timeoutMs: 50 },
    );
    const late = await chain(graph, 'slow').compile({ clock }).invoke({});
    expect([late.status, late.failed, isAborted]).toEqual(['failed', ['slow'], true]);
    const quick = chain(
      open().addNode('quick', () => 1, { timeoutMs: 3_000 }),
      'quick',
    ).compile({ clock });
    await quick.invoke({});
    await quick.close();
    expect(clock.timerCount).toBe(0);
  });

  test('E7 E8 G4 a run can be cancelled and is bounded: visits, concurrency', async () => {
    const abort = new AbortController();
    const hang = ({ signal }: { readonly signal: AbortSignal }) =>
      new Promise<void>((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('stopped')));
        void later().then(() => abort.abort());
      });
    const cancelled = await chain(open().addNode('hang', hang), 'hang').compile().invoke({}, { signal: abort.signal });
    expect(cancelled.status).toBe('cancelled');

    const endless = open({ maxVisits: 5 })
      .addNode('a', ({ visit }) => visit)
      .addEdge(START, 'a')
      .addEdge('a', 'a');
    const bounded = await endless.compile().invoke({});
    expect([bounded.status, bounded.failed]).toEqual(['failed', ['a']]);

    let running = 0;
    let most = 0;
    const sides = Array.from({ length: 6 }, (_, index) => `n${index}`);
    const wide = open({ concurrency: 2 }).addNode('end', () => 1, { join: 'all' });
    for (const id of sides) {
      wide.addNode(id, async () => {
        running += 1;
        most = Math.max(most, running);
        await later();
        running -= 1;
      });
    }
    expect((await diamond(wide, sides, 'end').compile().invoke({})).status).toBe('completed');
    expect(most).toBe(2);
  });

  test('E1 a quick line does not wait for a slow one beside it, and its events come at once', async () => {
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const graph = open({ checkpointPolicy: 'every_node' })
      .addNode('slow', () => gate)
      .addNode('quick', () => 1)
      .addNode('after', () => release());
    graph
      .addEdge(START, 'slow')
      .addEdge(START, 'quick')
      .addEdge('quick', 'after')
      .addEdge('after', END)
      .addEdge('slow', END);
    const settled = (await collect(graph.compile().stream({}))).flatMap((event) =>
      event.type === 'checkpoint'
        ? event.change.filter(({ kind }) => kind === 'settle').map(({ node }) => node?.at(-1))
        : [],
    );
    expect(settled).toEqual(['quick', 'after', 'slow']);
  });

  test('E2 the caller may name the run, and learns its name; naming it twice is one run', async () => {
    let calls = 0;
    const compiled = chain(
      open().addNode('a', () => (calls += 1)),
      'a',
    ).compile();
    expect((await compiled.invoke({ n: 1 }, { runId: 'order-7' })).runId).toBe('order-7');
    expect((await compiled.invoke({ n: 1 }, { runId: 'order-7' })).status).toBe('completed');
    expect(calls).toBe(1);
    await expect(compiled.invoke({ n: 2 }, { runId: 'order-7' })).rejects.toMatchObject({ code: 'RUN_EXISTS' });
    expect((await compiled.invoke({ n: 1 })).runId).toMatch(/^[0-9a-f-]{36}$/);
  });
});
