/** How an owner takes messages: each once, for the oldest wait of its name, with who sent it (W3.4, W5.3, O1.2, O1.3). */
import { expect, test } from 'vitest';
import { settleDown } from '../../../test/dying-engine.ts';
import { createBench, edges, graphOf, node, resumeToRest, runToRest, testIds } from '../../../test/engine-kit.ts';
import { CairnError } from '../../errors.ts';
import type { Commit, CommitReply } from '../../ports/store.ts';
import { createEngine } from '../engine.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';

test('O1.2 a message that is read again before the commit that takes it has landed is not taken again', async () => {
  const memory = createMemoryStore({ now: () => 1_700_000_000_000 });
  const commit = async (given: Commit): Promise<CommitReply> => {
    await settleDown();
    return memory.commit(given);
  };
  const { engine } = createBench({ store: { ...memory, commit } });
  const graph = graphOf(
    'g',
    [
      node('busy', 'pure', async () => {
        // Each of them makes the owner read, and finds the one before it not yet taken in the store.
        await engine.signal('r', 'go', 1);
        await engine.signal('r', 'go', 2);
      }),
      node('a', 'read', async (ctx) => [await ctx.receive('go'), await ctx.receive('go'), await ctx.receive('go')]),
    ],
    edges('> busy', '> a', 'busy >', 'a >'),
  );
  const paused = await runToRest(engine, graph, {}, 'r');
  expect(paused.status).toBe('paused');
  await engine.signal('r', 'go', 3);
  expect((await resumeToRest(engine, 'r', graph)).state.outputs['a']).toEqual([1, 2, 3]);
});

test.each(Array.from({ length: 30 }, (_, turns) => turns))(
  'W5.3 a signal is taken however close to its receive it is read: %d turns of promises before',
  async (turns) => {
    const memory = createMemoryStore({ now: () => 1_700_000_000_000 });
    const called = Promise.withResolvers<void>();
    const readMessages: typeof memory.readMessages = async (key) => {
      const rows = await memory.readMessages(key);
      await called.promise;
      return rows;
    };
    const { engine } = createBench({ store: { ...memory, readMessages } });
    const graph = graphOf(
      'g',
      [
        node('other', 'pure', () => engine.signal('r', 'go', 'now')),
        node('a', 'read', async (ctx) => {
          await settleDown();
          called.resolve();
          for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
          return ctx.receive('go');
        }),
      ],
      edges('> other', '> a', 'other >', 'a >'),
    );
    const { status, state } = await runToRest(engine, graph, {}, 'r');
    expect([status, state.outputs['a']]).toEqual(['completed', 'now']);
  },
);

test('O1.3 a store that is away when it says that there may be a message stops no run: the message is read later', async () => {
  const memory = createMemoryStore({ now: () => 1_700_000_000_000 });
  let wakes: ((runId: string | undefined) => void) | undefined;
  let isAway = false;
  let isBusy = true;
  let refused = 0;
  const readMessages: typeof memory.readMessages = async (key) => {
    if (!isAway) return memory.readMessages(key);
    refused += 1;
    throw new CairnError('STORE_UNAVAILABLE', { store: 'away', reason: 'gone', written: 'no' });
  };
  const { engine, clock, options } = createBench({
    store: {
      ...memory,
      capabilities: { ...memory.capabilities, isShared: true },
      readMessages,
      renewClaims: async (claims) =>
        (await memory.renewClaims(claims)).map((renewal) => ({ ...renewal, hasMessages: false })),
      watch: (_, wake) => {
        wakes = wake;
        return () => undefined;
      },
    },
  });
  const other = createEngine({ ...options, store: memory, ids: testIds('other') });
  const graph = graphOf(
    'g',
    [
      node('busy', 'pure', async () => {
        await settleDown();
        await other.signal('r', 'go', 'late');
        isAway = true;
        wakes?.(undefined);
        await settleDown();
        isAway = false;
        await new Promise<void>((resolve) => clock.setTimer(60_000, resolve));
        isBusy = false;
      }),
      node('a', 'read', async (ctx) => [await ctx.receive('go'), isBusy]),
    ],
    edges('> busy', '> a', 'busy >', 'a >'),
  );
  const { status, state } = await runToRest(engine, graph, {}, 'r');
  expect([status, state.outputs['a'], refused > 0]).toEqual(['completed', ['late', true], true]);
});

test('O1.3 a store that is away when a question times out stops no run: the default answer is given when it is back', async () => {
  const memory = createMemoryStore({ now: () => 1_700_000_000_000 });
  let refused = 0;
  const postMessage: typeof memory.postMessage = async (message) => {
    if (refused === 3) return memory.postMessage(message);
    refused += 1;
    throw new CairnError('STORE_UNAVAILABLE', { store: 'away', reason: 'gone', written: 'unknown' });
  };
  const { engine, clock } = createBench({ store: { ...memory, postMessage } });
  const graph = graphOf(
    'g',
    [
      node('busy', 'pure', () => new Promise<void>((resolve) => clock.setTimer(60_000, resolve))),
      node('ask', 'read', (ctx) => ctx.receive('go', { timeoutMs: 1_000, defaultValue: 'nobody' })),
    ],
    edges('> busy', '> ask', 'busy >', 'ask >'),
  );
  const { status, state } = await runToRest(engine, graph, {}, 'r');
  expect([status, state.outputs['ask'], refused]).toEqual(['completed', 'nobody', 3]);
});

test('W5.3 a signal closes the oldest wait for its name', async () => {
  const { engine } = createBench();
  const order: string[] = [];
  const receive = (id: string): ReturnType<typeof node> =>
    node(id, 'read', async (ctx) => order.push(`${id} ${String(await ctx.receive('go'))}`));
  const graph = graphOf(
    'g',
    [receive('a'), receive('b'), receive('c')],
    edges('> a', '> b', '> c', 'a >', 'b >', 'c >'),
  );
  await runToRest(engine, graph, {}, 'r');
  for (const value of [1, 2, 3]) {
    await engine.signal('r', 'go', value);
    await resumeToRest(engine, 'r', graph);
  }
  expect(order).toEqual(['a 1', 'b 2', 'c 3']);
});

test('W3.4 the record keeps who answered: a person, unless the caller says otherwise', async () => {
  const graph = graphOf(
    'g',
    ['a', 'b'].map((id) => node(id, 'human', (ctx) => ctx.ask({ prompt: id }))),
    edges('> a', '> b', 'a >', 'b >'),
  );
  const { engine } = createBench({ findGraph: () => graph });
  const { waits } = await runToRest(engine, graph, {}, 'r');
  const by = { a: undefined, b: 'policy' };
  for (const { waitId, prompt } of waits) {
    const who = by[prompt as 'a' | 'b'];
    await engine.answer('r', waitId, 'yes', who === undefined ? {} : { by: who });
  }
  await resumeToRest(engine, 'r', graph);
  const answers: [unknown, unknown][] = [];
  for await (const event of engine.events('r'))
    if (event.type === 'checkpoint')
      for (const part of event.change) if (part.kind === 'answer') answers.push([part.node?.[0], part.by]);
  expect(answers).toEqual([
    ['a', 'person'],
    ['b', 'policy'],
  ]);
});
