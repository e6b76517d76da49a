/** What a telemetry is told of runs, and what runs keep of the traces they belong to. */
import { expect, test } from 'vitest';
import { afterCrash, createBench, edges, graphOf, node, runToRest } from '../../../test/engine-kit.ts';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import { recordTelemetry } from '../../../test/support/recorded-telemetry.ts';
import { createEngine } from '../engine.ts';
import type { Change } from '../../history/stored/change.ts';
import type { RunHandle } from '../api.ts';

const trace = (end: string): string => `00-${'a'.repeat(32)}-${'b'.repeat(15)}${end}-01`;

const refuse = (): never => {
  throw new Error('no collector');
};

let tries = 0;
const graph = graphOf(
  'g',
  [
    node(
      'a',
      'read',
      (ctx) => {
        tries += 1;
        if (tries === 1) throw new NodeFailure('not yet');
        ctx.trace('count')?.end();
        return tries;
      },
      { retry: { attempts: 2, delayMs: 1 } },
    ),
    node('b', 'human', (ctx) => ctx.receive('go')),
  ],
  edges('> a', 'a > b', 'b >'),
);

async function changeOf(handle: RunHandle): Promise<Change> {
  const parts: Change[number][] = [];
  for await (const event of handle.events()) if (event.type === 'checkpoint') parts.push(...event.change);
  return parts.filter(({ kind }) => kind === 'start' || kind === 'resume');
}

test('E10.1 a run and each attempt in it are spans, and what happens is counted', async () => {
  const { telemetry, spans, counts } = recordTelemetry();
  const bench = createBench({ telemetry });
  tries = 0;
  await runToRest(bench.engine, graph, {}, 'r');
  const about = { 'cairn.run.id': 'r', 'cairn.graph.id': 'g' };
  const [run] = spans;
  expect(spans.map(({ name, attributes, parent, ended }) => [name, attributes, parent === run, ended])).toEqual([
    ['cairn.run', about, false, {}],
    [
      'cairn.attempt',
      { ...about, 'cairn.node': 'a' },
      true,
      { 'cairn.status': 'retrying', 'error.type': 'FAILED', error: 'not yet' },
    ],
    ['cairn.attempt', { ...about, 'cairn.node': 'a' }, true, { 'cairn.status': 'completed' }],
    ['count', { ...about, 'cairn.node': 'a' }, false, {}],
    ['cairn.attempt', { ...about, 'cairn.node': 'b' }, true, {}],
  ]);
  expect(counts).toMatchObject({ 'cairn.attempts': 2, 'cairn.retries': 1, 'cairn.waits': 1 });
  expect(counts['cairn.checkpoints']).toBeGreaterThan(1);
});

test('E10.7 the span of a failed attempt has the exception, and ends with its message; so does that of a run that failed by it', async () => {
  const { telemetry, spans } = recordTelemetry();
  const bench = createBench({ telemetry, secrets: { read: async () => 'planted-secret-value' } });
  const refused = node('a', 'read', async (ctx) => {
    const key = await ctx.secrets.get('KEY');
    throw Object.assign(new RangeError(`card ${key} refused`), { code: 'REFUSED' });
  });
  const lost = node('b', 'pure', () => {
    throw new Error('lost');
  });
  const handled = graphOf('g', [lost, refused], [...edges('> b', 'a >'), { from: 'b', to: 'a', on: 'failed' }]);
  expect((await runToRest(bench.engine, handled, {}, 'r')).status).toBe('failed');
  const message = 'card [secret:KEY] refused';
  const told = { 'cairn.status': 'failed', 'error.type': 'REFUSED', error: message };
  expect(spans.map(({ ended }) => ended)).toEqual([
    told,
    { 'cairn.status': 'failed', 'error.type': 'NODE_FAILED', error: 'lost' },
    told,
  ]);
  expect(spans.map(({ exceptions }) => exceptions.length)).toEqual([0, 1, 1]);
  // Frames of this test are of the library's own folder, which are not told.
  expect(spans[2]?.exceptions).toEqual([
    { name: 'RangeError', code: 'REFUSED', message, stack: `RangeError: ${message}` },
  ]);
});

test('E10.7 a run that ends well after failures that were retried or handled has no error on its span', async () => {
  const { telemetry, spans } = recordTelemetry();
  const lost = node('b', 'pure', () => {
    throw new Error('lost');
  });
  const handled = graphOf(
    'g',
    [lost, node('a', 'pure', () => 1)],
    [...edges('> b', 'a >'), { from: 'b', to: 'a', on: 'failed' }],
  );
  const { status } = await runToRest(createBench({ telemetry }).engine, handled, {}, 'r');
  expect([status, spans[0]?.ended]).toEqual(['completed', {}]);
});

test('E10.1 how long a store takes to save and to load checkpoints is measured, where somebody asks for it', async () => {
  const measured: string[] = [];
  const { telemetry } = recordTelemetry({
    measure: (name, value, attributes) => {
      expect(value).toBeGreaterThanOrEqual(0);
      measured.push(`${name} ${String(attributes['cairn.graph.id'])}`);
      throw new Error('no collector');
    },
  });
  const bench = createBench({ telemetry });
  const { seq, runId } = await runToRest(bench.engine, graph, {}, 'r');
  // The first checkpoint is that of the admission.
  expect(measured).toEqual(Array.from({ length: seq }, () => 'cairn.checkpoint.save g'));
  await bench.engine.signal(runId, 'go', 1);
  await bench.engine.resume(runId, { graph }).then((handle) => handle.result());
  expect(measured[seq]).toBe('cairn.checkpoint.load g');
});

test('E10.2 a start and a resume record the version and the trace they belong to, and a resume goes on with the trace of the start', async () => {
  const { telemetry, spans } = recordTelemetry();
  const bench = createBench({ telemetry, version: '1.2.3' });
  tries = 1;
  const handle = await bench.engine.start(graph, {}, { runId: 'r', traceparent: trace('1') });
  expect(await changeOf(handle)).toEqual([
    { kind: 'start', graphHash: graph.hash, version: '1.2.3', traceparent: trace('1') },
  ]);
  const plain = await bench.engine.resume('r', { graph });
  expect((await changeOf(plain)).map(({ kind }) => kind)).toEqual(['start']);
  const given = afterCrash(bench);
  await given.signal('r', 'go', 1);
  const resumed = await given.resume('r', { graph, traceparent: trace('2') });
  expect((await changeOf(resumed)).at(-1)).toEqual({ kind: 'resume', version: '1.2.3', traceparent: trace('2') });
  const parents = spans.filter(({ name }) => name === 'cairn.run').map(({ parent }) => parent);
  expect(parents).toEqual([trace('1'), trace('1'), trace('2')]);
});

test('E10.2 without a trace that is given, the caller’s is recorded; one that is none is refused, and of the telemetry’s left out', async () => {
  let current: string | undefined = trace('3');
  const { telemetry } = recordTelemetry({ traceparent: () => current });
  const bench = createBench({ telemetry });
  const started = async (runId: string): Promise<unknown> =>
    (await changeOf(await bench.engine.start(graph, {}, { runId })))[0]?.traceparent;
  expect(await started('r1')).toBe(trace('3'));
  current = 'none';
  expect(await started('r2')).toBeUndefined();
  const wrong = bench.engine.start(graph, {}, { runId: 'r3', traceparent: 'none' });
  await expect(wrong).rejects.toMatchObject({ code: 'CONFIG_INVALID', data: { path: 'traceparent' } });
});

test('E10.4 a node begins spans inside its attempt and inside of each other; what it leaves open ends with the attempt, and attempts of a child run are inside the one that runs it', async () => {
  const { telemetry, spans, tree } = recordTelemetry();
  const bench = createBench({ telemetry });
  const child = graphOf('c', [node('in', 'pure', (ctx) => ctx.trace('within')?.end())], edges('> in', 'in >'));
  const outer = node('a', 'read', async (ctx) => {
    const load = ctx.trace('load', { attributes: { rows: 2, kinds: ['x'] } });
    load?.trace('parse')?.end({ error: 'BAD' });
    load?.end({ attributes: { read: true } });
    load?.end({ attributes: { read: false } });
    ctx.trace('forgotten');
    await ctx.run(child, {});
  });
  await runToRest(bench.engine, graphOf('g', [outer], edges('> a', 'a >')), {}, 'r');
  expect(tree()).toEqual([
    'cairn.run',
    '  cairn.attempt',
    '    load',
    '      parse!',
    '    forgotten',
    '    cairn.attempt',
    '      within',
  ]);
  const [load, parse] = ['load', 'parse'].map((name) => spans.find((span) => span.name === name));
  const about = { 'cairn.run.id': 'r', 'cairn.graph.id': 'g', 'cairn.node': 'a' };
  expect([load?.attributes, load?.ended]).toEqual([{ ...about, rows: 2, kinds: ['x'] }, { read: true }]);
  expect(parse?.ended).toEqual({ 'error.type': 'BAD', error: 'BAD' });
});

test('E10.4 contents are told only where the telemetry asks for them, with values under names of secrets masked', async () => {
  const told = async (contents: boolean): Promise<unknown> => {
    const { telemetry, spans } = recordTelemetry({ contents });
    const asked = node('a', 'pure', (ctx) => {
      const parts = { contents: () => ({ said: 'x', body: '{"password":"planted"}' }) };
      ctx.trace('s', { attributes: { size: 1 }, ...parts })?.end(parts);
      ctx.trace('t', { contents: () => refuse() })?.end();
    });
    await runToRest(createBench({ telemetry }).engine, graphOf('g', [asked], edges('> a', 'a >')), {}, 'r');
    expect(spans.map(({ name }) => name)).toEqual(['cairn.run', 'cairn.attempt', 's', 't']);
    const { attributes = {}, ended } = spans[2] ?? {};
    return [attributes['size'], attributes['said'], attributes['body'], ended];
  };
  expect(await told(false)).toEqual([1, undefined, undefined, {}]);
  const body = '{"password":"[redacted]"}';
  expect(await told(true)).toEqual([1, 'x', body, { said: 'x', body }]);
});

test('E10.3 a telemetry that throws changes nothing, and without one nothing is recorded of it', async () => {
  for (const telemetry of [
    { startSpan: refuse, count: refuse, traceparent: refuse },
    { startSpan: () => ({ end: refuse }), count: refuse },
  ]) {
    const bench = createBench({ telemetry });
    tries = 0;
    expect((await runToRest(bench.engine, graph, {}, 'r')).status).toBe('paused');
  }
  const { telemetry: _, ...options } = createBench().options;
  const handle = await createEngine(options).start(graph, {}, { runId: 'r' });
  expect(await changeOf(handle)).toEqual([{ kind: 'start', graphHash: graph.hash }]);
});
