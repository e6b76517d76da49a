/** Who advances runs, what waits for them, and what is limited. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { may, post, type Problem } from '../data/api.ts';
import { useLoaded } from '../data/query.ts';
import type { ShownLimit, WorkersAnswer } from '../data/types.ts';
import { Awaited, Copy, Empty, RunName, Trouble, When } from '../parts/common.tsx';
import { Mark } from '../parts/icons.tsx';
import { Table, type TableProps } from '../parts/table.tsx';
import { linkTo, linkToRun } from '../url.ts';
import { command, count, countOf, duration } from '../words.ts';
import '../style/run.css';

const everyMs = 3_000;
/** Runs of a worker, and keys of a limit, that are named. */
const namedMax = 8;

export function WorkersPage(): JSX.Element {
  const { data, problem, reload } = useLoaded<WorkersAnswer>('/workers?all=true', { everyMs });
  const alive = data?.workers.filter(({ isAlive }) => isAlive).length ?? 0;
  return (
    <div class="page">
      <header class="page-head">
        <h1>Workers</h1>
        <span class="quiet small" role="status">
          {data !== undefined && `${count(alive)} alive`}
        </span>
      </header>
      {problem !== undefined && problem.status !== 0 && <Trouble problem={problem} onRetry={reload} />}
      {data === undefined && problem === undefined && <Awaited lines={6} />}
      {data !== undefined && (
        <div class="stack">
          <Backlog answer={data} />
          <Workers answer={data} />
          <Versions answer={data} />
          <Limits />
        </div>
      )}
    </div>
  );
}

interface PartProps {
  readonly answer: WorkersAnswer;
}

function Backlog({ answer: { backlog } }: PartProps): JSX.Element {
  const isIdle = backlog.ready === 0;
  return (
    <section class="card" aria-label="Backlog">
      <div class="body row wrap" data-tone={isIdle ? 'completed' : 'queued'}>
        <Mark tone={isIdle ? 'completed' : 'queued'} />
        <strong>{isIdle ? 'No run waits for a worker' : `${countOf(backlog.ready, 'run')} ready for a worker`}</strong>
        {backlog.oldestMs !== undefined && (
          <span class="quiet small">{`the oldest for ${duration(backlog.oldestMs)}`}</span>
        )}
        {!isIdle && (
          <a class="linked small push" href={linkTo('', { status: 'queued,stopped,answered' })}>
            show them
          </a>
        )}
      </div>
    </section>
  );
}

/** A card with a table. */
function TableCard<Row>(table: TableProps<Row>): JSX.Element {
  return (
    <section class="card" aria-label={table.title}>
      <h2 class="table-title">{table.title}</h2>
      <Table {...table} />
    </section>
  );
}

function Workers({ answer: { workers } }: PartProps): JSX.Element {
  if (workers.length === 0)
    return (
      <Empty title="No worker has been here">
        <p>Runs that are started with a command are advanced by it. A worker takes up all others.</p>
        <Copy text={command('worker')} />
      </Empty>
    );
  return (
    <TableCard
      title="Alive, or gone within a day"
      rows={workers}
      columns={[
        {
          title: 'Worker',
          cell: ({ workerId, isAlive }) => (
            <span class="row" data-tone={isAlive ? 'completed' : 'stopped'}>
              <Mark tone={isAlive ? 'completed' : 'stopped'} size={14} />
              <RunName id={workerId} />
            </span>
          ),
        },
        {
          title: 'State',
          cell: ({ isAlive, isStopping }) => (isStopping === true ? 'stopping' : isAlive ? 'alive' : 'gone'),
        },
        {
          title: 'Trouble',
          cell: ({ blocked, lostLeases = 0 }) => (
            <span class="stack">
              {blocked !== undefined && (
                <span data-tone="attention">
                  {'Node '}
                  <a class="linked" href={linkToRun(blocked.runId)}>
                    {blocked.node}
                  </a>
                  {` of ${blocked.graphId} held the event loop for ${(blocked.heldMs / 1_000).toFixed(1)} s, `}
                  <When at={blocked.at} />
                </span>
              )}
              {lostLeases > 0 && <span data-tone="attention">{`${countOf(lostLeases, 'lease')} lost`}</span>}
            </span>
          ),
        },
        { title: 'Seen', cell: ({ seenAt }) => <When at={seenAt} /> },
        { title: 'Version', cell: ({ version, versioning }) => [version, versioning].filter(Boolean).join(' · ') },
        { title: 'Places', cell: ({ runs, concurrency }) => `${count(runs.length)} of ${count(concurrency)}` },
        {
          title: 'Runs',
          cell: ({ runs }) => (
            <span class="row wrap">
              {runs.slice(0, namedMax).map((id) => (
                <a class="linked" href={linkToRun(id)}>
                  <RunName id={id} />
                </a>
              ))}
              {runs.length > namedMax && <span class="quiet">{`and ${count(runs.length - namedMax)} more`}</span>}
            </span>
          ),
        },
      ]}
    />
  );
}

function Versions({ answer: { versions } }: PartProps): JSX.Element | null {
  if (versions.length === 0) return null;
  return (
    <TableCard
      title="Open runs by the version of their code"
      rows={versions}
      columns={[
        {
          title: 'Graph',
          cell: ({ graphId }) => (
            <a class="linked foreign" href={linkTo('', { graph: graphId })}>
              {graphId}
            </a>
          ),
        },
        { title: 'Version', cell: ({ version, graphHash = '' }) => <code>{version ?? graphHash.slice(0, 12)}</code> },
        { title: 'Open runs', cell: ({ runs }) => count(runs) },
        {
          title: 'Workers that have it',
          cell: ({ workers, runs, isDrained }) =>
            isDrained === true
              ? 'drained'
              : workers === 0 && runs > 0
                ? 'none: these runs wait for code'
                : count(workers),
        },
      ]}
    />
  );
}

function Limits(): JSX.Element | null {
  const { data, reload } = useLoaded<{ readonly limits: readonly ShownLimit[] }>('/limits', { everyMs });
  const [problem, setProblem] = useState<Problem>();
  const limits = data?.limits ?? [];
  if (limits.length === 0) return null;
  const act = (name: string, action: string): void => void post('/limits', { name, action }).then(reload, setProblem);
  return (
    <>
      {problem !== undefined && <Trouble problem={problem} />}
      <TableCard
        title="Limits"
        rows={limits}
        columns={[
          { title: 'Limit', cell: ({ name }) => <span class="foreign">{name}</span> },
          {
            title: 'Taken',
            cell: ({ taken, concurrency }) =>
              concurrency === undefined ? count(taken) : `${count(taken)} of ${count(concurrency)}`,
          },
          { title: 'In line', cell: ({ waiting }) => count(waiting) },
          {
            title: 'A minute',
            cell: ({ requestsPerMinute, tokensPerMinute }) =>
              [
                requestsPerMinute === undefined ? '' : countOf(requestsPerMinute, 'request'),
                tokensPerMinute === undefined ? '' : countOf(tokensPerMinute, 'token'),
              ]
                .filter(Boolean)
                .join(', '),
          },
          {
            title: 'Keys',
            cell: ({ keys }) =>
              keys
                .slice(0, namedMax)
                .map(({ key, taken, waiting }) => `${key} ${count(taken)}${waiting > 0 ? `+${count(waiting)}` : ''}`)
                .join(', '),
          },
          {
            title: '',
            cell: ({ name, isPaused }) =>
              may('admin') ? (
                <button type="button" class="button" onClick={() => act(name, isPaused ? 'resume' : 'pause')}>
                  {`${isPaused ? 'Resume' : 'Pause'} ${name}`}
                </button>
              ) : isPaused ? (
                'paused'
              ) : (
                ''
              ),
          },
        ]}
      />
    </>
  );
}
