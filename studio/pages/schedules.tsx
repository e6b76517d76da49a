/** What is started at times: when next, what it started last, and whether it is paused. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { may, post, type Problem } from '../data/api.ts';
import { useLoaded } from '../data/query.ts';
import type { ShownSchedule } from '../data/types.ts';
import { announced, Awaited, Copy, Empty, now, RunName, Trouble, When } from '../parts/common.tsx';
import { Mark } from '../parts/icons.tsx';
import { Fact } from '../parts/table.tsx';
import { linkToRun } from '../url.ts';
import { command, countOf, duration, timeOf, type Tone } from '../words.ts';
import '../style/run.css';

const everyMs = 3_000;
/** Runs of the newest occasion that are named. */
const startedMax = 3;

export function SchedulesPage(): JSX.Element {
  const { data, problem, reload } = useLoaded<{ readonly schedules: readonly ShownSchedule[] }>('/schedules', {
    everyMs,
  });
  return (
    <div class="page">
      <header class="page-head">
        <h1>Schedules</h1>
        <span class="quiet small" role="status">
          {data !== undefined && String(data.schedules.length)}
        </span>
      </header>
      {problem !== undefined && problem.status !== 0 && <Trouble problem={problem} onRetry={reload} />}
      {data === undefined && problem === undefined && <Awaited lines={5} />}
      {data?.schedules.length === 0 && (
        <Empty title="Nothing is scheduled">
          <p>A schedule starts a workflow at times. It is a run that sleeps, so it outlives its server.</p>
          <Copy text={command('schedule', 'add', 'workflow.yaml', '--cron', '0 7 * * *')} />
        </Empty>
      )}
      <div class="stack">
        {data?.schedules.map((schedule) => (
          <ScheduleCard key={schedule.name} schedule={schedule} onDone={reload} />
        ))}
      </div>
    </div>
  );
}

interface CardProps {
  readonly schedule: ShownSchedule;
  readonly onDone: () => void;
}

function standingOf({ status, pausedAt, nextAt, error }: ShownSchedule): {
  readonly tone: Tone;
  readonly text: string;
} {
  if (pausedAt !== undefined) return { tone: 'stopped', text: `paused since ${timeOf(pausedAt, now.value)}` };
  if (!['running', 'paused'].includes(status)) return { tone: 'stopped', text: 'ended' };
  if (error !== undefined) return { tone: 'failed', text: 'could not start its last run' };
  if (nextAt === undefined) return { tone: 'running', text: 'due' };
  const inMs = nextAt - now.value;
  return inMs > 0 ? { tone: 'sleeping', text: `next in ${duration(inMs)}` } : { tone: 'running', text: 'due' };
}

function ScheduleCard({ schedule, onDone }: CardProps): JSX.Element {
  const { name, cron, timezone, nextAt, pausedAt, started, error, skipped, overlap, missed, runId } = schedule;
  const [problem, setProblem] = useState<Problem>();
  const [isBusy, setBusy] = useState(false);
  const [begun, setBegun] = useState<readonly string[]>([]);
  const act = (action: 'pause' | 'resume' | 'trigger'): void => {
    setBusy(true);
    setProblem(undefined);
    post<{ readonly starts?: readonly string[] }>('/schedules', { name, action })
      .then(({ starts = [] }) => {
        announced.value = `${name}: ${action} done`;
        setBegun(starts);
        onDone();
      }, setProblem)
      .finally(() => setBusy(false));
  };
  const { tone, text } = standingOf(schedule);
  const runs = [...begun, ...started.filter((id) => !begun.includes(id))].slice(0, startedMax);
  return (
    <article class="card schedule" data-tone={tone} aria-label={`Schedule ${name}`}>
      <div class="body stack">
        <div class="row wrap">
          <Mark tone={tone} />
          <h2 class="foreign">{name}</h2>
          <span class="toned small" role="status">
            {text}
          </span>
          {may('admin') && (
            <span class="row push">
              <button type="button" class="button" disabled={isBusy} onClick={() => act('trigger')}>
                Run now
              </button>
              <button
                type="button"
                class="button"
                disabled={isBusy}
                onClick={() => act(pausedAt === undefined ? 'pause' : 'resume')}
              >
                {pausedAt === undefined ? 'Pause' : 'Resume'}
              </button>
            </span>
          )}
        </div>
        <dl class="facts inline">
          <Fact name="times" value={`${cron} ${timezone}`} />
          {nextAt !== undefined && <Fact name="next" value={timeOf(nextAt, now.value)} />}
          <Fact name="missed" value={missed} />
          {overlap !== undefined && <Fact name="overlap" value={overlap} />}
          <div>
            <dt>its own run</dt>
            <dd>
              <a class="linked" href={linkToRun(runId)}>
                <RunName id={runId} />
              </a>
            </dd>
          </div>
        </dl>
        {runs.length > 0 && (
          <p class="row wrap small">
            <span class="quiet">started last</span>
            {runs.map((id) => (
              <a class="linked" href={linkToRun(id)}>
                <RunName id={id} />
              </a>
            ))}
          </p>
        )}
        {skipped !== undefined && skipped.times.length > 0 && (
          <p class="quiet small">
            {`${countOf(skipped.times.length, 'time')} left out, ${skipped.because}: the last `}
            <When at={skipped.times.at(-1) ?? 0} form="clock" />
          </p>
        )}
        {error !== undefined && (
          <p class="note foreign" data-tone="failed">
            {error}
          </p>
        )}
        {problem !== undefined && <Trouble problem={problem} />}
        <Copy text={command('schedule', pausedAt === undefined ? 'pause' : 'resume', name)} />
      </div>
    </article>
  );
}
