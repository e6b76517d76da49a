/** The adapter for OpenTelemetry that the guide shows, executed as it stands there, over a small stand-in for `@opentelemetry/api`. */
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { compileFunction } from 'node:vm';
import { expect, test } from 'vitest';
import { agent } from '../src/agents/agent.ts';
import { tool } from '../src/agents/tools/tool-box.ts';
import { createScriptedModels } from '../src/models/scripted.ts';
import type { Telemetry } from '../src/ports/telemetry.ts';
import { createBench, edges, graphOf, node, runToRest } from './engine-kit.ts';

/** A span as the stand-in keeps it. `from`: what it is in: another span, or the `traceparent` of one elsewhere. */
interface OtelSpan {
  readonly name: string;
  readonly kind: number;
  readonly attributes: Record<string, unknown>;
  readonly from: OtelSpan | string | undefined;
  status?: { readonly code: number; readonly message?: string };
  isEnded: boolean;
  readonly exceptions: unknown[];
}

type Context = { readonly span?: OtelSpan | string | undefined };

/** The part of the real API that the adapter uses. An invalid span context is no parent, as there. */
class StandIn {
  readonly spans: OtelSpan[] = [];
  active: Context = {};

  readonly api = {
    INVALID_SPAN_CONTEXT: {},
    SpanKind: { INTERNAL: 0, CLIENT: 2 },
    SpanStatusCode: { ERROR: 2 },
    context: { active: (): Context => this.active },
    propagation: {
      extract: (_: Context, { traceparent }: { readonly traceparent: string }): Context => ({ span: traceparent }),
      inject: ({ span }: Context, carrier: { traceparent?: string }): void => {
        if (typeof span === 'string') carrier.traceparent = span;
      },
    },
    trace: {
      getTracer: () => ({ startSpan: this.#start }),
      wrapSpanContext: (): undefined => undefined,
      setSpan: (_: Context, span: OtelSpan | undefined): Context => ({ span }),
    },
  };

  #start = (name: string, given: Pick<OtelSpan, 'kind' | 'attributes'>, { span: from }: Context): object => {
    const span: OtelSpan = { name, ...given, from, isEnded: false, exceptions: [] };
    this.spans.push(span);
    return Object.assign(span, {
      setAttributes: (more: object) => void Object.assign(span.attributes, more),
      setStatus: (status: OtelSpan['status']) => void Object.assign(span, { status }),
      recordException: (exception: unknown) => void span.exceptions.push(exception),
      end: () => void (span.isEnded = true),
    });
  };
}

/** Runs the guide's block with this API. */
function telemetryOfGuide(api: StandIn['api']): Telemetry {
  const guide = readFileSync(join(import.meta.dirname, '../docs/guide/telemetry.md'), 'utf8');
  const block = /^```ts\n(import \{[^}]*\} from '@opentelemetry\/api';.*?)^```$/msu.exec(guide)?.[1] ?? '';
  const code = stripTypeScriptTypes(block)
    .replace(/import \{([^}]*)\} from '@opentelemetry\/api';/u, 'const {$1} = api;')
    .replace('export const telemetry', 'const telemetry');
  return compileFunction(`${code}\nreturn telemetry;`, ['api'])(api) as Telemetry;
}

test('E10.5 the adapter of the guide hands spans on to OpenTelemetry, within each other and within the trace that began the run', async () => {
  const outside = new StandIn();
  outside.active = { span: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
  const telemetry = telemetryOfGuide(outside.api);
  const fails = (): never => {
    throw new Error('It is dark.');
  };
  const look = tool({ description: 'Looks.', input: { type: 'object' }, effect: 'read', run: fails });
  const models = createScriptedModels([{ calls: [{ tool: 'look' }] }, 'I see nothing.']);
  const watcher = { id: 'watcher', ...agent({ model: 'anthropic:claude', prompt: '?', tools: { look } }) };
  const { engine } = createBench({ models, telemetry });
  await runToRest(engine, graphOf('g', [watcher], edges('> watcher', 'watcher >')), {}, 'r');
  const told = outside.spans.map(({ name, kind, from, status, isEnded }) => ({
    name,
    kind,
    from: typeof from === 'object' ? from.name : from,
    ...(status !== undefined && { status }),
    isEnded,
  }));
  const within = (name: string, from: string, kind = 0): object => ({ name, kind, from, isEnded: true });
  expect(told).toEqual([
    within('cairn.run', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'),
    within('cairn.attempt', 'cairn.run'),
    within('invoke_agent watcher', 'cairn.attempt'),
    within('chat claude', 'invoke_agent watcher', 2),
    { ...within('execute_tool look', 'invoke_agent watcher'), status: { code: 2, message: 'Error' } },
    within('chat claude', 'invoke_agent watcher', 2),
  ]);
  expect(outside.spans[3]?.attributes).toMatchObject({
    'cairn.run.id': 'r',
    'gen_ai.response.finish_reasons': ['tool-calls'],
  });
});

test('E10.7 the adapter of the guide hands on why attempts and the run failed: exception, ERROR, message', async () => {
  const outside = new StandIn();
  const { engine } = createBench({ telemetry: telemetryOfGuide(outside.api) });
  const dark = node('look', 'read', () => {
    throw new TypeError('It is dark.');
  });
  await runToRest(engine, graphOf('g', [dark], edges('> look', 'look >')), {}, 'r');
  const status = { code: 2, message: 'It is dark.' };
  const stack = expect.stringMatching(/^TypeError: It is dark\.\n {4}at .*telemetry-guide\.test\.ts:\d+/u) as unknown;
  const exception = { name: 'TypeError', message: 'It is dark.', code: 'NODE_FAILED', stack };
  expect(outside.spans).toMatchObject([
    { name: 'cairn.run', status, exceptions: [] },
    { name: 'cairn.attempt', status, exceptions: [exception], attributes: { 'error.type': 'NODE_FAILED' } },
  ]);
});
