/** What a collector gets over OTLP, from the official SDK and exporters, by the two lines of the guide. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { context, metrics, ROOT_CONTEXT, trace, type Context, type ContextManager } from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createBench, edges, graphOf, node, runToRest } from '../../test/engine-kit.ts';
import { agent } from '../agents/agent.ts';
import { tool } from '../agents/tools/tool-box.ts';
import { createScriptedModels } from '../models/scripted.ts';
import { otel } from './otel.ts';

/** An attribute, as OTLP has it in JSON. */
interface KeyValue {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface WireSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: readonly KeyValue[];
  readonly events: readonly { readonly name: string; readonly attributes: readonly KeyValue[] }[];
  readonly status: { readonly code: number; readonly message?: string };
}

interface WirePoint {
  readonly attributes: readonly KeyValue[];
  readonly asDouble?: number;
  readonly count?: number;
  readonly sum?: number;
}

interface WireMetric {
  readonly name: string;
  readonly unit: string;
  readonly sum?: { readonly dataPoints: readonly WirePoint[]; readonly isMonotonic: boolean };
  readonly histogram?: { readonly dataPoints: readonly WirePoint[] };
  readonly gauge?: { readonly dataPoints: readonly WirePoint[] };
}

const bodies: { readonly path: string; readonly type: string | undefined; readonly json: Record<string, unknown> }[] =
  [];
const collector: Server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const json = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
    bodies.push({ path: request.url ?? '', type: request.headers['content-type'], json });
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
});
/** As the SDK for Node has it. */
const active = new AsyncLocalStorage<Context>();
const asyncContext: ContextManager = {
  active: () => active.getStore() ?? ROOT_CONTEXT,
  with: (within, call, self, ...args) => active.run(within, () => call.apply(self as never, args)),
  bind: (_, target) => target,
  enable: () => asyncContext,
  disable: () => asyncContext,
};
let tracerProvider: TracerProvider;
let meterProvider: MeterProvider;
beforeAll(async () => {
  await new Promise<void>((resolve) => void collector.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  tracerProvider = new TracerProvider({
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url: `${url}/v1/traces` }) })],
  });
  meterProvider = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter({ url: `${url}/v1/metrics` }) })],
  });
  context.setGlobalContextManager(asyncContext);
  trace.setGlobalTracerProvider(tracerProvider);
  metrics.setGlobalMeterProvider(meterProvider);
});
afterAll(async () => {
  await Promise.all([tracerProvider.shutdown(), meterProvider.shutdown()]);
  for (const api of [context, trace, metrics]) api.disable();
  collector.close();
});

async function exported(): Promise<{
  readonly spans: readonly WireSpan[];
  readonly told: ReadonlyMap<string, WireMetric>;
}> {
  bodies.length = 0;
  await tracerProvider.forceFlush();
  await meterProvider.forceFlush();
  expect(bodies.every(({ type }) => type === 'application/json')).toBe(true);
  const of = (path: string, resource: string, scope: string, items: string): unknown[] =>
    bodies
      .filter((body) => body.path === path)
      .flatMap(({ json }) => json[resource] as Record<string, Record<string, unknown>[]>[])
      .flatMap((each) => each[scope] ?? [])
      .filter((each) => (each['scope'] as { readonly name: string }).name === 'cairn-workflows')
      .flatMap((each) => each[items] as unknown[]);
  const spans = of('/v1/traces', 'resourceSpans', 'scopeSpans', 'spans') as WireSpan[];
  const found = of('/v1/metrics', 'resourceMetrics', 'scopeMetrics', 'metrics') as WireMetric[];
  return { spans, told: new Map(found.map((metric) => [metric.name, metric])) };
}

const plain = (attributes: readonly KeyValue[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

test('E10.10 a collector gets the spans of runs, attempts, models and tools, within each other and within the trace that began the run', async () => {
  const telemetry = await otel();
  const look = tool({ description: 'Looks.', input: { type: 'object' }, effect: 'read', run: () => 'dark' });
  const models = createScriptedModels([{ calls: [{ tool: 'look' }] }, 'I see nothing.']);
  const watcher = { id: 'watcher', ...agent({ model: 'anthropic:claude', prompt: '?', tools: { look } }) };
  const { engine } = createBench({ models, telemetry });
  const graph = graphOf('watched', [watcher], edges('> watcher', 'watcher >'));
  const outside = trace.getTracer('program').startSpan('request');
  await context.with(trace.setSpan(context.active(), outside), () => runToRest(engine, graph, {}, 'r'));
  outside.end();
  const { traceId } = outside.spanContext();
  const { spans, told } = await exported();
  const nameOf = (id: string | undefined): string | undefined => spans.find(({ spanId }) => spanId === id)?.name;
  const run = spans.find(({ name }) => name === 'cairn.run');
  expect(run).toMatchObject({ traceId, parentSpanId: outside.spanContext().spanId });
  expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
  expect(
    spans.map(({ name, kind, parentSpanId }) => `${name} ${kind} in ${nameOf(parentSpanId) ?? 'request'}`).sort(),
  ).toEqual([
    'cairn.attempt 1 in cairn.run',
    'cairn.run 1 in request',
    'chat claude 3 in invoke_agent watcher',
    'chat claude 3 in invoke_agent watcher',
    'execute_tool look 1 in invoke_agent watcher',
    'invoke_agent watcher 1 in cairn.attempt',
  ]);
  const chat = spans.find(({ name }) => name === 'chat claude');
  expect(plain(chat?.attributes ?? [])).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.request.model': 'claude',
    'cairn.run.id': 'r',
  });
  expect(JSON.stringify(spans)).not.toContain('I see nothing');
  const tokens = told.get('gen_ai.client.token.usage');
  expect(tokens?.unit).toBe('{token}');
  expect(
    tokens?.histogram?.dataPoints.map(({ attributes, count }) => [plain(attributes)['gen_ai.token.type'], count]),
  ).toEqual([
    ['input', 2],
    ['output', 2],
  ]);
  expect(told.get('gen_ai.client.operation.duration')).toMatchObject({ unit: 's' });
  const attempts = told.get('cairn.attempts')?.sum;
  expect(attempts?.isMonotonic).toBe(true);
  expect(attempts?.dataPoints.map(({ attributes, asDouble }) => [plain(attributes), asDouble])).toEqual([
    [{ 'cairn.graph.id': 'watched', 'cairn.status': 'completed' }, 1],
  ]);
  expect(told.get('cairn.checkpoint.save')?.histogram?.dataPoints[0]?.count).toBeGreaterThan(0);
});

test('E10.10 a failed attempt has its exception, and it and its run end with ERROR and the message; a trace of another process is gone on with', async () => {
  const telemetry = await otel();
  const dark = node('look', 'read', () => {
    throw new TypeError('It is dark.');
  });
  const { engine } = createBench({ telemetry });
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  const handle = await engine.start(graphOf('g', [dark], edges('> look', 'look >')), {}, { runId: 'd', traceparent });
  await handle.result();
  const { spans } = await exported();
  const [run, attempt] = ['cairn.run', 'cairn.attempt'].map((each) => spans.find(({ name }) => name === each));
  expect(run).toMatchObject({ traceId: 'a'.repeat(32), parentSpanId: 'b'.repeat(16) });
  for (const span of [run, attempt]) expect(span?.status).toEqual({ code: 2, message: 'It is dark.' });
  expect(attempt?.events).toMatchObject([{ name: 'exception' }]);
  expect(plain(attempt?.events[0]?.attributes ?? [])).toMatchObject({
    'exception.type': 'TypeError',
    'exception.message': 'It is dark.',
    'exception.stacktrace': expect.stringContaining('TypeError: It is dark.') as string,
  });
});
