/** The list of runs, as they move. */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ask, encode, type Problem } from '../data/api.ts';
import { overviews, wantOverview } from '../data/overviews.ts';
import { takeNewest, takeOlder, type Listing, type RunPage } from '../data/listing.ts';
import { useLoaded } from '../data/query.ts';
import type { ListedRun } from '../data/types.ts';
import { waits, waitsByRun } from '../data/waits.ts';
import { Awaited, Copy, Empty, now, Trouble, When } from '../parts/common.tsx';
import { Filters, setFilter } from '../parts/filters.tsx';
import { Icon, Mark } from '../parts/icons.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { linkTo, linkToRun, linkWith, readParam } from '../url.ts';
import { command, cost, count, costShort, runWords, type StatusWords } from '../words.ts';

const views = {
  all: { title: 'All', statuses: [] },
  attention: { title: 'Needs attention', statuses: ['paused', 'failed', 'stopped', 'held', 'damaged'] },
  running: { title: 'Running', statuses: ['running', 'queued', 'answered'] },
  ended: { title: 'Ended', statuses: ['completed', 'failed', 'cancelled'] },
} as const;
type View = keyof typeof views;

const pageSize = 200;
const refreshMs = 2_000;

const narrow = matchMedia('(max-width: 860px)');
/** Whether rows have two lines. */
const isNarrow = signal(narrow.matches);
narrow.addEventListener('change', () => (isNarrow.value = narrow.matches));

/** The parameters of the request, from those of the page. */
function readFilter(): { readonly view: View; readonly request: string } {
  const wanted = readParam('view') ?? 'all';
  const view = Object.hasOwn(views, wanted) ? (wanted as View) : 'all';
  const search = new URLSearchParams();
  for (const status of views[view].statuses) search.append('status', status);
  for (const name of ['graph', 'label', 'since']) {
    const value = readParam(name);
    if (value !== undefined) search.set(name, value);
  }
  return { view, request: search.toString() };
}

interface Listed {
  readonly runs: readonly ListedRun[];
  readonly hasMore: boolean;
  readonly isLoaded: boolean;
  readonly problem?: Problem;
  readonly loadMore: () => void;
  readonly reload: () => void;
}

interface Known extends Listing {
  readonly request: string;
  /** The newest page that is taken in. */
  readonly newest: RunPage;
}

/** The newest runs, requested again and again, and older ones as they are scrolled to. */
function useRuns(request: string): Listed {
  const more = request === '' ? '' : `&${request}`;
  const newest = useLoaded<RunPage>(`/runs?limit=${pageSize}${more}`, { everyMs: refreshMs });
  const known = useRef<Known | undefined>(undefined);
  const [, redraw] = useState(0);
  const isBusy = useRef(false);
  const old = known.current?.request === request ? known.current : undefined;
  if (newest.data !== undefined && old?.newest !== newest.data)
    known.current = { ...takeNewest(old, newest.data), newest: newest.data, request };
  const { runs, cursor } =
    known.current?.request === request && newest.data !== undefined ? known.current : { runs: [], cursor: undefined };
  return {
    runs,
    hasMore: cursor !== undefined,
    isLoaded: newest.data !== undefined,
    ...(newest.problem !== undefined && { problem: newest.problem }),
    reload: newest.reload,
    loadMore() {
      if (cursor === undefined || isBusy.current) return;
      isBusy.current = true;
      ask<RunPage>(`/runs?limit=500&cursor=${encode(cursor)}${more}`)
        .then((page) => {
          const now = known.current;
          // Another page may have come in between, or another filter.
          if (now?.request === request && now.cursor === cursor) known.current = { ...now, ...takeOlder(now, page) };
          redraw((count) => count + 1);
        })
        .catch(() => undefined)
        .finally(() => (isBusy.current = false));
    },
  };
}

function Row({ run, words }: { readonly run: ListedRun; readonly words: StatusWords }): JSX.Element {
  const { tone, text, detail } = words;
  const spent = overviews.value.get(run.runId)?.spent;
  useEffect(() => wantOverview(run), [run.runId, run.head]);
  return (
    <a class="run-row" href={linkToRun(run.runId)} data-tone={tone}>
      <Mark tone={tone} />
      <span class="cut name" title={run.runId}>
        {run.runId}
      </span>
      <span class="cut words" title={detail === undefined ? text : `${text}: ${detail}`}>
        <span class="toned">{text}</span>
        {detail !== undefined && <span class="quiet detail">{detail}</span>}
      </span>
      <span class="cut quiet graph" title={run.graphId}>
        {run.parent !== undefined && (
          <span class="forked" title={`forked from ${run.parent.runId}@${run.parent.seq}`}>
            <Icon name="fork" size={13} />
            <span class="hidden-text">{`forked from ${run.parent.runId} at ${run.parent.seq}, `}</span>
          </span>
        )}
        {run.graphId}
      </span>
      <span class="quiet number spent" title={cost(spent)}>
        {costShort(spent)}
      </span>
      <span class="quiet number steps" title={`${run.head + 1} checkpoints`}>
        {count(run.head)}
        <span class="hidden-text"> checkpoints</span>
      </span>
      <span class="quiet number age">
        <When at={run.createdAt} />
      </span>
    </a>
  );
}

function RunFilters({ view, runs }: { readonly view: View; readonly runs: readonly ListedRun[] }): JSX.Element {
  return (
    <div class="filters">
      <nav class="choice" aria-label="Which runs">
        {Object.entries(views).map(([name, { title }]) => (
          <a
            href={linkWith({ view: name === 'all' ? undefined : name })}
            aria-current={name === view ? 'true' : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      <div class="search">
        <Icon name="search" size={14} />
        <input
          class="field"
          type="search"
          id="search"
          aria-label="Find a run by its id"
          placeholder="Run id"
          value={readParam('q') ?? ''}
          onInput={({ currentTarget }) => setFilter('q', currentTarget.value)}
        />
      </div>
      <Filters graphs={runs.map(({ graphId }) => graphId)} time="Started" />
    </div>
  );
}

function NoRuns({ isFiltered }: { readonly isFiltered: boolean }): JSX.Element {
  return isFiltered ? (
    <Empty title="No run fits">
      <p>Nothing here is waiting, failed or running in the way you asked for.</p>
      <a class="button" href="./">
        Show all runs
      </a>
    </Empty>
  ) : (
    <Empty title="No runs yet">
      <p>
        A run appears here the moment it begins, whoever starts it: this page, a terminal or a program on the same
        store.
      </p>
      <div class="row wrap">
        <a class="button primary" href={linkTo('start')}>
          Start a run
        </a>
        <Copy text={command('run', 'workflow.yaml')} />
      </div>
    </Empty>
  );
}

export function RunsPage(): JSX.Element {
  const { view, request } = readFilter();
  const { runs, hasMore, isLoaded, problem, loadMore, reload } = useRuns(request);
  const byRun = waitsByRun.value;
  const text = (readParam('q') ?? '').toLowerCase();
  const known = overviews.value;
  useEffect(() => {
    if (view === 'attention') for (const run of runs) if (run.status === 'failed') wantOverview(run);
  }, [runs, view]);
  const shown = useMemo(
    () =>
      runs.filter(({ runId, status, hasMessages }) => {
        if (text !== '' && !runId.toLowerCase().includes(text)) return false;
        if (view !== 'attention') return true;
        if (status === 'failed') return known.get(runId)?.succeededIn === undefined;
        const own = byRun.get(runId);
        // What it waits for may not be known yet: it is shown rather than passed over.
        if (own === undefined) return status !== 'paused' || hasMessages || waits.value?.hasMore !== false;
        return own.some(({ kind }) => kind === 'question' || kind === 'doubt' || hasMessages);
      }),
    [runs, text, view, known, byRun],
  );
  // A search goes through all runs, not only those that were scrolled to.
  useEffect(() => {
    if (shown.length < 40 && hasMore) loadMore();
  });
  const isFiltered = view !== 'all' || ['q', 'graph', 'label', 'since'].some((name) => readParam(name) !== undefined);
  return (
    <div class="page">
      <header class="page-head">
        <h1>Runs</h1>
        <span class="quiet small" role="status">
          {isLoaded && `${count(shown.length)}${hasMore ? '+' : ''}`}
        </span>
        <a class="button push" href={linkTo('start')}>
          <Icon name="plus" size={14} />
          Start a run
        </a>
      </header>
      <RunFilters view={view} runs={runs} />
      {problem !== undefined && problem.status !== 0 && <Trouble problem={problem} onRetry={reload} />}
      {!isLoaded && problem === undefined && <Awaited lines={6} />}
      {isLoaded && shown.length === 0 && !hasMore && <NoRuns isFiltered={isFiltered} />}
      {shown.length > 0 && (
        <div class="run-list">
          <div class="run-row head" aria-hidden="true">
            <span />
            <span>Run</span>
            <span>Now</span>
            <span class="graph">Graph</span>
            <span class="number spent">Spent</span>
            <span class="number steps">Steps</span>
            <span class="number">Started</span>
          </div>
          <VirtualList
            items={shown}
            keyOf={({ runId }) => runId}
            rowPx={isNarrow.value ? 64 : 44}
            label="Runs"
            onEnd={loadMore}
          >
            {(run) => (
              <Row
                run={run}
                words={runWords(run, byRun.get(run.runId) ?? [], now.value, known.get(run.runId)?.succeededIn)}
              />
            )}
          </VirtualList>
        </div>
      )}
    </div>
  );
}
