/** Questions, timers and signals. */
import { expect, test } from 'vitest';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';

test('W2 a question pauses the run, and its answer lets it go on', async () => {
  const { engine } = createBench();
  const graph = graphOf(
    'g',
    [
      node('ask', 'human', (ctx) => ctx.ask({ prompt: 'ok?', choices: ['yes', 'no'] })),
      node('b', 'external', (ctx) => ctx.state.outputs['ask']),
    ],
    edges('> ask', 'ask > b', 'b >'),
  );
  const paused = await runToRest(engine, graph);
  expect(paused.status).toBe('paused');
  const waitId = paused.waits[0]?.waitId ?? '';
  await expect(engine.answer(paused.runId, waitId, 'perhaps')).rejects.toMatchObject({ code: 'ANSWER_INVALID' });
  await engine.answer(paused.runId, waitId, 'yes');
  await engine.answer(paused.runId, waitId, 'yes');
  await expect(engine.answer(paused.runId, waitId, 'no')).rejects.toMatchObject({ code: 'WAIT_CLOSED' });
  const done = await resumeToRest(engine, paused.runId, graph);
  expect(done.status).toBe('completed');
  expect(done.state.outputs['b']).toBe('yes');
  await expect(engine.answer(paused.runId, waitId, 'no')).rejects.toMatchObject({ code: 'WAIT_CLOSED' });
});

test('W2 after the end of a run an answer that is repeated is acknowledged by name too, of a loop that of the last round', async () => {
  const { engine } = createBench();
  const graph = graphOf(
    'g',
    [
      node('ask', 'human', (ctx) => ctx.ask({ name: 'fine', prompt: 'ok?', choices: ['yes', 'no'] })),
      node('other', 'human', (ctx) => ctx.ask({ prompt: 'sure?' })),
    ],
    [
      ...edges('> ask', 'other >'),
      { from: 'ask', to: 'ask', condition: { text: 'no', evaluate: ({ outcome: { output } }) => output === 'no' } },
      { from: 'ask', to: 'other', condition: { text: 'yes', evaluate: ({ outcome: { output } }) => output === 'yes' } },
    ],
  );
  let rested = await runToRest(engine, graph);
  const { runId } = rested;
  for (const value of ['no', 'yes']) {
    await engine.answer(runId, rested.waits[0]?.waitId ?? '', value);
    rested = await resumeToRest(engine, runId, graph);
  }
  // The run goes on: the name may be meant for a question that is not open yet.
  await expect(engine.answer(runId, 'ask', 'yes')).rejects.toMatchObject({ code: 'WAIT_NOT_FOUND' });
  await engine.answer(runId, rested.waits[0]?.waitId ?? '', 'yes');
  expect((await resumeToRest(engine, runId, graph)).status).toBe('completed');

  for (const name of ['ask', 'ask/fine', 'fine']) {
    await engine.answer(runId, name, 'yes');
    await expect(engine.answer(runId, name, 'no')).rejects.toMatchObject({
      code: 'WAIT_CLOSED',
      data: { answer: 'yes' },
    });
  }
  await engine.answerAll(runId, [['ask', 'yes'], ['other', 'yes']]); // prettier-ignore
  await expect(engine.answer(runId, 'nobody', 'yes')).rejects.toMatchObject({ code: 'WAIT_NOT_FOUND' });
  expect((await resumeToRest(engine, runId, graph)).state.outputs).toMatchObject({ ask: 'yes', other: 'yes' });
});

test('W4 parallel work goes on while something waits; an answer is taken by the running owner', async () => {
  const { engine } = createBench();
  let release = (): void => {};
  const slow = new Promise<void>((resolve) => (release = resolve));
  const graph = graphOf(
    'g',
    [
      node('ask', 'human', (ctx) => ctx.ask({ prompt: 'ok?' })),
      node('slow', 'pure', () => slow),
      node('join', 'pure', (ctx) => ctx.state.outputs['ask']),
    ],
    edges('> ask', '> slow', 'ask > join', 'slow > join', 'join >'),
  );
  const handle = await engine.start(graph, {});
  for await (const event of handle.events()) {
    if (event.type === 'waiting') {
      await engine.answer(handle.runId, (event.detail as { waitId: string }).waitId, 42);
      release();
    }
  }
  const result = await handle.result();
  expect(result.status).toBe('completed');
  expect(result.state.outputs['join']).toBe(42);
});

test('W5 a sleeping run pauses, and wakes when its time has come', async () => {
  const { engine, clock } = createBench();
  const graph = graphOf(
    'g',
    [
      node('a', 'read', async (ctx) => {
        await ctx.sleepUntil(1_700_000_000_000 + 3_600_000);
        return 'awake';
      }),
    ],
    edges('> a', 'a >'),
  );
  const paused = await runToRest(engine, graph);
  expect(paused.status).toBe('paused');
  expect((await resumeToRest(engine, paused.runId, graph)).status).toBe('paused');
  clock.timeMs += 3_600_001;
  const done = await resumeToRest(engine, paused.runId, graph);
  expect(done.state.outputs['a']).toBe('awake');
});

test('W5 a signal that comes early is kept', async () => {
  const { engine } = createBench();
  const graph = graphOf(
    'g',
    [node('q', 'human', (ctx) => ctx.ask({ prompt: '?' })), node('a', 'read', (ctx) => ctx.receive('go'))],
    edges('> q', 'q > a', 'a >'),
  );
  const paused = await runToRest(engine, graph);
  await engine.signal(paused.runId, 'go', { n: 1 });
  await engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', 1);
  const done = await resumeToRest(engine, paused.runId, graph);
  expect(done.status).toBe('completed');
  expect(done.state.outputs['a']).toEqual({ n: 1 });
});

test('G10 the open questions of a failed run are closed in the index, and open again under their ids when it is resumed', async () => {
  const { engine, store } = createBench();
  let isDown = true;
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const graph = graphOf(
    'g',
    [
      node('ask', 'human', (ctx) => ctx.ask({ prompt: 'ok?' })),
      node('nap', 'read', (ctx) => ctx.sleepUntil(1_700_000_000_000 + 3_600_000)),
      node('work', 'pure', async () => {
        await turn();
        if (isDown) throw new Error('down');
      }),
    ],
    edges('> ask', '> nap', '> work', 'ask >', 'nap >', 'work >'),
  );
  const rows = async (): Promise<readonly string[]> => {
    const page = await store.listWaits({ tenant: 'default' });
    return page.rows.map(({ waitId, kind, dueAt }) => `${kind} ${waitId} ${dueAt ?? 'never'}`).toSorted();
  };
  const handle = await engine.start(graph, {});
  const opened: string[] = [];
  for await (const event of handle.events()) if (event.type === 'waiting') opened.push(...(await rows()));
  const failed = await handle.result();
  expect([failed.status, new Set(opened).size]).toEqual(['failed', 2]);
  expect(await rows()).toEqual([]);
  isDown = false;
  const paused = await resumeToRest(engine, failed.runId, graph);
  expect(paused.status).toBe('paused');
  expect(await rows()).toEqual([...new Set(opened)].toSorted());
  const question = paused.waits.find(({ kind }) => kind === 'question');
  await engine.answer(failed.runId, question?.waitId ?? '', 'yes');
  expect((await resumeToRest(engine, failed.runId, graph)).state.outputs['ask']).toBe('yes');
});

test('W2 G10 a run that fails beside a question lists none until it is resumed, and refuses the answer with how to go on', async () => {
  let isBroken = true;
  const graph = graphOf(
    'g',
    [
      node('ask', 'human', (ctx) => ctx.ask({ prompt: 'Which?' })),
      node('first', 'human', (ctx) => ctx.ask({ prompt: 'First?' })),
      node('breaks', 'pure', () => {
        if (isBroken) throw new Error('broken');
      }),
    ],
    edges('> ask', '> first', 'first > breaks', 'ask >', 'breaks >'),
  );
  const bench = createBench();
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  const waitId = paused.waits.find(({ node: path }) => path[0] === 'ask')?.waitId ?? '';
  const engine = afterCrash(bench);
  engine.know(graph);
  await engine.answer('r', paused.waits.find(({ node: path }) => path[0] === 'first')?.waitId ?? '', 'yes');
  const failed = await resumeToRest(engine, 'r', graph);
  expect([failed.status, failed.waits, (await engine.inspect('r')).waits, await engine.waits('r')]).toEqual([
    'failed',
    [],
    [],
    [],
  ]);
  for (const name of [waitId, 'ask']) {
    const refusal = engine.answer('r', name, 'this');
    await expect(refusal).rejects.toMatchObject({
      code: 'WAIT_NOT_FOUND',
      message: `run r has no open wait ${name}: it is failed`,
      hint: expect.stringContaining('A failed run asks again when it is resumed.'),
    });
  }
  isBroken = false;
  const again = await resumeToRest(engine, 'r', graph);
  expect(again.waits.map((wait) => wait.waitId)).toEqual([waitId]);
  await engine.answer('r', waitId, 'this');
  expect((await resumeToRest(engine, 'r', graph)).state.outputs['ask']).toBe('this');
});
