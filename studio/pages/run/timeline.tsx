/** When things happened: a row for each node, a bar for each visit, hatched where it waited. Idle time is folded. */
import type { JSX } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { placeOf } from '../../data/api.ts';
import { useLoaded } from '../../data/query.ts';
import type { Story, Visit } from '../../data/types.ts';
import { Awaited, Empty, Trouble } from '../../parts/common.tsx';
import { VirtualList } from '../../parts/virtual-list.tsx';
import { goTo, linkWith } from '../../url.ts';
import { countOf, duration, nodeName, type Tone } from '../../words.ts';
import { longHead, restMs, type Moment } from './moment.ts';

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

/** Bars of a row that are elements at most. */
const barsMax = 40;
/** Bars that are elements; more are drawn on canvases. */
const drawnMax = 400;

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
    bars: all.flatMap((visit) => barsOf(visit, story.endedAt)),
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

/** The whole story: bars are of all visits, and not of the newest alone. */
export function TimelinePanel({ moment }: { readonly moment: Moment }): JSX.Element {
  const { runId, seq, head } = moment;
  const isWhole = moment.story?.earlier === 0;
  const whole = useLoaded<Story>(isWhole ? undefined : `${placeOf(runId, seq)}/story`, {
    keepsOld: true,
    settleMs: head > longHead ? restMs : 0,
  });
  const story = isWhole ? moment.story : whole.data;
  const [picked, setPicked] = useState<string>();
  const drawn = useMemo(() => {
    if (story === undefined) return undefined;
    const lanes = lanesOf(story);
    return { lanes, scale: scaleOf(lanes, story.startedAt, story.endedAt) };
  }, [story]);
  if (whole.problem !== undefined && whole.problem.status !== 0)
    return <Trouble problem={whole.problem} onRetry={whole.reload} />;
  if (story === undefined || drawn === undefined) return <Awaited lines={6} />;
  const { lanes, scale } = drawn;
  if (lanes.length === 0)
    return (
      <Empty title="Nothing has begun yet">
        <p>Each node gets a row here when it begins.</p>
      </Empty>
    );
  const longest = Math.max(0, ...scale.breaks.map(({ idleMs }) => idleMs));
  const isLong = lanes.reduce((sum, { bars }) => sum + bars.length, 0) > drawnMax;
  const Track = isLong ? CanvasTrack : BarTrack;
  return (
    <div class="timeline">
      <div class="row small quiet wrap">
        <span>{duration(story.endedAt - story.startedAt)}</span>
        {scale.breaks.length > 0 && (
          <span>{`· ${countOf(scale.breaks.length, 'long gap')} shortened: ${duration(longest)} at most`}</span>
        )}
        <span class="push" aria-live="polite">
          {picked}
        </span>
      </div>
      <VirtualList items={lanes} keyOf={({ name }) => name} rowPx={32} label="Timeline">
        {(lane) => (
          <div class="lane">
            <a class="cut small" href={linkWith({ node: lane.name })} title={lane.name}>
              {nodeName(lane.name.split('/'))}
              {isLong && <span class="hidden-text">{`, ${countOf(lane.bars.length, 'visit')}`}</span>}
            </a>
            <Track lane={lane} scale={scale} onPick={setPicked} />
          </div>
        )}
      </VirtualList>
    </div>
  );
}

interface TrackProps {
  readonly lane: Lane;
  readonly scale: Scale;
  readonly onPick: (title: string) => void;
}

/** Bars that can be reached by the keyboard, each a link to its moment. */
function BarTrack({ lane: { bars }, scale, onPick }: TrackProps): JSX.Element {
  return (
    <div class="track">
      {scale.breaks.slice(0, 4).map(({ at }) => (
        <i class="break" style={{ left: `${at}%` }} />
      ))}
      {bars.slice(-barsMax).map((bar) => {
        const left = scale.place(bar.from);
        return (
          <a
            class={`bar${bar.isWait ? ' wait' : ''}`}
            data-tone={bar.tone}
            href={linkWith({ at: bar.seq })}
            title={bar.title}
            aria-label={bar.title}
            onMouseEnter={() => onPick(bar.title)}
            style={{ left: `min(${left}%, calc(100% - 4px))`, width: `max(4px, ${scale.place(bar.to) - left}%)` }}
          />
        );
      })}
    </div>
  );
}

/** The same, drawn: a long run has more bars than a page can hold as elements. The name beside it says how many, and leads to them. */
function CanvasTrack({ lane: { bars }, scale, onPick }: TrackProps): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const isDark = document.documentElement.dataset['theme'] === 'dark';
  useLayoutEffect(() => {
    const { current } = canvas;
    const pen = current?.getContext('2d');
    if (!current || !pen) return;
    const { clientWidth: width, clientHeight: height } = current;
    current.width = width * devicePixelRatio;
    current.height = height * devicePixelRatio;
    pen.scale(devicePixelRatio, devicePixelRatio);
    const colours = getComputedStyle(current);
    for (const { from, to, tone, isWait } of bars) {
      const left = Math.min((scale.place(from) * width) / 100, width - 3);
      const size = Math.max(3, ((scale.place(to) - scale.place(from)) * width) / 100 - 1);
      pen.globalAlpha = isWait ? 0.4 : 1;
      pen.fillStyle = colours.getPropertyValue(tone in palette ? `--${tone}` : '--quiet');
      pen.fillRect(left, 8, size, 16);
    }
  }, [bars, scale, isDark]);
  const barAt = (event: MouseEvent): Bar | undefined => {
    const place = (100 * event.offsetX) / ((event.target as HTMLElement).clientWidth || 1);
    const distance = ({ from, to }: Bar): number => Math.max(0, scale.place(from) - place, place - scale.place(to));
    return bars.reduce<Bar | undefined>(
      (best, bar) => (best === undefined || distance(bar) <= distance(best) ? bar : best),
      undefined,
    );
  };
  return (
    <canvas
      ref={canvas}
      class="track"
      aria-hidden="true"
      onMouseMove={(event) => onPick(barAt(event)?.title ?? '')}
      onClick={(event) => {
        const bar = barAt(event);
        if (bar !== undefined) goTo(linkWith({ at: bar.seq }));
      }}
    />
  );
}

/** Tones that have a colour of their own. */
const palette = { running: true, waiting: true, doubt: true, failed: true, completed: true };
