/** The times of a story: a lane for each node, and a scale on which idle time is folded. Pure. */
import type { Story, Visit } from '../../data/types.ts';
import { duration, nodeName, type Tone } from '../../words.ts';

/** One stretch of a node: it worked, or it waited. Times are epoch ms. */
export interface Bar {
  readonly from: number;
  readonly to: number;
  readonly tone: Tone;
  readonly seq: number;
  readonly title: string;
  readonly isWait: boolean;
}

/** A node, with all that it did. */
export interface Lane {
  readonly name: string;
  readonly bars: readonly Bar[];
}

function barsOf(visit: Visit, end: number): readonly Bar[] {
  const { at, durationMs, status, questions, seq, path } = visit;
  const opened = Math.min(...questions.map((question) => question.at));
  const isOpen = status === 'started' || status === 'waiting';
  const from = durationMs === undefined ? Math.min(at, opened) : Math.min(at - durationMs, opened);
  const to = isOpen ? end : at;
  const tones: Readonly<Record<string, Tone>> = {
    failed: 'failed',
    started: 'running',
    waiting: 'waiting',
    skipped: 'skipped',
    cancelled: 'cancelled',
  };
  const waits = questions.map((question): Bar => {
    const till = question.closedAt?.at ?? end;
    return {
      from: question.at,
      to: till,
      seq: question.seq,
      isWait: true,
      tone: question.kind === 'doubt' ? 'doubt' : 'waiting',
      title: `${nodeName(path)} waited ${duration(till - question.at)}`,
    };
  });
  const work: Bar = {
    from,
    to,
    tone: tones[status] ?? 'completed',
    seq,
    isWait: false,
    title: `${nodeName(path)}: ${duration(Math.max(0, to - from))}`,
  };
  return [
    ...(waits.length > 0 && durationMs !== undefined
      ? [{ ...work, from: at - durationMs }]
      : waits.length > 0
        ? []
        : [work]),
    ...waits,
  ];
}

/** A lane for each node that was visited, in the order of their first visits. */
export function lanesOf(story: Story): readonly Lane[] {
  const visits = story.entries
    .filter((entry) => entry.kind === 'visit')
    .filter(({ path }) => !(path.at(-1) ?? '').startsWith('__'));
  const byName = Map.groupBy(visits, ({ path }) => path.join('/'));
  return [...byName].map(([name, all]) => ({
    name,
    bars: all.flatMap((visit) => barsOf(visit, story.endedAt)),
  }));
}

/** Where times stand on the line. */
export interface Scale {
  /** From 0 to 100. */
  place(at: number): number;
  /** The same for a time at which nothing that is drawn begins or ends. */
  at(time: number): number;
  readonly breaks: readonly { readonly at: number; readonly idleMs: number }[];
}

/** Time in which nothing was done is as wide as a tenth of what was. */
export function scaleOf(lanes: readonly Lane[], start: number, end: number): Scale {
  const times = [
    ...new Set([start, end, ...lanes.flatMap(({ bars }) => bars.flatMap(({ from, to }) => [from, to]))]),
  ].sort((a, b) => a - b);
  const gaps = times.slice(1).map((time, index) => time - (times[index] ?? time));
  const usual = gaps.toSorted((a, b) => a - b)[Math.floor(gaps.length * 0.8)] ?? 1;
  const foldAbove = Math.max(20 * usual, 1);
  const widths = gaps.map((gap) => (gap > foldAbove ? foldAbove : gap));
  const total = widths.reduce((sum, width) => sum + width, 0) || 1;
  const places: number[] = [0];
  for (const width of widths) places.push((places.at(-1) ?? 0) + (100 * width) / total);
  const byTime = new Map(times.map((time, index) => [time, places[index] ?? 0]));
  return {
    place: (at) => byTime.get(at) ?? 0,
    at(time) {
      const after = times.findIndex((one) => one >= time);
      if (after <= 0) return after === 0 ? 0 : 100;
      const [low = 0, high = 0] = [times[after - 1], times[after]];
      const [from = 0, to = 0] = [places[after - 1], places[after]];
      return high === low ? to : from + ((to - from) * (time - low)) / (high - low);
    },
    breaks: gaps.flatMap((gap, index) =>
      gap > foldAbove ? [{ at: ((places[index] ?? 0) + (places[index + 1] ?? 0)) / 2, idleMs: gap }] : [],
    ),
  };
}
