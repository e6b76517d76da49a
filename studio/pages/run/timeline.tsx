/** When things happened: a row for each node, a bar for each visit, hatched where it waited. Idle time is folded. */
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { Story, Visit } from '../../data/types.ts';
import { Awaited, Empty } from '../../parts/common.tsx';
import { VirtualList } from '../../parts/virtual-list.tsx';
import { linkWith } from '../../url.ts';
import { countOf, duration, nodeName, type Tone } from '../../words.ts';
import type { Moment } from './moment.ts';

interface Bar {
  readonly from: number;
  readonly to: number;
  readonly tone: Tone;
  readonly seq: number;
  readonly title: string;
  readonly isWait: boolean;
}

interface Lane {
  readonly name: string;
  readonly bars: readonly Bar[];
}

/** Visits of a row that are drawn at most. */
const barsMax = 40;
/** Elements that all rows in view may have together. */
const drawnMax = 600;

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

function lanesOf(story: Story): readonly Lane[] {
  const visits = story.entries
    .filter((entry) => entry.kind === 'visit')
    .filter(({ path }) => !(path.at(-1) ?? '').startsWith('__'));
  const byName = Map.groupBy(visits, ({ path }) => path.join('/'));
  return [...byName].map(([name, all]) => ({
    name,
    bars: all.slice(-barsMax).flatMap((visit) => barsOf(visit, story.endedAt)),
  }));
}

interface Scale {
  /** From 0 to 100. */
  place(at: number): number;
  readonly breaks: readonly { readonly at: number; readonly idleMs: number }[];
}

/** Time in which nothing was done is as wide as a tenth of what was. */
function scaleOf(lanes: readonly Lane[], start: number, end: number): Scale {
  const times = [
    ...new Set([
      start,
      end,
      ...lanes.flatMap(({ bars }) => bars.flatMap(({ from, to, isWait }) => (isWait ? [from, to] : [from, to]))),
    ]),
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
    breaks: gaps.flatMap((gap, index) =>
      gap > foldAbove ? [{ at: ((places[index] ?? 0) + (places[index + 1] ?? 0)) / 2, idleMs: gap }] : [],
    ),
  };
}

export function TimelinePanel({ moment }: { readonly moment: Moment }): JSX.Element {
  const { story } = moment;
  const [picked, setPicked] = useState<string>();
  const drawn = useMemo(() => {
    if (story === undefined) return undefined;
    const lanes = lanesOf(story);
    return { lanes, scale: scaleOf(lanes, story.startedAt, story.endedAt) };
  }, [story]);
  if (story === undefined || drawn === undefined) return <Awaited lines={6} />;
  const { lanes, scale } = drawn;
  if (lanes.length === 0)
    return (
      <Empty title="Nothing has begun yet">
        <p>Each node gets a row here when it begins.</p>
      </Empty>
    );
  const perRow = Math.max(3, Math.floor(drawnMax / Math.min(lanes.length, 40)));
  return (
    <div class="timeline">
      <div class="row small quiet wrap">
        <span>{duration(story.endedAt - story.startedAt)}</span>
        {scale.breaks.length > 0 && (
          <span>{`· ${countOf(scale.breaks.length, 'long gap')} shortened: ${duration(Math.max(...scale.breaks.map(({ idleMs }) => idleMs)))} at most`}</span>
        )}
        <span class="push" aria-live="polite">
          {picked}
        </span>
      </div>
      <VirtualList items={lanes} keyOf={({ name }) => name} rowPx={32} label="Timeline">
        {({ name, bars }) => (
          <div class="lane">
            <a class="cut small" href={linkWith({ node: name })} title={name}>
              {nodeName(name.split('/'))}
            </a>
            <div class="track">
              {scale.breaks.slice(0, 4).map(({ at }) => (
                <i class="break" style={{ left: `${at}%` }} />
              ))}
              {bars.slice(-perRow).map((bar) => {
                const left = scale.place(bar.from);
                return (
                  <a
                    class={`bar${bar.isWait ? ' wait' : ''}`}
                    data-tone={bar.tone}
                    href={linkWith({ at: bar.seq })}
                    title={bar.title}
                    aria-label={bar.title}
                    onMouseEnter={() => setPicked(bar.title)}
                    style={{
                      left: `min(${left}%, calc(100% - 4px))`,
                      width: `max(4px, ${scale.place(bar.to) - left}%)`,
                    }}
                  />
                );
              })}
            </div>
          </div>
        )}
      </VirtualList>
    </div>
  );
}
