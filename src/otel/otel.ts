/** Hands what engines tell to OpenTelemetry, by whatever SDK the program has set up (E10.10). */
import type * as Api from '@opentelemetry/api';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import { importPeer } from '../optional-peers.ts';
import type { Attributes, Span, SpanException, Telemetry } from '../ports/telemetry.ts';

/** Options of {@link otel}. */
export interface OtelOptions {
  /** Whether messages of conversations, arguments and results of tools are told, too. Secrets are masked. Default false. */
  readonly contents?: boolean;
}

/** A telemetry over OpenTelemetry. */
export type OtelTelemetry = Telemetry & Required<Pick<Telemetry, 'measure' | 'traceparent'>>;

const scope = 'cairn-workflows';
/** What spans begin with that are calls of another system. */
const clientCalls = /^(?:chat|embeddings|rerank) /u;

/**
 * Makes a telemetry of the providers that the program has registered with `@opentelemetry/api`, for `compile({ telemetry })` and for the
 * configuration. Spans and metrics are named by the conventions, those of generative AI among them.
 * @throws CONFIG_MISSING_PEER `@opentelemetry/api` is not installed; CONFIG_INVALID an unknown option
 */
export async function otel(options: OtelOptions = {}): Promise<OtelTelemetry> {
  refuseUnknownKeys('otel', options, ['contents']);
  const { contents = false } = options;
  return new ApiTelemetry(await importPeer<typeof Api>('@opentelemetry/api'), contents);
}

class ApiTelemetry implements OtelTelemetry {
  readonly contents: boolean;
  readonly #api: typeof Api;
  readonly #tracer: Api.Tracer;
  readonly #instruments: Instruments;

  constructor(api: typeof Api, contents: boolean) {
    this.#api = api;
    this.contents = contents;
    this.#tracer = api.trace.getTracer(scope);
    this.#instruments = new Instruments(api.metrics.getMeter(scope));
  }

  startSpan(name: string, attributes: Attributes, parent: Span | string | undefined): Span {
    const { SpanKind } = this.#api;
    const kind = clientCalls.test(name) ? SpanKind.CLIENT : SpanKind.INTERNAL;
    const own = this.#tracer.startSpan(name, { attributes, kind }, this.#around(parent));
    const instruments = kind === SpanKind.CLIENT ? this.#instruments : undefined;
    return new ApiSpan(this.#api, own, attributes, instruments);
  }

  count(name: string, by: number, attributes: Attributes): void {
    this.#instruments.counter(name).add(by, attributes);
  }

  measure(name: string, value: number, attributes: Attributes): void {
    this.#instruments.record(name, value, attributes);
  }

  traceparent(): string | undefined {
    const { trace, context, isSpanContextValid } = this.#api;
    const current = trace.getSpanContext(context.active());
    if (current === undefined || !isSpanContextValid(current)) return undefined;
    const { traceId, spanId, traceFlags } = current;
    return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  }

  /** Where a span is: in another one, in that of another process, or in a trace of its own, whatever is active just now. */
  #around(parent: Span | string | undefined): Api.Context {
    const { trace, ROOT_CONTEXT } = this.#api;
    if (parent instanceof ApiSpan) return trace.setSpan(ROOT_CONTEXT, parent.span);
    const [, traceId, spanId, flags = ''] =
      /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})/u.exec(typeof parent === 'string' ? parent : '') ?? [];
    if (traceId === undefined || spanId === undefined) return ROOT_CONTEXT;
    const remote = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
    return trace.setSpanContext(ROOT_CONTEXT, remote);
  }
}

class ApiSpan implements Span {
  readonly span: Api.Span;
  readonly #api: typeof Api;
  readonly #attributes: Attributes;
  /** Of a call of a model, which is measured too. */
  readonly #instruments: Instruments | undefined;
  readonly #since = performance.now();

  constructor(api: typeof Api, span: Api.Span, attributes: Attributes, instruments: Instruments | undefined) {
    this.#api = api;
    this.span = span;
    this.#attributes = attributes;
    this.#instruments = instruments;
  }

  recordException({ name, message, stack }: SpanException): void {
    // Without the code, which would stand for the name of the class; `error.type` has it.
    this.span.recordException({ name, message, stack });
  }

  end({ error, ...last }: Attributes & { readonly error?: string } = {}): void {
    this.span.setAttributes(last);
    if (error !== undefined) this.span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message: error });
    this.span.end();
    this.#instruments?.call(performance.now() - this.#since, { ...this.#attributes, ...last });
  }
}

/** The names of attributes that tell calls of models apart. */
const callAttributes: readonly string[] = [
  'gen_ai.operation.name',
  'gen_ai.provider.name',
  'gen_ai.request.model',
  'gen_ai.response.model',
  'error.type',
];

/** Upper bounds of the conventions: of durations in s, and of tokens. */
const durationBounds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const tokenBounds = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864];

/** Instruments are made when something is counted under their name. */
class Instruments {
  readonly #meter: Api.Meter;
  readonly #counters = new Map<string, Api.Counter>();
  readonly #recorders = new Map<string, Pick<Api.Histogram, 'record'>>();

  constructor(meter: Api.Meter) {
    this.#meter = meter;
  }

  counter(name: string): Api.Counter {
    const known = this.#counters.get(name);
    if (known !== undefined) return known;
    const made = this.#meter.createCounter(name, name === 'cairn.loop.blocked' ? { unit: 's' } : {});
    this.#counters.set(name, made);
    return made;
  }

  /** The backlog is a state, all else a distribution. */
  record(name: string, value: number, attributes: Api.Attributes, options: Api.MetricOptions = { unit: 'ms' }): void {
    let recorder = this.#recorders.get(name);
    if (recorder === undefined) {
      recorder = name.startsWith('cairn.backlog')
        ? this.#meter.createGauge(name, name === 'cairn.backlog' ? {} : options)
        : this.#meter.createHistogram(name, options);
      this.#recorders.set(name, recorder);
    }
    recorder.record(value, attributes);
  }

  /** A call of a model has ended. */
  call(tookMs: number, attributes: Attributes): void {
    const about = Object.fromEntries(
      callAttributes.flatMap((name) => (attributes[name] === undefined ? [] : [[name, attributes[name]]])),
    );
    const inSeconds = { unit: 's', advice: { explicitBucketBoundaries: durationBounds } };
    this.record('gen_ai.client.operation.duration', tookMs / 1_000, about, inSeconds);
    for (const type of ['input', 'output']) {
      const tokens = attributes[`gen_ai.usage.${type}_tokens`];
      const inTokens = { unit: '{token}', advice: { explicitBucketBoundaries: tokenBounds } };
      if (typeof tokens === 'number')
        this.record('gen_ai.client.token.usage', tokens, { ...about, 'gen_ai.token.type': type }, inTokens);
    }
  }
}
