/** The list of runs, as they move. */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ask, encode, may, type Problem } from '../data/api.ts';
import { overviews, wantOverview } from '../data/overviews.ts';
import { takeNewest, takeOlder, type Listing, type RunPage } from '../data/listing.ts';
import { useLoaded } from '../data/query.ts';
import { isFound, readFilter, requestOf } from '../data/run-filter.ts';
import { nothingChosen } from '../data/selection.ts';
import type { ListedRun } from '../data/types.ts';
import { waits, waitsByRun } from '../data/waits.ts';
import { Awaited, Copy, Empty, now, Trouble } from '../parts/common.tsx';
import { Icon } from '../parts/icons.tsx';
import { lazily } from '../parts/lazily.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { linkTo, readParam } from '../url.ts';
import { command, count, runWords } from '../words.ts';
import { Row } from './runs/row.tsx';
import { isFiltered, RunFilters } from './runs/run-filters.tsx';

const pageSize = 200;
const refreshMs = 2_000;

const narrow = matchMedia('(max-width: 860px)');
/** Whether rows have two lines. */
const isNarrow = signal(narrow.matches);
narrow.addEventListener('change', () => (isNarrow.value = narrow.matches));

const SelectionBar = lazily(async () => (await import('./runs/selection.tsx')).SelectionBar);

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

/** Whether somebody has to look at a run that paused, failed or stopped. */
function needsAttention({ runId, status, hasMessages }: ListedRun): boolean {
  if (status === 'failed') return overviews.value.get(runId)?.succeededIn === undefined;
  const own = waitsByRun.value.get(runId);
  // What it waits for may not be known yet: it is shown rather than passed over.
  if (own === undefined) return status !== 'paused' || hasMessages || waits.value?.hasMore !== false;
  return own.some(({ kind }) => kind === 'question' || kind === 'doubt' || hasMessages);
}

export function RunsPage(): JSX.Element {
  const filter = readFilter(readParam);
  const isAttention = filter.view === 'attention' && filter.statuses.length === 0;
  const { runs, hasMore, isLoaded, problem, loadMore, reload } = useRuns(requestOf(filter));
  const [selection, setSelection] = useState(nothingChosen);
  const byRun = waitsByRun.value;
  const text = readParam('q') ?? '';
  const known = overviews.value;
  useEffect(() => {
    if (isAttention) for (const run of runs) if (run.status === 'failed') wantOverview(run);
  }, [runs, isAttention]);
  const shown = useMemo(
    () => runs.filter((run) => (text === '' || isFound(run, text)) && (!isAttention || needsAttention(run))),
    [runs, text, isAttention, known, byRun],
  );
  // A search goes through all runs, not only those that were scrolled to.
  useEffect(() => {
    if (shown.length < 40 && hasMore) loadMore();
  });
  const mayChoose = may('admin');
  const choose = (runId: string, isChosen: boolean): void => {
    const ids = new Set(selection.ids);
    if (isChosen) ids.add(runId);
    else ids.delete(runId);
    setSelection({ ids, isAll: false });
  };
  const areAllChosen = shown.length > 0 && shown.every(({ runId }) => selection.ids.has(runId));
  return (
    <div class="page">
      <header class="page-head">
        <h1>Runs</h1>
        <span class="quiet small" role="status">
          {isLoaded && `${count(shown.length)}${hasMore ? '+' : ''}`}
        </span>
        <a class="linked small narrow-only" href={linkTo('experiments')}>
          Experiments
        </a>
        <a class="button push" href={linkTo('start')}>
          <Icon name="plus" size={14} />
          Start a run
        </a>
      </header>
      <RunFilters filter={filter} runs={runs} isNarrow={isNarrow.value} />
      {problem !== undefined && problem.status !== 0 && <Trouble problem={problem} onRetry={reload} />}
      {!isLoaded && problem === undefined && <Awaited lines={6} />}
      {isLoaded && shown.length === 0 && !hasMore && <NoRuns isFiltered={isFiltered(filter)} />}
      {mayChoose && (selection.ids.size > 0 || readParam('bulk') !== undefined) && (
        <SelectionBar
          filter={filter}
          isFiltered={isFiltered(filter) && text === '' && !isAttention}
          runs={shown}
          hasMore={hasMore}
          selection={selection}
          onChange={setSelection}
          onDone={reload}
        />
      )}
      {shown.length > 0 && (
        <div class="run-list">
          <div class="run-line head">
            {mayChoose && (
              <label class="chooser">
                <input
                  type="checkbox"
                  checked={areAllChosen}
                  aria-label="Select all that are listed"
                  onChange={() =>
                    setSelection({ ids: new Set(areAllChosen ? [] : shown.map(({ runId }) => runId)), isAll: false })
                  }
                />
              </label>
            )}
            <div class="run-row head" aria-hidden="true">
              <span />
              <span>Run</span>
              <span>Now</span>
              <span class="graph">Graph</span>
              <span class="number spent">Spent</span>
              <span class="number steps">Steps</span>
              <span class="number">Started</span>
            </div>
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
                words={runWords(run, byRun.get(run.runId) ?? [], now.value, known.get(run.runId))}
                isChosen={selection.ids.has(run.runId)}
                {...(mayChoose && { onChoose: (isChosen: boolean) => choose(run.runId, isChosen) })}
              />
            )}
          </VirtualList>
        </div>
      )}
    </div>
  );
}
