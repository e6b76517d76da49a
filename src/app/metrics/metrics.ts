/** Counts what engines tell, and writes it in the text form of Prometheus. */
import type { Metrics } from '../../ports/metrics.ts';
import type { Attributes } from '../../ports/telemetry.ts';
import { readVersion } from '../version.ts';
import { engineSeries, processSeries, storeSeries, type EngineSeries, type Series } from './series.ts';

/** One value of a gauge. */
export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Gauges by the names of their series. */
export type Gauges = Readonly<Record<string, readonly Sample[]>>;

/** Counters of a process, for `compile({ metrics })`. */
export interface ProcessMetrics extends Metrics {
  /** Adds gauges that are read at each text. */
  addGauges(read: () => Promise<Gauges> | Gauges): void;
  /** All of it in the text form of Prometheus, version 0.0.4; serve it as {@link metricsType}. */
  text(): Promise<string>;
}

/** The media type of {@link ProcessMetrics.text}. */
export const metricsType = 'text/plain; version=0.0.4; charset=utf-8';

/** What a series has of one set of labels. */
interface Cell {
  readonly labels: string;
  value: number;
  /** Of a histogram: how many values are in each bucket, the last one for all above. */
  readonly buckets: number[];
  count: number;
}

interface Counted {
  readonly series: EngineSeries;
  readonly cells: Map<string, Cell>;
  /** By the attributes themselves: engines tell the same object again and again. */
  readonly known: WeakMap<Attributes, Cell>;
}

/** Upper bounds of the buckets, in seconds. */
const bounds: readonly number[] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** The most sets of labels of a series. What comes later is counted under the graph `other`. */
const cellsMax = 1_000;

/** Makes the counters of a process: for `compile({ metrics })`, which counts into them. */
export function createMetrics(): ProcessMetrics {
  return new PrometheusMetrics();
}

class PrometheusMetrics implements ProcessMetrics {
  readonly #counted = new Map<string, Counted>();
  readonly #gauges: (() => Promise<Gauges> | Gauges)[] = [];

  constructor() {
    for (const [name, series] of Object.entries(engineSeries))
      this.#counted.set(name, { series, cells: new Map(), known: new WeakMap() });
  }

  count(name: string, by: number, attributes: Attributes): void {
    const counter = this.#counted.get(name);
    if (counter !== undefined) cellOf(counter, attributes).value += by;
  }

  measure(name: string, value: number, attributes: Attributes): void {
    const counter = this.#counted.get(name);
    if (counter === undefined) return;
    const cell = cellOf(counter, attributes);
    const seconds = value / 1_000;
    let at = 0;
    while (at < bounds.length && seconds > (bounds[at] as number)) at += 1;
    cell.buckets[at] = (cell.buckets[at] ?? 0) + 1;
    cell.count += 1;
    cell.value += seconds;
  }

  addGauges(read: () => Promise<Gauges> | Gauges): void {
    this.#gauges.push(read);
  }

  async text(): Promise<string> {
    const read = await Promise.all(this.#gauges.map(async (each) => each()));
    const gauges: Gauges = Object.assign(readProcess(), ...read);
    const counted = [...this.#counted.values()].flatMap(({ series, cells }) => [
      ...headOf(series.name, series),
      ...[...cells.values()].flatMap((cell) => linesOf(series, cell)),
    ]);
    return `${[...counted, ...Object.entries(gauges).flatMap(([name, samples]) => gaugeLines(name, samples))].join('\n')}\n`;
  }
}

function cellOf({ series, cells, known }: Counted, attributes: Attributes): Cell {
  const before = known.get(attributes);
  if (before !== undefined) return before;
  const values = valuesOf(series.labels, attributes);
  const labels = labelsText(values);
  const isOver = cells.size >= cellsMax && !cells.has(labels);
  const key = isOver ? labelsText({ ...values, graph: 'other' }) : labels;
  let cell = cells.get(key);
  if (cell === undefined) {
    cell = { labels: key, value: 0, count: 0, buckets: [] };
    cells.set(key, cell);
  }
  known.set(attributes, cell);
  return cell;
}

/** The attributes of engines by the names of labels. */
const attributeOf: Readonly<Record<string, string>> = {
  graph: 'cairn.graph.id',
  status: 'cairn.status',
  unit: 'cairn.unit',
};

function valuesOf(labels: readonly string[], attributes: Attributes): Readonly<Record<string, string>> {
  const valueOf = (label: string): string => String(attributes[attributeOf[label] ?? label] ?? '');
  return Object.fromEntries(labels.map((label) => [label, valueOf(label)]));
}

/** `graph="a",status="failed"` */
function labelsText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escapeText(value).replaceAll('"', String.raw`\"`)}"`)
    .join(',');
}

const escapeText = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', String.raw`\n`);

function headOf(name: string, { help, kind }: Series): readonly string[] {
  return [`# HELP ${name} ${escapeText(help)}`, `# TYPE ${name} ${kind}`];
}

function linesOf({ name, kind }: EngineSeries, { labels, value, buckets, count }: Cell): readonly string[] {
  if (kind !== 'histogram') return [`${name}{${labels}} ${value}`];
  let below = 0;
  const lines = [...bounds, Infinity].map((bound, at) => {
    below += buckets[at] ?? 0;
    return `${name}_bucket{${labels},le="${bound === Infinity ? '+Inf' : bound}"} ${below}`;
  });
  return [...lines, `${name}_sum{${labels}} ${value}`, `${name}_count{${labels}} ${count}`];
}

function gaugeLines(name: string, samples: readonly Sample[]): readonly string[] {
  const series = gaugeSeries[name];
  const lines = samples.map(({ labels = {}, value }) => {
    const text = labelsText(labels);
    return `${name}${text === '' ? '' : `{${text}}`} ${value}`;
  });
  return [...(series === undefined ? [] : headOf(name, series)), ...lines];
}

const gaugeSeries: Readonly<Record<string, Series>> = { ...processSeries, ...storeSeries };

/** What is known of this process alone. */
function readProcess(): Gauges {
  const { user, system } = process.cpuUsage();
  return {
    cairn_build_info: [{ labels: { version: readVersion() ?? 'unknown' }, value: 1 }],
    cairn_loop_busy_seconds_total: [{ value: performance.eventLoopUtilization().active / 1_000 }],
    process_cpu_seconds_total: [{ value: (user + system) / 1e6 }],
    process_resident_memory_bytes: [{ value: process.memoryUsage.rss() }],
    process_start_time_seconds: [{ value: Math.round(Date.now() / 1_000 - process.uptime()) }],
  };
}
