/** What a sweep does with runs of which some cannot be advanced. */
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node } from '../../test/engine-kit.ts';
import type { AdvanceResult } from '../engine/api.ts';
import { CairnError } from '../errors.ts';
import { fetchHost } from './fetch-host.ts';
import { serve } from './slices.ts';

const graph = graphOf('g', [node('a', 'pure', () => 1, {})], edges('> a', 'a >'));
const request = (): Request => new Request('http://localhost/sweep', { method: 'POST' });

/** A host over so many runs, of which the first ten cannot be advanced. */
async function sweepOver(count: number, fault: () => Error): Promise<readonly { readonly status: string }[]> {
  const { engine } = createBench();
  const runIds = Array.from({ length: count }, (_, index) => `r${index}`);
  const failing = new Set(runIds.slice(0, 10));
  const advance = (runId: string): Promise<AdvanceResult> =>
    failing.has(runId) ? Promise.reject(fault()) : Promise.resolve({ status: 'completed' });
  const instead = { listClaimable: () => Promise.resolve(runIds), advance };
  const swept = new Proxy(engine, {
    get: (target, name) => {
      const value: unknown = Reflect.get(Object.hasOwn(instead, name) ? instead : target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  const host = fetchHost({ graphs: [{ graph, engine: swept }], maxMs: 10_000 });
  return ((await (await host(request())).json()) as { runs: readonly { readonly status: string }[] }).runs;
}

test('HO9 a sweep goes on to every other run, however many cannot be advanced, and tells the code of each', async () => {
  const runs = await sweepOver(30, () => new CairnError('STORE_CORRUPT', { store: 's', reason: 'damaged' }));
  expect(runs).toHaveLength(30);
  expect(runs.filter(({ status }) => status === 'completed')).toHaveLength(20);
  expect(runs.find(({ status }) => status === 'error')).toEqual({
    runId: 'r0',
    status: 'error',
    code: 'STORE_CORRUPT',
  });
  const unknown = await sweepOver(10, () => new Error('a defect, with words that are for nobody else'));
  expect(unknown.every((run) => JSON.stringify(run).includes('"code":"INTERNAL"'))).toBe(true);
});

test('HO2 a host may be exactly as long as its longest effect takes with what is reserved for it', () => {
  const { engine } = createBench({ bounds: { cancelGraceMs: 1_000 } });
  const acting = graphOf('acts', [node('pay', 'external', () => 1, { timeoutMs: 8_000 })], edges('> pay', 'pay >'));
  const make = (maxMs: number) => () => serve([{ graph: acting, engine }], maxMs);
  expect(make(10_000)().longestMs).toBe(9_000);
  expect(make(9_999)).toThrow(expect.objectContaining({ code: 'HOST_TOO_SHORT' }));
});

test('HO5 behind a host an engine goes on with no run because it is answered: the sweep finds it', async () => {
  const bench = createBench({ wakes: true });
  const asking = graphOf(
    'asks',
    [node('ask', 'human', (ctx) => ctx.ask({ prompt: 'Yes?' }), {})],
    edges('> ask', 'ask >'),
  );
  bench.engine.know(asking);
  const { runId } = await bench.engine.start(asking, {}, { detach: true });
  const host = fetchHost({ graphs: [{ graph: asking, engine: bench.engine }], maxMs: 10_000 });
  await bench.engine.advance(runId, { forMs: 1_000 });
  const [wait] = await bench.engine.waits(runId);
  await bench.engine.answer(runId, wait?.waitId ?? '', 'yes');
  await bench.clock.sleep(60_000);
  expect((await bench.store.readRun({ tenant: 'default', runId }))?.status).toBe('paused');
  expect(await (await host(request())).json()).toEqual({ runs: [{ runId, status: 'completed' }] });
});
