import { expect, test } from 'vitest';
import { NodeFailure, outcome } from '../graph/node-contract.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../test/engine-kit.ts';

const never = new Promise<never>(() => {});

test('E1 a chain runs to its end', async () => {
  const { engine } = createBench();
  const graph = graphOf(
    'g',
    [
      node('a', 'pure', () => outcome({ output: 1, scratch: { x: 1 } })),
      node('b', 'write', (ctx) => (ctx.state.scratch['x'] as number) + 1),
    ],
    edges('> a', 'a > b', 'b >'),
  );
  const result = await runToRest(engine, graph, { topic: 't' });
  expect(result.status).toBe('completed');
  expect(result.state.outputs['b']).toBe(2);
});

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

test('E6 attempts are counted and a failed one is tried again after its delay', async () => {
  const { engine, clock } = createBench();
  const seen: number[] = [];
  const graph = graphOf(
    'g',
    [
      node(
        'a',
        'pure',
        (ctx) => {
          seen.push(ctx.attempt);
          if (ctx.attempt < 3) throw new Error('not yet');
          return 'done';
        },
        { retry: { attempts: 3, delayMs: 1000 } },
      ),
    ],
    edges('> a', 'a >'),
  );
  const before = clock.timeMs;
  const result = await runToRest(engine, graph);
  expect(result.status).toBe('completed');
  expect(seen).toEqual([1, 2, 3]);
  expect(clock.timeMs - before).toBeGreaterThanOrEqual(3000);
});

test('X3 a failed effect is not tried again unless the failure says that it did not happen', async () => {
  const { engine } = createBench();
  let calls = 0;
  const graph = graphOf(
    'g',
    [
      node(
        'a',
        'write',
        () => {
          calls += 1;
          throw new Error('connection reset');
        },
        { retry: { attempts: 5, delayMs: 1 } },
      ),
    ],
    edges('> a', 'a >'),
  );
  expect((await runToRest(engine, graph)).status).toBe('failed');
  expect(calls).toBe(1);
  let tries = 0;
  const safe = graphOf(
    'g2',
    [
      node(
        'a',
        'write',
        () => {
          tries += 1;
          if (tries < 3) throw new NodeFailure('refused', { applied: 'no' });
          return tries;
        },
        { retry: { attempts: 5, delayMs: 1 } },
      ),
    ],
    edges('> a', 'a >'),
  );
  expect((await runToRest(engine, safe)).state.outputs['a']).toBe(3);
});

test('G8 a resume of a failed run retries what failed it; attempts count on', async () => {
  const { engine } = createBench();
  let isBroken = true;
  let sideRuns = 0;
  const graph = graphOf(
    'g',
    [
      node('side', 'write', () => (sideRuns += 1)),
      node('a', 'read', (ctx) => {
        if (isBroken) throw new Error('broken');
        return ctx.attempt;
      }),
    ],
    edges('> side', '> a', 'a >'),
  );
  const failed = await runToRest(engine, graph);
  expect(failed.status).toBe('failed');
  expect(failed.error?.code).toBe('NODE_FAILED');
  isBroken = false;
  const done = await resumeToRest(engine, failed.runId, graph);
  expect(done.status).toBe('completed');
  expect(done.state.outputs['a']).toBe(2);
  expect(sideRuns).toBe(1);
});

test('X an effect that started and has no result is in doubt: asked about, and never repeated unasked', async () => {
  const bench = createBench();
  let calls = 0;
  const graph = graphOf(
    'g',
    [
      node('pay', 'external', () => {
        calls += 1;
        return calls === 1 ? never : 'again';
      }),
      node('after', 'pure', (ctx) => ctx.state.outputs['pay']),
    ],
    edges('> pay', 'pay > after', 'after >'),
  );
  const handle = await bench.engine.start(graph, {}, { runId: 'doubt' });
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(calls).toBe(1);
  const second = afterCrash(bench);
  const paused = await resumeToRest(second, handle.runId, graph);
  expect(paused.status).toBe('paused');
  expect(paused.waits[0]?.kind).toBe('doubt');
  expect(calls).toBe(1);
  await second.answer('doubt', paused.waits[0]?.waitId ?? '', { decision: 'happened', output: 'paid' });
  const done = await resumeToRest(second, 'doubt', graph);
  expect(done.status).toBe('completed');
  expect(done.state.outputs['after']).toBe('paid');
  expect(calls).toBe(1);
  await expect(handle.result()).rejects.toMatchObject({ code: expect.stringMatching(/CLAIM/) });
});

test('X a reconciled effect is taken as it happened', async () => {
  const bench = createBench();
  const graph = graphOf(
    'g',
    [
      node('pay', 'external', () => never, {
        implementation: { run: () => never, reconcile: () => ({ happened: true, output: 'found' }) },
      }),
    ],
    edges('> pay', 'pay >'),
  );
  await bench.engine.start(graph, {}, { runId: 'reconcile' });
  await new Promise((resolve) => setTimeout(resolve, 20));
  const done = await resumeToRest(afterCrash(bench), 'reconcile', graph);
  expect(done.state.outputs['pay']).toBe('found');
});

test('X4 a map of steps records each item and a retry runs only what failed', async () => {
  const { engine } = createBench();
  const runs: number[] = [];
  let isBroken = true;
  const graph = graphOf(
    'g',
    [
      node('m', 'read', (ctx) =>
        Promise.all(
          [1, 2, 3].map((i) =>
            ctx.step(`i${i}`, { effect: 'write', input: i }, () => {
              runs.push(i);
              if (i === 2 && isBroken) throw new NodeFailure('no', { applied: 'no' });
              return i * 2;
            }),
          ),
        ),
      ),
    ],
    edges('> m', 'm >'),
  );
  const failed = await runToRest(engine, graph);
  expect(failed.status).toBe('failed');
  isBroken = false;
  const done = await resumeToRest(engine, failed.runId, graph);
  expect(done.status).toBe('completed');
  expect(done.state.outputs['m']).toEqual([2, 4, 6]);
  expect(runs).toEqual([1, 2, 3, 2]);
});

test('W6 a child run asks inside its parent, and both go on after the answer', async () => {
  const { engine } = createBench();
  const child = graphOf(
    'child',
    [
      node('q', 'human', (ctx) => ctx.ask({ prompt: `for ${String(ctx.input)}` })),
      node('w', 'write', (ctx) => `${String(ctx.state.outputs['q'])}!`),
    ],
    edges('> q', 'q > w', 'w >'),
  );
  const graph = graphOf(
    'parent',
    [
      node('sub', 'read', async (ctx) => {
        const result = await ctx.run(child, 'me');
        return result.state.outputs['w'];
      }),
      node('end', 'pure', (ctx) => ctx.state.outputs['sub']),
    ],
    edges('> sub', 'sub > end', 'end >'),
  );
  const paused = await runToRest(engine, graph);
  expect(paused.status).toBe('paused');
  expect(paused.waits[0]?.node).toEqual(['sub', 'run', 'q']);
  await engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', 'hi');
  const done = await resumeToRest(engine, paused.runId, graph);
  expect(done.status).toBe('completed');
  expect(done.state.outputs['end']).toBe('hi!');
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

test('H2 X2 a fork replays recorded effects of equal input, and runs those whose input changed', async () => {
  const { engine } = createBench();
  const calls: string[] = [];
  const graph = graphOf(
    'g',
    [
      node('a', 'pure', (ctx) => outcome({ output: 1, scratch: { x: ctx.state.scratch['seed'] ?? 1 } })),
      node('w1', 'write', () => void calls.push('w1')),
      node('w2', 'write', (ctx) => {
        calls.push(`w2:${String(ctx.state.scratch['x'])}`);
        return ctx.state.scratch['x'];
      }),
    ],
    edges('> a', 'a > w1', 'w1 > w2', 'w2 >'),
  );
  const done = await runToRest(engine, graph);
  expect(calls).toEqual(['w1', 'w2:1']);
  const same = await engine.fork({ runId: done.runId, seq: 0 });
  const again = await resumeToRest(engine, same.runId, graph);
  expect(again.status).toBe('completed');
  expect(calls).toEqual(['w1', 'w2:1']);
  const other = await engine.fork({ runId: done.runId, seq: 0 }, { set: [{ path: ['scratch', 'seed'], value: 7 }] });
  const preview = await engine.preview(
    { runId: done.runId, seq: 0 },
    { graph, set: [{ path: ['scratch', 'seed'], value: 7 }] },
  );
  expect(preview.map((row) => `${row.node.join('/')} ${row.prediction}`)).toEqual([
    'a runs again',
    'w1 unknown',
    'w2 unknown',
  ]);
  const changed = await resumeToRest(engine, other.runId, graph);
  expect(changed.state.outputs['w2']).toBe(7);
  expect(calls).toEqual(['w1', 'w2:1', 'w2:7']);
});

test('H2 a fork answers a recorded question otherwise', async () => {
  const { engine } = createBench();
  const graph = graphOf(
    'g',
    [
      node('ask', 'human', (ctx) => ctx.ask({ prompt: 'ok?' })),
      node('b', 'external', (ctx) => `did ${String(ctx.state.outputs['ask'])}`),
    ],
    edges('> ask', 'ask > b', 'b >'),
  );
  const paused = await runToRest(engine, graph);
  await engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', 'yes');
  const done = await resumeToRest(engine, paused.runId, graph);
  const fork = await engine.fork({ runId: done.runId, seq: done.seq }, { answers: { ask: 'no' } });
  const other = await resumeToRest(engine, fork.runId, graph);
  expect(other.status).toBe('completed');
  expect(other.state.outputs['b']).toBe('did no');
});

test('G4 a loop runs in rounds until its exit fires', async () => {
  const { engine } = createBench();
  const graph = graphOf(
    'g',
    [
      node('inc', 'pure', (ctx) =>
        outcome({ output: ctx.visit, scratch: { n: ((ctx.state.scratch['n'] as number | undefined) ?? 0) + 1 } }),
      ),
      node('check', 'pure', (ctx) => outcome({ goto: (ctx.state.scratch['n'] as number) < 5 ? 'inc' : 'out' })),
      node('out', 'pure', (ctx) => ctx.state.scratch['n']),
    ],
    edges('> inc', 'inc > check', 'check > inc', 'check > out', 'out >'),
  );
  const result = await runToRest(engine, graph);
  expect(result.state.outputs['out']).toBe(5);
});

test('E5 two unordered writes of a channel without reducer fail the run, naming both', async () => {
  const { engine } = createBench();
  const graph = graphOf(
    'g',
    [node('a', 'pure', () => outcome({ scratch: { x: 1 } })), node('b', 'pure', () => outcome({ scratch: { x: 2 } }))],
    edges('> a', '> b', 'a >', 'b >'),
  );
  const result = await runToRest(engine, graph);
  expect(result.status).toBe('failed');
  expect(result.error?.code).toBe('STATE_WRITE_CONFLICT');
  expect(result.error?.message).toContain('a');
});

test('E7 a cancelled run ends, and what was aborted knows it', async () => {
  const { engine } = createBench();
  let aborted = false;
  const graph = graphOf(
    'g',
    [
      node(
        'a',
        'pure',
        (ctx) =>
          new Promise((_, reject) =>
            ctx.signal.addEventListener('abort', () => {
              aborted = true;
              reject(new Error('aborted'));
            }),
          ),
      ),
    ],
    edges('> a', 'a >'),
  );
  const handle = await engine.start(graph, {});
  await engine.cancel(handle.runId);
  expect((await handle.result()).status).toBe('cancelled');
  expect(aborted).toBe(true);
});

test('E2 starting twice with one id is the same run; another input is refused', async () => {
  const { engine } = createBench();
  const graph = graphOf('g', [node('a', 'write', (ctx) => ctx.input)], edges('> a', 'a >'));
  await runToRest(engine, graph, { n: 1 }, 'same');
  const again = await engine.start(graph, { n: 1 }, { runId: 'same' });
  expect(again.created).toBe(false);
  expect((await again.result()).status).toBe('completed');
  await expect(engine.start(graph, { n: 2 }, { runId: 'same' })).rejects.toMatchObject({ code: 'RUN_EXISTS' });
});

test('C2 a node that returns what cannot be stored fails with the path', async () => {
  const { engine } = createBench();
  const graph = graphOf('g', [node('a', 'pure', () => ({ deep: [() => 1] }))], edges('> a', 'a >'));
  const result = await runToRest(engine, graph);
  expect(result.status).toBe('failed');
  expect(result.error?.message).toContain('deep');
});
