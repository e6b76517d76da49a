/** What somebody answers while it is still found out whether there is anything to ask (X3, W4). */
import { expect, test } from 'vitest';
import { until } from '../../../test/support/awaited.ts';
import { killedInEffect, settleDown } from '../../../test/dying-engine.ts';
import {
  afterCrash,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  runToRest,
  testIds,
} from '../../../test/engine-kit.ts';
import { NodeFailure, type Reconciliation } from '../../graph/contracts/node-contract.ts';
import { createEngine } from '../engine.ts';

type Graph = ReturnType<typeof graphOf>;

const unknown: Reconciliation = { happened: 'unknown' };

/** A world that says what it is told to when it is told to. */
function askedWorld(): { looks: ((found: Reconciliation) => void)[]; reconcile: () => Promise<Reconciliation> } {
  const looks: ((found: Reconciliation) => void)[] = [];
  return { looks, reconcile: () => new Promise((resolve) => looks.push(resolve)) };
}

/** A write in doubt about which the world is asked. */
const asked = [
  [
    'node',
    (run: () => unknown, reconcile: () => Promise<Reconciliation>): Graph =>
      graphOf('g', [node('a', 'write', run, { implementation: { run, reconcile } })], edges('> a', 'a >')),
  ],
  [
    'step',
    (run: () => unknown, reconcile: () => Promise<Reconciliation>): Graph =>
      graphOf(
        'g',
        [node('a', 'read', (ctx) => ctx.step('s', { effect: 'write', reconcile }, run))],
        edges('> a', 'a >'),
      ),
  ],
] as const;

test.each(asked)(
  'X3.4 what a person says about a %s in doubt while the world is asked counts, and is not asked for again',
  async (_, make) => {
    const { looks, reconcile } = askedWorld();
    const { bench, graph, calls } = await killedInEffect((run) => make(run, reconcile));
    const first = resumeToRest(afterCrash(bench), 'r', graph);
    (await until('the world is asked', () => looks.shift()))(unknown);
    const paused = await first;
    expect(paused.waits.map(({ kind, prompt }) => [kind, prompt])).toEqual([
      ['doubt', expect.stringContaining('. Its lookup could not say. Did it?')],
    ]);
    const engine = createEngine({ ...bench.options, ids: testIds('worker-3', ['worker-1', 'worker-2']) });
    const second = resumeToRest(engine, 'r', graph);
    const tell = await until('the world is asked again', () => looks.shift());
    await engine.answer('r', paused.waits[0]?.waitId ?? '', { decision: 'happened', output: 'told' });
    await settleDown();
    tell(unknown);
    const done = await second;
    expect([done.status, done.waits, done.state.outputs['a'], calls()]).toEqual(['completed', [], 'told', 1]);
  },
);

test('X3.4 a person who has decided goes before what the world says later', async () => {
  const { looks, reconcile } = askedWorld();
  const { bench, graph } = await killedInEffect((run) =>
    graphOf('g', [node('a', 'write', run, { implementation: { run, reconcile } })], edges('> a', 'a >')),
  );
  const first = resumeToRest(afterCrash(bench), 'r', graph);
  (await until('the world is asked', () => looks.shift()))(unknown);
  const paused = await first;
  const engine = createEngine({ ...bench.options, ids: testIds('worker-3', ['worker-1', 'worker-2']) });
  const second = resumeToRest(engine, 'r', graph);
  const tell = await until('the world is asked again', () => looks.shift());
  await engine.answer('r', paused.waits[0]?.waitId ?? '', { decision: 'happened', output: 'told' });
  await settleDown();
  tell({ happened: true, output: 'found' });
  expect((await second).state.outputs['a']).toBe('told');
});

test('W5 a step that is to be tried at once, by an answer that comes while its effect is judged, does not wait for its time', async () => {
  const hour = 3_600_000;
  const { looks, reconcile } = askedWorld();
  let calls = 0;
  const run = (): unknown => {
    calls += 1;
    if (calls === 1) throw new NodeFailure('not yet', { code: 'BUSY' });
    return `call ${calls}`;
  };
  const graph = graphOf(
    'g',
    [
      node('a', 'read', (ctx) =>
        ctx.step(
          's',
          {
            effect: 'write',
            idempotent: true,
            retry: { attempts: 2, delayMs: hour, delayMsMax: hour },
            reconcile,
          },
          run,
        ),
      ),
    ],
    edges('> a', 'a >'),
  );
  const bench = createBench();
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  expect(paused.waits.map(({ kind }) => kind)).toEqual(['retry']);
  const next = afterCrash(bench);
  const second = resumeToRest(next, 'r', graph);
  const tell = await until('the world is asked', () => looks.shift());
  await next.answer('r', paused.waits[0]?.waitId ?? '', null);
  await settleDown();
  tell(unknown);
  const done = await second;
  expect([done.status, done.waits, done.state.outputs['a']]).toEqual(['completed', [], 'call 2']);
});
