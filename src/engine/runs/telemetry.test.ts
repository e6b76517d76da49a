/** What a telemetry is told of runs, and what runs keep of the traces they belong to. */
import { expect, test } from 'vitest';
import { afterCrash, createBench, edges, graphOf, node, runToRest } from '../../../test/engine-kit.ts';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type { Attributes, Span, Telemetry } from '../../ports/telemetry.ts';
import { createEngine } from '../engine.ts';
import type { Change } from '../../history/stored/change.ts';
import type { RunHandle } from '../api.ts';

const trace = (end: string): string => `00-${'a'.repeat(32)}-${'b'.repeat(15)}${end}-01`;

interface Told extends Span {
  readonly name: string;
  readonly attributes: Attributes;
  readonly parent: Span | string | undefined;
  ended: Attributes | undefined;
}

function watch(more: Partial<Telemetry> = {}) {
  const spans: Told[] = [];
  const counts: Record<string, number> = {};
  const telemetry: Telemetry = {
    startSpan: (name, attributes, parent) => {
      const span: Told = { name, attributes, parent, ended: undefined, end: (last = {}) => void (span.ended = last) };
      spans.push(span);
      return span;
    },
    count: (name, by) => void (counts[name] = (counts[name] ?? 0) + by),
    ...more,
  };
  return { telemetry, spans, counts };
}

let tries = 0;
const graph = graphOf(
  'g',
  [
    node(
      'a',
      'read',
      () => {
        tries += 1;
        if (tries === 1) throw new NodeFailure('not yet');
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
  const { telemetry, spans, counts } = watch();
  const bench = createBench({ telemetry });
  tries = 0;
  await runToRest(bench.engine, graph, {}, 'r');
  const about = { 'cairn.run.id': 'r', 'cairn.graph.id': 'g' };
  const [run] = spans;
  expect(spans.map(({ name, attributes, parent, ended }) => [name, attributes, parent === run, ended])).toEqual([
    ['cairn.run', about, false, {}],
    ['cairn.attempt', { ...about, 'cairn.node': 'a' }, true, { 'cairn.status': 'retrying', error: 'failed' }],
    ['cairn.attempt', { ...about, 'cairn.node': 'a' }, true, { 'cairn.status': 'completed' }],
    ['cairn.attempt', { ...about, 'cairn.node': 'b' }, true, {}],
  ]);
  expect(counts).toMatchObject({ 'cairn.attempts': 3, 'cairn.retries': 1, 'cairn.waits': 1 });
  expect(counts['cairn.checkpoints']).toBeGreaterThan(1);
});

test('E10.2 a start and a resume record the version and the trace they belong to, and a resume goes on with the trace of the start', async () => {
  const { telemetry, spans } = watch();
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
  const { telemetry } = watch({ traceparent: () => current });
  const bench = createBench({ telemetry });
  const started = async (runId: string): Promise<unknown> =>
    (await changeOf(await bench.engine.start(graph, {}, { runId })))[0]?.traceparent;
  expect(await started('r1')).toBe(trace('3'));
  current = 'none';
  expect(await started('r2')).toBeUndefined();
  const wrong = bench.engine.start(graph, {}, { runId: 'r3', traceparent: 'none' });
  await expect(wrong).rejects.toMatchObject({ code: 'CONFIG_INVALID', data: { path: 'traceparent' } });
});

test('E10.3 a telemetry that throws changes nothing, and without one nothing is recorded of it', async () => {
  const refuse = (): never => {
    throw new Error('no collector');
  };
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
