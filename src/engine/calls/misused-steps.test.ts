/** Steps that are used as they cannot be: refused with the reason, never a run that stands still or a wrong value (X4). */
import { expect, test } from 'vitest';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import { AttemptScope, callInScope, Charge, isInsideStepOf } from '../live-run/attempt-scope.ts';
import type { Activation } from '../live-run/loop.ts';

const inner = graphOf('inner', [node('i', 'pure', () => 1)], edges('> i', 'i >'));

const calls: Readonly<Record<string, (ctx: NodeContext) => Promise<unknown>>> = {
  ask: (ctx) => ctx.ask({ prompt: '?' }),
  sleepUntil: (ctx) => ctx.sleepUntil(1),
  receive: (ctx) => ctx.receive('go'),
  run: (ctx) => ctx.run(inner, {}),
  save: (ctx) => ctx.save({}),
};

test.each(Object.keys(calls))(
  'X4 ctx.%s inside a step is refused, at once and later, and the run says why',
  async (name) => {
    for (const before of [undefined, Promise.resolve()]) {
      const call = calls[name] as (ctx: NodeContext) => Promise<unknown>;
      const composed = (ctx: NodeContext): Promise<unknown> =>
        ctx.step('s', {}, async () => {
          await before;
          return call(ctx);
        });
      const graph = graphOf('g', [node('a', 'read', composed)], edges('> a', 'a >'));
      const result = await runToRest(createBench({ findGraph: () => graph }).engine, graph);
      expect(result.status).toBe('failed');
      expect(result.error?.cause).toMatchObject({
        code: 'NODE_CALL_REFUSED',
        message: expect.stringContaining('inside a step'),
      });
    }
  },
);

test('X4 calls beside a step, and steps inside a step, go on as they did', async () => {
  const composed = (ctx: NodeContext): Promise<unknown> =>
    Promise.all([ctx.step('outer', {}, () => ctx.step('nested', {}, () => 1)), ctx.run(inner, {}).then(() => 2)]);
  const graph = graphOf('g', [node('a', 'read', composed)], edges('> a', 'a >'));
  const result = await runToRest(createBench({ findGraph: () => graph }).engine, graph);
  expect(result.state.outputs['a']).toEqual([1, 2]);
});

// Runs of an engine share their turns: one that a step began may be what lets the step's own node go on (examples/fleet/fleet.test.ts).
test('X4 a node that the engine calls is inside of no step, whatever made it take its turn', async () => {
  const activation = { path: ['a'], visit: 1 } as unknown as Activation;
  const run = { runId: 'r', weakLoop: new WeakRef({ warn: () => {}, describe: () => '' }) };
  const ofNode = new AttemptScope(run, activation, 1, () => true);
  activation.scope = ofNode;
  const inside = { step: 's', charge: new Charge(activation) };
  const ofStep = new AttemptScope(run, activation, 1, () => true, inside);
  const isInside = async (): Promise<readonly boolean[]> => {
    const before = isInsideStepOf(activation);
    await Promise.resolve();
    return [before, isInsideStepOf(activation)];
  };
  const [inStep, inNode] = await callInScope(ofStep, () => Promise.all([isInside(), callInScope(ofNode, isInside)]));
  expect([inStep, inNode]).toEqual([
    [true, true],
    [false, false],
  ]);
});

/** A node whose step gets what the world says now, and then asks. */
const told = { input: 1, calls: 0 };
const asking = graphOf(
  'g',
  [
    node('a', 'read', async (ctx) => {
      const output = await ctx.step('s', { input: told.input }, () => [(told.calls += 1), told.input]);
      await ctx.ask({ prompt: '?' });
      return output;
    }),
  ],
  edges('> a', 'a >'),
);

test('X4 a step that is recorded for another input is refused in a resume, and run anew in a fork', async () => {
  Object.assign(told, { input: 1, calls: 0 });
  const bench = createBench({ findGraph: () => asking });
  const { waits, seq } = await runToRest(bench.engine, asking, {}, 'r');
  const fork = await bench.engine.fork({ runId: 'r', seq });
  told.input = 2;
  await bench.engine.answer('r', waits[0]?.waitId ?? '', 'yes');
  const refused = await resumeToRest(afterCrash(bench), 'r', asking);
  expect([refused.status, told.calls]).toEqual(['failed', 1]);
  expect(refused.error?.cause).toMatchObject({
    code: 'NODE_CALL_REFUSED',
    message: expect.stringContaining('another input'),
  });
  const [question] = await bench.engine.waits(fork.runId);
  await bench.engine.answer(fork.runId, question?.waitId ?? '', 'yes');
  const anew = await resumeToRest(afterCrash(bench), fork.runId, asking);
  expect([anew.status, anew.state.outputs['a']]).toEqual(['completed', [2, 2]]);
});
