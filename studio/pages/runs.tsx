/** The list of runs, as they move. */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ask, type Problem } from '../data/api.ts';
import { useLoaded } from '../data/query.ts';
import type { ListedRun, Wait, Waits } from '../data/types.ts';
import { Awaited, Copy, Empty, now, Trouble, When } from '../parts/common.tsx';
import { Icon, Mark } from '../parts/icons.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { goTo, linkTo, linkToRun, linkWith, readParam } from '../url.ts';
import { command, count, runWords, type StatusWords } from '../words.ts';

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

interface ListedRuns {
  readonly runs: readonly ListedRun[];
  readonly hasMore: boolean;
}

interface Listing extends ListedRuns {
  readonly isLoaded: boolean;
  readonly problem?: Problem;
  readonly loadMore: () => void;
  readonly reload: () => void;
}

/** The newest runs, asked for again and again, and older ones as they are scrolled to. */
function useRuns(request: string): Listing {
  const newest = useLoaded<ListedRuns>(`/runs?limit=${pageSize}${request === '' ? '' : `&${request}`}`, {
    everyMs: refreshMs,
  });
  const [older, setOlder] = useState<ListedRuns & { readonly request: string }>({ request, runs: [], hasMore: true });
  const isBusy = useRef(false);
  const runs = useMemo(() => {
    const first = newest.data?.runs ?? [];
    const known = new Set(first.map(({ runId }) => runId));
    // A run in the part that is asked for again, and not in the answer, no longer fits the filter.
    const oldest = first.at(-1)?.createdAt ?? Number.POSITIVE_INFINITY;
    const rest = older.request === request ? older.runs : [];
    return [...first, ...rest.filter((run) => !known.has(run.runId) && run.createdAt <= oldest)];
  }, [newest.data, older, request]);
  const hasMore = older.request === request && older.runs.length > 0 ? older.hasMore : (newest.data?.hasMore ?? false);
  return {
    runs,
    hasMore,
    isLoaded: newest.data !== undefined,
    ...(newest.problem !== undefined && { problem: newest.problem }),
    reload: newest.reload,
    loadMore() {
      const last = runs.at(-1);
      if (!hasMore || isBusy.current || last === undefined) return;
      isBusy.current = true;
      const until = new Date(last.createdAt + 1).toISOString();
      ask<ListedRuns>(`/runs?limit=500&until=${until}${request === '' ? '' : `&${request}`}`)
        .then((page) =>
          setOlder((old) => ({
            request,
            runs: [...(old.request === request ? old.runs : []), ...page.runs],
            hasMore: page.hasMore && page.runs.some(({ createdAt }) => createdAt < last.createdAt),
          })),
        )
        .catch(() => undefined)
        .finally(() => (isBusy.current = false));
    },
  };
}

export function useWaits(): {
  readonly waits: Waits | undefined;
  readonly byRun: ReadonlyMap<string, readonly Wait[]>;
} {
  const { data } = useLoaded<Waits>('/waits?limit=500', { everyMs: refreshMs });
  const byRun = useMemo(() => {
    const found = new Map<string, Wait[]>();
    for (const wait of [...(data?.waits ?? []), ...(data?.waiting ?? [])]) {
      const list = found.get(wait.runId);
      if (list === undefined) found.set(wait.runId, [wait]);
      else list.push(wait);
    }
    return found;
  }, [data]);
  return { waits: data, byRun };
}

/** Completed forks by the run that they were forked from, through forks of forks. */
function findSuccesses(runs: readonly ListedRun[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const parents = new Map(runs.map(({ runId, parent }) => [runId, parent?.runId]));
  for (const { runId, status } of runs) {
    if (status !== 'completed') continue;
    for (let at = parents.get(runId); at !== undefined && !found.has(at); at = parents.get(at)) found.set(at, runId);
  }
  return found;
}

function Row({ run, words }: { readonly run: ListedRun; readonly words: StatusWords }): JSX.Element {
  const { tone, text, detail } = words;
  return (
    <a class="run-row" href={linkToRun(run.runId)} data-tone={tone}>
      <Mark tone={tone} />
      <span class="cut name" title={run.runId}>
        {run.runId}
      </span>
      <span class="cut words" title={detail === undefined ? text : `${text}: ${detail}`}>
        <span class="toned">{text}</span>
        {detail !== undefined && <span class="quiet">{`  ${detail}`}</span>}
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
      <span class="quiet number" title={`${run.head + 1} checkpoints`}>
        {count(run.head)}
        <span class="hidden-text"> checkpoints</span>
      </span>
      <span class="quiet number age">
        <When at={run.createdAt} />
      </span>
    </a>
  );
}

function Filters({ view, runs }: { readonly view: View; readonly runs: readonly ListedRun[] }): JSX.Element {
  const graph = readParam('graph');
  const graphs = [...new Set([...(graph === undefined ? [] : [graph]), ...runs.map(({ graphId }) => graphId)])].sort();
  const set = (name: string, value: string): void => goTo(linkWith({ [name]: value || undefined }), { replaces: true });
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
          onInput={({ currentTarget }) => set('q', currentTarget.value)}
        />
      </div>
      <select
        class="field"
        aria-label="Graph"
        value={graph ?? ''}
        onChange={({ currentTarget }) => set('graph', currentTarget.value)}
      >
        <option value="">every graph</option>
        {graphs.map((name) => (
          <option value={name}>{name}</option>
        ))}
      </select>
      <select
        class="field"
        aria-label="Started"
        value={readParam('since') ?? ''}
        onChange={({ currentTarget }) => set('since', currentTarget.value)}
      >
        <option value="">at any time</option>
        <option value="1h">in the last hour</option>
        <option value="1d">in the last day</option>
        <option value="7d">in the last week</option>
      </select>
      <input
        class="field"
        aria-label="Label"
        placeholder="label=value"
        value={readParam('label') ?? ''}
        onChange={({ currentTarget }) =>
          set('label', /^[^:=]+[:=].+/u.test(currentTarget.value) ? currentTarget.value : '')
        }
      />
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
  const { byRun } = useWaits();
  const text = (readParam('q') ?? '').toLowerCase();
  const successes = useMemo(() => findSuccesses(runs), [runs]);
  const shown = useMemo(
    () =>
      runs.filter(({ runId, status, hasMessages }) => {
        if (text !== '' && !runId.toLowerCase().includes(text)) return false;
        if (view !== 'attention') return true;
        if (status === 'failed') return !successes.has(runId);
        return (
          status !== 'paused' ||
          (byRun.get(runId) ?? []).some(({ kind }) => kind === 'question' || kind === 'doubt' || hasMessages)
        );
      }),
    [runs, text, view, successes, byRun],
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
          {isLoaded && `${count(shown.length)}${hasMore ? ' of more' : ''}`}
        </span>
        <a class="button push" href={linkTo('start')}>
          <Icon name="plus" size={14} />
          Start a run
        </a>
      </header>
      <Filters view={view} runs={runs} />
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
            <span class="number">Steps</span>
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
              <Row run={run} words={runWords(run, byRun.get(run.runId) ?? [], now.value, successes.get(run.runId))} />
            )}
          </VirtualList>
        </div>
      )}
    </div>
  );
}
