/** When things happened: a row for each node, a bar for each visit, hatched where it waited. Idle time is folded. */
import type { JSX } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { placeOf } from '../../data/api.ts';
import { useLoaded } from '../../data/query.ts';
import type { Story } from '../../data/types.ts';
import { Awaited, Empty, Trouble } from '../../parts/common.tsx';
import { VirtualList } from '../../parts/virtual-list.tsx';
import { goTo, linkWith } from '../../url.ts';
import { countOf, duration, nodeName } from '../../words.ts';
import { longHead, restMs, type Moment } from './moment.ts';
import { lanesOf, scaleOf, type Bar, type Lane, type Scale } from './time-lanes.ts';

/** Bars of a row that are elements at most. */
const barsMax = 40;
/** Bars that are elements; more are drawn on canvases. */
const drawnMax = 400;

/** The whole story: bars are of all visits, and not of the newest alone. */
export function TimelinePanel({ moment }: { readonly moment: Moment }): JSX.Element {
  const { runId, seq, head } = moment;
  const isWhole = moment.story !== undefined && moment.story.before === undefined;
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
