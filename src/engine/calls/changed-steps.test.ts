/** A function whose code has changed under a waiting run begins no effect in place of one that is on record (X4.18). */
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import type { Graph } from '../../graph/graph.ts';

/** A graph of one node, whose code has this text. */
function graphWith(code: string, run: (ctx: NodeContext) => unknown): Graph {
  const pay = { ...node('pay', 'read', run), implementation: { run, codeText: code } };
  return graphOf('g', [pay], edges('> pay', 'pay >'));
}

/** A node that has one effect, and asks then. */
const charges = (world: string[], name: string, before: (ctx: NodeContext) => unknown = () => {}): Graph =>
  graphWith(`charge ${name} ${String(before)}`, async (ctx) => {
    await before(ctx);
    await ctx.step(name, { effect: 'write' }, () => void world.push(name));
    await ctx.ask({ prompt: 'Pack it?', choices: ['yes', 'no'] });
    return 'packed';
  });

test('X4.18 a step with an effect that has another name now does not happen again: the node fails, and names both', async () => {
  const { engine } = createBench();
  const world: string[] = [];
  const { runId, waits } = await runToRest(engine, charges(world, 'charge'));
  const renamed = charges(world, 'charge card');
  const [row] = await engine.preview(await engine.locate(runId), { graph: renamed });
  expect(row).toMatchObject({
    because:
      'its code has changed: a question that is not the one on record is asked anew; it fails with STEPS_CHANGED if it begins another effect without having called charge',
  });
  await engine.answer(runId, waits[0]?.waitId ?? '', 'yes');
  const failed = await resumeToRest(engine, runId, renamed);
  expect(failed.error?.data).toMatchObject({
    code: 'STEPS_CHANGED',
    reason: expect.stringContaining('the effect charge card before it has called what is on record: charge'),
  });
  // Under the same code again it fails again, though nothing has changed since.
  expect((await resumeToRest(engine, runId, renamed)).status).toBe('failed');
  expect(world).toEqual(['charge']);
  expect((await resumeToRest(engine, runId, charges(world, 'charge'))).state.outputs['pay']).toBe('packed');
  expect(world).toEqual(['charge']);
});

test('X4.18 a function that catches what its call throws fails nevertheless', async () => {
  const { engine } = createBench();
  const world: string[] = [];
  const { runId } = await runToRest(engine, charges(world, 'charge'));
  const caught = graphWith('caught', (ctx) =>
    ctx.step('charge card', { effect: 'write' }, () => void world.push('card')).catch(() => 'never mind'),
  );
  expect((await resumeToRest(engine, runId, caught)).error?.data).toMatchObject({ code: 'STEPS_CHANGED' });
  expect(world).toEqual(['charge']);
});

test('X4.18 one that drops the recorded effect on purpose begins another, and so does one that has called it', async () => {
  const { engine } = createBench();
  const world: string[] = [];
  const first = await runToRest(engine, charges(world, 'charge'));
  const dropping = charges(world, 'charge card', (ctx) => ctx.past.passOver((name) => name === 'charge'));
  expect((await resumeToRest(engine, first.runId, dropping)).status).toBe('paused');
  expect(world).toEqual(['charge', 'charge card']);
  const second = await runToRest(engine, charges(world, 'charge'));
  const adding = charges(world, 'mail', (ctx) => ctx.step('charge', { effect: 'write' }, () => world.push('again')));
  expect((await resumeToRest(engine, second.runId, adding)).status).toBe('paused');
  expect(world).toEqual(['charge', 'charge card', 'charge', 'mail']);
});

test('X4.18 parts that go on side by side may come to the recorded effect after a new one was called', async () => {
  const { engine } = createBench();
  const world: string[] = [];
  const { runId } = await runToRest(engine, charges(world, 'charge'));
  const beside = graphWith('beside', async (ctx) => {
    const late = async (): Promise<void> => {
      await ctx.step('look', {}, () => new Promise<void>((resolve) => setImmediate(resolve)));
      await ctx.step('charge', { effect: 'write' }, () => void world.push('again'));
    };
    await Promise.all([ctx.step('mail', { effect: 'write' }, () => void world.push('mail')), late()]);
    return 'both';
  });
  expect((await resumeToRest(engine, runId, beside)).state.outputs['pay']).toBe('both');
  expect(world).toEqual(['charge', 'mail']);
});

test('X4.18 an effect in a child run is one of the function that began it', async () => {
  const { engine } = createBench();
  const world: string[] = [];
  const child = graphOf('child', [node('card', 'write', () => void world.push('card'))], edges('> card', 'card >'));
  const runs = (name: string): Graph =>
    graphWith(`runs ${name}`, async (ctx) => {
      await ctx.run(child, undefined, { name });
      await ctx.step('tell', { effect: 'write' }, () => void world.push('tell'));
      await ctx.ask({ prompt: 'Pack it?' });
    });
  const charging = runs('charge');
  const { runId } = await runToRest(engine, charging);
  const without = graphWith('without', (ctx) => ctx.step('told', { effect: 'write' }, () => void world.push('told')));
  expect((await resumeToRest(engine, runId, without)).error?.data).toMatchObject({
    reason: expect.stringContaining('told before it has called what is on record: tell, charge'),
  });
  expect((await resumeToRest(engine, runId, runs('renamed'))).error?.data).toMatchObject({ code: 'STEPS_CHANGED' });
  expect(world).toEqual(['card', 'tell']);
});

test('X4.18 in a fork the function may go on otherwise until it has a call of its own, and is held to its record after the next change', async () => {
  const { engine } = createBench();
  const world: string[] = [];
  const { runId } = await runToRest(engine, charges(world, 'charge'));
  const at = await engine.locate(runId);
  const other = charges(world, 'charge card');
  const free = await engine.fork(at, { graph: other });
  expect((await resumeToRest(engine, free.runId, other)).status).toBe('paused');
  expect(world).toEqual(['charge', 'charge card']);
  // The next deploy, and one under a fork that was made without any change.
  const third = charges(world, 'charge it');
  expect((await resumeToRest(engine, free.runId, third)).error?.data).toMatchObject({
    reason: expect.stringContaining('on record: charge card'),
  });
  const plain = await engine.fork(at);
  await resumeToRest(engine, plain.runId, charges(world, 'charge'));
  expect((await resumeToRest(engine, plain.runId, other)).error?.data).toMatchObject({ code: 'STEPS_CHANGED' });
  expect(world).toEqual(['charge', 'charge card']);
});
