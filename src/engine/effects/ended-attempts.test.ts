/** What a failed attempt of an effect leaves: who resumes it elsewhere need not wait, and who retries it is told why it was not (O2.5, X3). */
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, resumeToRest, runToRest, testIds } from '../../../test/engine-kit.ts';
import { createSystemIds } from '../../app/process/process-ids.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import type { Graph } from '../../graph/graph.ts';
import { createEngine } from '../engine.ts';

type Make = (run: () => unknown) => Graph;
const forms: Readonly<Record<string, Make>> = {
  node: (run) => graphOf('g', [node('pay', 'external', run)], edges('> pay', 'pay >')),
  step: (run) =>
    graphOf('g', [node('pay', 'read', (ctx) => ctx.step('s', { effect: 'external' }, run))], edges('> pay', 'pay >')),
  'node with another attempt to come': (run) =>
    graphOf(
      'g',
      [node('pay', 'external', run, { idempotent: true, retry: { attempts: 2, delayMs: 60_000 } })],
      edges('> pay', 'pay >'),
    ),
};

test.each(Object.entries(forms))(
  'O2.5 an attempt whose failure is on record has ended, so a resume elsewhere does not wait for its deadline (%s)',
  async (_, make) => {
    const bench = createBench();
    let calls = 0;
    const graph = make(() => {
      calls += 1;
      throw new Error('the connection broke');
    });
    await runToRest(bench.engine, graph, {}, 'r');
    const other = createEngine({ ...bench.options, ids: { ...testIds('worker-2'), isWorkerDead: () => false } });
    // Then the other attempt is due, where there is one.
    const at = (bench.clock.timeMs += 61_000);
    await resumeToRest(other, 'r', graph);
    expect(bench.clock.timeMs - at).toBe(0);
    const waits = (await other.waits('r')).map(({ kind }) => kind);
    expect([calls, waits]).toEqual(graph.nodes.some(({ idempotent }) => idempotent) ? [2, []] : [1, ['doubt']]);
  },
);

test.each(Object.entries(forms).slice(0, 2))(
  'X3 who is asked whether a failed effect happened is told how it failed (%s)',
  async (_, make) => {
    const { engine } = createBench();
    const graph = make(() => {
      throw new Error('the connection broke');
    });
    await runToRest(engine, graph, {}, 'r');
    const { waits } = await resumeToRest(engine, 'r', graph);
    expect(waits[0]?.prompt).toMatch(
      /^It is not known whether this external effect happened: pay.*\. It failed: the connection broke\nDid it\?$/u,
    );
    // That a person said `fail` is no way in which it failed.
    await engine.answer('r', waits[0]?.waitId ?? '', 'fail');
    expect((await resumeToRest(engine, 'r', graph)).status).toBe('failed');
    expect((await resumeToRest(engine, 'r', graph)).waits[0]?.prompt).not.toContain('failed: it is not known');
  },
);

test.each(Object.entries(forms).slice(0, 2))(
  'O2.8 an effect of an engine of this process that was closed is settled elsewhere as soon as it has ended (%s)',
  async (_, make) => {
    const bench = createBench({ ids: createSystemIds() });
    const begun = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const graph = make(() => (begun.resolve(), gate.promise));
    const handle = await bench.engine.start(graph, {}, { runId: 'r' });
    const ended = handle.result().catch((error: unknown) => error);
    await begun.promise;
    await bench.engine.close();
    expect(await ended).toMatchObject({ code: 'STORE_CLOSED' });
    const other = createEngine({ ...bench.options, ids: createSystemIds() });
    const waiting = Promise.withResolvers<unknown>();
    const again = await other.resume('r', { graph });
    const follow = async (): Promise<void> => {
      for await (const event of again.events()) if (event.type === 'waiting') waiting.resolve(event.detail);
    };
    void follow();
    // Who follows the run is told at once for whom it waits, and until when at the latest.
    expect(await waiting.promise).toMatchObject({ owner: bench.options.ids.workerId, until: expect.any(Number) });
    expect(await other.waits('r')).toEqual([]);
    const at = bench.clock.timeMs;
    gate.resolve();
    const result = await again.result();
    expect(bench.clock.timeMs - at).toBeLessThan(1e9);
    expect([result.status, result.waits]).toEqual(['completed', []]);
  },
);

test.each([
  [
    'node',
    "node pay failed: down; it was not tried again, as its effect may have happened: where it certainly has not, throw a NodeFailure with applied: 'no'; where a repetition does no harm, declare it idempotent",
  ],
  [
    'step',
    "node pay failed: down; its step s was not tried again, as its effect may have happened: where it certainly has not, throw a NodeFailure with applied: 'no'; where a repetition does no harm, declare it idempotent",
  ],
] as const)(
  'X3.3 who retries an effect of a %s in vain is told why it was tried once, and the two ways out',
  async (form, message) => {
    const retry = { attempts: 5, delayMs: 1 };
    const work = (more: object): Graph => {
      const run = (): never => {
        throw Object.assign(new Error('down'), more);
      };
      const composed = (ctx: NodeContext): unknown => ctx.step('s', { effect: 'external', retry }, run);
      const pay = form === 'node' ? node('pay', 'external', run, { retry }) : node('pay', 'read', composed);
      return graphOf('g', [pay], edges('> pay', 'pay >'));
    };
    const failing = work({});
    const { engine } = createBench({ findGraph: () => failing });
    expect((await runToRest(engine, failing, {}, 'r')).error?.message).toBe(message);
    expect((await engine.inspect('r')).error?.message).toBe(message);
    expect((await runToRest(engine, work({ applied: 'no' }))).error?.message).toBe('node pay failed: down');
  },
);
