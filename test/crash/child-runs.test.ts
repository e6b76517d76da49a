/** Parents that speak to child runs through handles, killed at every point: each signal, cancel and effect once, and the same end (P1, P2, W6, X4.13). */
import { describe, expect, it } from 'vitest';
import { createMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import type { Graph, NodeDefinition } from '../../src/graph/graph.ts';
import type { NodeContext } from '../../src/graph/contracts/node-contract.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import type { CrashCase, CrashKitOptions, CrashProcess } from '../../src/testing/crash-kit/process-life.ts';
import { crashEverywhere } from '../../src/testing/crash-kit/crash-everywhere.ts';
import { edges, graphOf, node } from '../engine-kit.ts';

const open: CrashKitOptions['open'] = (now) => ({ store: createMemoryStore({ now }), blobs: createMemoryBlobs(now) });

/** An effect that takes a moment, and must happen once. */
async function effect(process: CrashProcess, key: string, place: string): Promise<string> {
  await process.sleep(1);
  process.oracle.apply({ key, place, promise: 'once', output: place });
  await process.sleep(1);
  return place;
}

/** Nobody is asked about an effect: the kit would answer whatever else is open then, and signals of the run close any wait. */
const reconcile =
  (process: CrashProcess) =>
  ({ idempotencyKey }: { readonly idempotencyKey: string }) =>
    process.oracle.reconcile(idempotencyKey);
const sends = (process: CrashProcess, id: string): NodeDefinition => {
  const run = (ctx: NodeContext): unknown => effect(process, ctx.idempotencyKey, ctx.nodePath.join('/'));
  return node(id, 'write', run, { implementation: { run, reconcile: reconcile(process) } });
};
const stepOf = (process: CrashProcess, ctx: NodeContext, name: string): Promise<string> =>
  ctx.step(name, { effect: 'external', input: name, reconcile: reconcile(process) }, ({ idempotencyKey }) =>
    effect(process, idempotencyKey, `${ctx.nodePath.join('/')} ${name}`),
  );

/** Sends, hears `go` as often as it is told to, sends again. */
function listener(process: CrashProcess, times: number): Graph {
  const hears = node('hears', 'read', async (ctx) => {
    const heard: unknown[] = [];
    for (let count = 0; count < times; count += 1) {
      heard.push(await ctx.receive('go'));
      await stepOf(process, ctx, `heard ${count}`);
    }
    return heard;
  });
  return graphOf(
    'child',
    [sends(process, 'before'), hears, sends(process, 'after')],
    edges('> before', 'before > hears', 'hears > after', 'after >'),
  );
}

const parent = (run: (ctx: NodeContext) => unknown): Graph =>
  graphOf('g', [node('p', 'read', run)], edges('> p', 'p >'));

const cases: Readonly<Record<string, (process: CrashProcess) => Graph>> = {
  'two children that are sent signals, one of them cancelled': (process) =>
    parent(async (ctx) => {
      const one = await ctx.start(listener(process, 2), 1, { name: 'one' });
      const two = await ctx.start(listener(process, 2), 2, { name: 'two' });
      await one.signal('go', 'first');
      await stepOf(process, ctx, 'beside');
      await two.signal('go', 'first');
      await one.signal('go', 'second');
      const ended = await one.result();
      await two.cancel('enough');
      return [ended.state.outputs['hears'], (await two.result()).status];
    }),
  'a child that begins behind its first node, and whose state is looked at': (process) =>
    parent(async (ctx) => {
      const child = await ctx.start(listener(process, 1), 1, { entry: 'hears' });
      const before = Object.keys((await child.state()).outputs);
      await child.signal('go', before.length === 0 ? 'nothing ran' : 'something ran');
      const { status, state } = await child.result();
      return [status, Object.keys(state.outputs).toSorted(), state.outputs['hears']];
    }),
  'a poll beside a child, which is told to go on after three ticks': (process) =>
    parent(async (ctx) => {
      const child = await ctx.start(listener(process, 1), 1);
      const ended = child.result().then(() => 'ended');
      for (let ticks = 0; ; ticks += 1) {
        const tick = ctx.sleepUntil(ctx.now() + 50).then(() => 'tick');
        if ((await Promise.race([ended, tick])) === 'ended') return 'ended';
        if (ticks < 3) await stepOf(process, ctx, `tick ${ticks}`);
        if (ticks === 2) await child.signal('go', ticks);
      }
    }),
  'saves while a child runs': (process) =>
    parent(async (ctx) => {
      const child = await ctx.start(listener(process, 3), 1, { name: 'kept' });
      for (let count = (ctx.savedState as number | undefined) ?? 0; count < 3; count += 1) {
        await child.signal('go', count);
        await stepOf(process, ctx, `round ${count}`);
        await ctx.save(count + 1);
      }
      const { status, state } = await child.result();
      return [status, state.outputs['hears']];
    }),
  'a cancel of a child in whose child an effect is under way': (process) => {
    const inner = graphOf(
      'inner',
      [sends(process, 'one'), sends(process, 'two')],
      edges('> one', 'one > two', 'two >'),
    );
    const outer = graphOf(
      'outer',
      [
        node('asks', 'read', (ctx) => ctx.receive('never')),
        node('down', 'read', (ctx) => ctx.run(inner, {}).then(() => 'down')),
      ],
      edges('> down', 'down > asks', 'asks >'),
    );
    return parent(async (ctx) => {
      const child = await ctx.start(outer, {});
      let isThere = false;
      while (!isThere) {
        isThere = (await child.state()).outputs['down'] !== undefined;
        if (!isThere) await ctx.sleepUntil(ctx.now() + 5);
      }
      await child.cancel();
      return [(await child.result()).status, await stepOf(process, ctx, 'after')];
    });
  },
};

/** What is compared of these does not depend on how often they polled. */
const polling = 'a cancel of a child in whose child an effect is under way';

async function faultsOf(crashCase: CrashCase, options: Partial<CrashKitOptions> = {}): Promise<readonly string[]> {
  const report = await crashEverywhere(crashCase, { open, ...options });
  expect(report.points).toBeGreaterThan(5);
  return report.faults.map(({ points, faults }) => {
    const told = points.map(({ kind, number, when }) => `${when} ${kind} ${number}`).join(', then ');
    return `killed ${told}: ${faults.join('; ')}`;
  });
}

describe('P1 P2 W6.9 killed at every point', () => {
  it.each(Object.entries(cases))('%s', { timeout: 120_000 }, async (name, graph) => {
    expect(await faultsOf({ graph, input: {}, isScheduleFree: name !== polling })).toEqual([]);
  });

  it.each(Object.entries(cases))('twice; %s', { timeout: 120_000 }, async (name, graph) => {
    const choose: CrashKitOptions['choose'] = (points) =>
      points.flatMap((point, index) =>
        index % 2 === 0 ? [[point, points[(index * 7) % points.length] ?? point]] : [],
      );
    expect(await faultsOf({ graph, input: {}, isScheduleFree: name !== polling }, { choose })).toEqual([]);
  });

  it('X4.13 a race goes the way that it went before, whichever came first', { timeout: 120_000 }, async () => {
    const graph = (process: CrashProcess): Graph =>
      parent(async (ctx) => {
        const child = graphOf('child', [sends(process, 'c')], edges('> c', 'c >'));
        let went = '';
        for (let round = 0; round < 4; round += 1) {
          const first = await Promise.race([
            ctx.run(child, round, { name: `child ${round}` }).then(() => 'child'),
            ctx.sleepUntil(ctx.now() + round, `timer ${round}`).then(() => 'timer'),
            stepOf(process, ctx, `step ${round}`).then(() => 'step'),
          ]);
          const chosen = await ctx.step(`chosen ${round}`, {}, () => first);
          if (chosen !== first) throw new Error(`round ${round} went by ${chosen}, and goes by ${first}`);
          went += first;
        }
        return went.length > 0;
      });
    expect(await faultsOf({ graph, input: {}, isScheduleFree: false })).toEqual([]);
  });
});
