/** What happened within the nodes of a run: a row for each attempt, call, step and wait, with its time and its price. */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { placeOf } from '../../data/api.ts';
import { useLoaded } from '../../data/query.ts';
import {
  chosenSpans,
  spansIn,
  spanSorts,
  type Span,
  type SpanFilter,
  type SpanKind,
  type SpanSort,
} from '../../data/spans.ts';
import type { Story } from '../../data/types.ts';
import { Awaited, Empty, Trouble } from '../../parts/common.tsx';
import { setFilter } from '../../parts/filters.tsx';
import { Mark } from '../../parts/icons.tsx';
import { VirtualList } from '../../parts/virtual-list.tsx';
import { linkWith, readParam } from '../../url.ts';
import { costShort, count, countOf, duration, nodeName, type Tone } from '../../words.ts';
import type { Moment } from './moment.ts';
import { SpanFacts } from './span-facts.tsx';
import { lanesOf, scaleOf } from './time-lanes.ts';

const kinds: Readonly<Record<SpanKind, string>> = {
  visit: 'node',
  model: 'model call',
  tool: 'tool call',
  step: 'step or item',
  retry: 'retry',
  wait: 'wait',
};

function readSpanFilter(): SpanFilter {
  const [kind, sort] = [readParam('kind') ?? '', readParam('sort') ?? ''];
  return {
    text: readParam('find') ?? '',
    kind: Object.hasOwn(kinds, kind) ? (kind as SpanKind) : undefined,
    isFailed: readParam('failed') === '1',
    sort: Object.hasOwn(spanSorts, sort) ? (sort as SpanSort) : 'time',
  };
}

export function SpansPanel({ moment }: { readonly moment: Moment }): JSX.Element {
  const { runId, seq } = moment;
  const isWhole = moment.story !== undefined && moment.story.before === undefined;
  const whole = useLoaded<Story>(isWhole ? undefined : `${placeOf(runId, seq)}/story`, {
    keepsOld: true,
    settleMs: 250,
  });
  const story = isWhole ? moment.story : whole.data;
  const spans = useMemo(() => (story === undefined ? undefined : spansIn(story)), [story]);
  const scale = useMemo(() => story && scaleOf(lanesOf(story), story.startedAt, story.endedAt), [story]);
  if (whole.problem !== undefined && whole.problem.status !== 0)
    return <Trouble problem={whole.problem} onRetry={whole.reload} />;
  if (story === undefined || spans === undefined || scale === undefined) return <Awaited lines={6} />;
  const filter = readSpanFilter();
  const visible = chosenSpans(spans, filter);
  const picked = spans.find(({ id }) => id === readParam('span'));
  const failed = spans.filter(({ status, kind }) => status === 'failed' && kind !== 'visit').length;
  return (
    <div class="spans stack">
      {picked !== undefined && <SpanFacts key={picked.id} span={picked} moment={moment} />}
      <div class="filters">
        <input
          class="field"
          type="search"
          aria-label="Find by name"
          placeholder="name or node"
          value={filter.text}
          onInput={({ currentTarget }) => setFilter('find', currentTarget.value)}
        />
        <select
          class="field"
          aria-label="Kind"
          value={filter.kind ?? ''}
          onChange={({ currentTarget }) => setFilter('kind', currentTarget.value)}
        >
          <option value="">all kinds</option>
          {Object.entries(kinds).map(([kind, title]) => (
            <option value={kind}>{title}</option>
          ))}
        </select>
        <select
          class="field"
          aria-label="Order"
          value={filter.sort}
          onChange={({ currentTarget }) => setFilter('sort', currentTarget.value === 'time' ? '' : currentTarget.value)}
        >
          {Object.entries(spanSorts).map(([sort, title]) => (
            <option value={sort}>{title}</option>
          ))}
        </select>
        {(failed > 0 || filter.isFailed) && (
          <button
            type="button"
            class="chip"
            data-tone="failed"
            aria-pressed={filter.isFailed}
            onClick={() => setFilter('failed', filter.isFailed ? '' : '1')}
          >
            <Mark tone="failed" size={13} />
            {`failed ${count(failed)}`}
          </button>
        )}
        <span class="quiet small push" role="status">
          {visible.length === spans.length
            ? countOf(spans.length, 'span')
            : `${count(visible.length)} of ${count(spans.length)}`}
        </span>
      </div>
      {visible.length === 0 ? (
        <Empty title="Nothing fits">
          <p>
            {spans.length === 0
              ? 'Nothing has begun yet.'
              : `None of ${countOf(spans.length, 'span')} is of this kind and name.`}
          </p>
        </Empty>
      ) : (
        <VirtualList items={visible} keyOf={({ id }) => id} rowPx={34} label="Spans">
          {(span) => (
            <SpanRow
              span={span}
              left={scale.at(span.from)}
              right={scale.at(span.to)}
              isIndented={filter.sort === 'time'}
              isPicked={span.id === picked?.id}
            />
          )}
        </VirtualList>
      )}
    </div>
  );
}

interface RowProps {
  readonly span: Span;
  /** From 0 to 100. */
  readonly left: number;
  readonly right: number;
  readonly isIndented: boolean;
  readonly isPicked: boolean;
}

export function toneOfSpan({ status }: Span): Tone {
  const tones: Readonly<Record<string, Tone>> = {
    done: 'completed',
    completed: 'completed',
    failed: 'failed',
    started: 'running',
    waiting: 'waiting',
    skipped: 'skipped',
    cancelled: 'cancelled',
  };
  return tones[status] ?? 'running';
}

function SpanRow({ span, left, right, isIndented, isPicked }: RowProps): JSX.Element {
  const { kind, path, name, from, to, spent } = span;
  const tone = toneOfSpan(span);
  const title = name ?? nodeName(path);
  const tokens =
    spent === undefined ? '' : `${count(spent['inputTokens'] ?? 0)} → ${count(spent['outputTokens'] ?? 0)}`;
  return (
    <a
      class={`span-row small${kind === 'visit' ? ' visit' : ''}`}
      data-tone={tone}
      href={linkWith({ span: isPicked ? undefined : span.id })}
      aria-current={isPicked ? 'true' : undefined}
    >
      <span class={`row what${isIndented && kind !== 'visit' ? ' inner' : ''}`}>
        <Mark tone={tone} size={14} />
        <span class="cut" title={`${nodeName(path)}${name === undefined ? '' : `: ${name}`}`}>
          {title}
        </span>
        {kind !== 'visit' && !isIndented && <span class="quiet cut">{nodeName(path)}</span>}
        <span class="hidden-text">{kinds[kind]}</span>
      </span>
      <span class="track" aria-hidden="true">
        <i
          class={`bar${kind === 'wait' ? ' wait' : ''}`}
          style={{ left: `min(${left}%, calc(100% - 3px))`, width: `max(3px, ${right - left}%)` }}
        />
      </span>
      <span class="quiet number took">{to > from ? duration(to - from) : ''}</span>
      <span class="quiet number tokens" title={tokens === '' ? undefined : 'tokens in, and out'}>
        {tokens}
      </span>
      <span class="number price">{spent === undefined ? '' : costShort(spent)}</span>
    </a>
  );
}
