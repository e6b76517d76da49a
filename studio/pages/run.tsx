/** A run, at its head while it moves or at any moment of its past: both are drawn by the same code from (history, seq). */
import type { ComponentChildren, JSX } from 'preact';
import { useCallback, useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { encode, may, post, type Problem } from '../data/api.ts';
import { useFollowed, type Followed } from '../data/follow.ts';
import { useLoaded } from '../data/query.ts';
import type { ForkedRun, Standing } from '../data/types.ts';
import { AnswerCard } from '../parts/answer.tsx';
import { announced, Awaited, Copy, Dialog, Empty, now, Trouble, When } from '../parts/common.tsx';
import { Icon, Mark } from '../parts/icons.tsx';
import { linkTo, linkToRun, linkWith, readParam } from '../url.ts';
import { command, cost, count, countOf, duration, fullTime, runWords, toneWords } from '../words.ts';
import { FailureCard } from './run/failure.tsx';
import { LiveCalls } from './run/live-calls.tsx';
import { showMoment, useMoment, useMomentKeys, type Moment } from './run/moment.ts';
import { AgentPanel } from './run/agents.tsx';
import { HistoryPanel, StatePanel } from './run/panels.tsx';
import { SpansPanel } from './run/spans.tsx';
import { GraphPanel } from './run/graph-panel.tsx';
import { isNarrow, Side } from './run/side.tsx';
import { StoryPanel } from './run/story.tsx';
import { TimelinePanel } from './run/timeline.tsx';
import '../style/run.css';

const statusMs = 3_000;

export function RunPage(): JSX.Element {
  const runId = readParam('id') ?? '';
  const first = useLoaded<Standing>(runId === '' ? undefined : `/runs/${encode(runId)}`);
  const followed = useFollowed(runId, first.data?.seq);
  const standing = useLoaded<Standing>(runId === '' ? undefined : `/runs/${encode(runId)}`, {
    version: followed.head,
    everyMs: statusMs,
  });
  const { data, problem, reload } = standing;
  if (runId === '' || problem?.status === 404)
    return (
      <Empty title="There is no such run" isPage>
        <p class="foreign">
          {runId === '' ? 'The address names no run.' : `${runId} is not in this store, or was removed.`}
        </p>
        <a class="button" href="./">
          Show the runs
        </a>
      </Empty>
    );
  return (
    <div class="page run-page">
      {problem !== undefined && problem.status !== 0 && <Trouble problem={problem} onRetry={reload} />}
      {data === undefined ? (
        <>
          <h1 class="foreign">{runId}</h1>
          {problem === undefined && <Awaited lines={8} />}
        </>
      ) : (
        <Run key={runId} standing={data} followed={followed} reload={reload} />
      )}
    </div>
  );
}

interface RunProps {
  readonly standing: Standing;
  readonly followed: Followed;
  readonly reload: () => void;
}

const tabs = {
  story: 'Story',
  timeline: 'Timeline',
  spans: 'Spans',
  state: 'State',
  agents: 'Agents',
  history: 'History',
  // On a narrow screen; on a wide one it stands beside the others.
  graph: 'Graph',
} as const;
type Tab = keyof typeof tabs;

/** Scrolls the tabs of a narrow screen to the one that is shown. */
function showTab(name: string): void {
  const tab = document.getElementById(`tab-${name}`);
  const list = tab?.parentElement;
  if (tab && list) list.scrollLeft = tab.offsetLeft - list.offsetLeft - list.clientWidth / 2;
}

function Run({ standing, followed, reload }: RunProps): JSX.Element {
  const moment = useMoment(standing, followed);
  useMomentKeys(moment);
  const { runId } = standing;
  const wanted = readParam('tab') ?? 'story';
  const narrow = isNarrow.value;
  const tab = Object.hasOwn(tabs, wanted) && (wanted !== 'graph' || narrow) ? (wanted as Tab) : 'story';
  const isAlone = readParam('graph') === 'alone' && !narrow;
  useLayoutEffect(() => showTab(tab), [tab, narrow]);
  const hasAgents = useMemo(() => agentNodes(moment).length > 0, [moment.story, moment.structure, moment.checkpoint]);
  const open = moment.isLive ? standing.waits.filter(({ kind }) => kind === 'question' || kind === 'doubt') : [];
  return (
    <>
      <Head standing={standing} followed={followed} reload={reload} moment={moment} />
      <Scrubber moment={moment} />
      {moment.problem !== undefined && moment.problem.status !== 0 && <Trouble problem={moment.problem} />}
      <div class={`run-columns${isAlone ? ' alone' : ''}`}>
        <section class="run-main">
          {open.map((wait) => (
            <AnswerCard key={wait.waitId} wait={wait} onAnswered={reload} />
          ))}
          {moment.isLive && standing.status === 'failed' && <FailureCard standing={standing} story={moment.story} />}
          {moment.isLive && <LiveCalls calls={followed.calls} />}
          <div class="tabs" role="tablist" aria-label="What to see">
            {(Object.keys(tabs) as Tab[])
              .filter((name) => (name !== 'agents' || hasAgents) && (name !== 'graph' || narrow))
              .map((name) => (
                <a
                  role="tab"
                  id={`tab-${name}`}
                  aria-selected={name === tab}
                  aria-controls="panel"
                  href={linkWith({ tab: name === 'story' ? undefined : name })}
                >
                  {tabs[name]}
                </a>
              ))}
          </div>
          <div role="tabpanel" id="panel" aria-labelledby={`tab-${tab}`}>
            {tab === 'story' && <StoryPanel moment={moment} />}
            {tab === 'timeline' && <TimelinePanel moment={moment} />}
            {tab === 'spans' && <SpansPanel moment={moment} />}
            {tab === 'state' && <StatePanel moment={moment} />}
            {tab === 'agents' && <AgentPanel moment={moment} nodes={agentNodes(moment)} />}
            {tab === 'history' && <HistoryPanel moment={moment} />}
            {tab === 'graph' && <GraphPanel moment={moment} />}
          </div>
        </section>
        <Side>
          {!narrow && <GraphPanel moment={moment} />}
          <Forks runId={runId} version={standing.updatedAt} />
        </Side>
      </div>
    </>
  );
}

/** Paths of nodes that asked a model: agents by their type, others by the calls that their visits made. */
function agentNodes({ story, structure, checkpoint }: Moment): readonly (readonly string[])[] {
  const agents = new Set(structure?.nodes.filter(({ type }) => type === 'agent').map(({ id }) => id));
  const nodes = checkpoint?.view.nodes.filter(({ path }) => agents.has(path.at(-1) ?? '')) ?? [];
  const visits = story?.entries.filter((entry) => entry.kind === 'visit') ?? [];
  const called = visits.filter(
    ({ type, steps }) => type === 'agent' || steps.some(({ step }) => step.startsWith('model ')),
  );
  return [...new Map([...nodes, ...called].map(({ path }) => [path.join('/'), path])).values()];
}

function Head({ standing, followed, moment, reload }: RunProps & { readonly moment: Moment }): JSX.Element {
  const { runId, graphId, status, createdAt, updatedAt, parent, spent, saved, claimedBy, waits, title } = standing;
  const words = runWords(
    { ...standing, isStopped: status === 'stopped', isHeld: standing.isHeld === true },
    waits,
    now.value,
  );
  const at = moment.checkpoint?.view;
  const isPast = !moment.isLive;
  const facts: readonly (readonly [string, ComponentChildren])[] = [
    ['graph', <span class="foreign">{graphId}</span>],
    ['started', <When at={createdAt} />],
    ['took', duration((status === 'running' ? now.value : updatedAt) - createdAt)],
    ...(cost(at?.spent ?? spent) === undefined ? [] : [['spent', cost(at?.spent ?? spent)] as const]),
    ...(cost(saved) === undefined ? [] : [['saved', cost(saved)] as const]),
    ...(parent === undefined
      ? []
      : [
          [
            'forked from',
            <a
              class="linked foreign"
              href={linkToRun(parent.runId, { at: parent.seq })}
            >{`${parent.runId}@${parent.seq}`}</a>,
          ] as const,
          [
            'beside it',
            <a class="linked" href={linkTo('compare', { a: parent.runId, b: runId })}>
              compare with the original
            </a>,
          ] as const,
        ]),
    ...Object.entries(standing.labels ?? {}).map(
      ([name, value]) => [name, <span class="foreign">{value}</span>] as const,
    ),
    ...takenUpWords(moment),
    ...(claimedBy === undefined || status !== 'running'
      ? []
      : [['held by', <code class="foreign">{claimedBy}</code>] as const]),
  ];
  return (
    <header class="run-head">
      <div class="row wrap">
        <a class="quiet small" href="./">
          Runs
        </a>
        <span class="quiet small" aria-hidden="true">
          /
        </span>
        <h1 class="foreign">{title ?? runId}</h1>
        {title !== undefined && <span class="quiet small foreign">{runId}</span>}
        <Copy text={runId} label="id" />
        <Actions standing={standing} moment={moment} reload={reload} />
      </div>
      <div class="row wrap run-status" data-tone={words.tone} role="status">
        <Mark tone={words.tone} />
        <strong class="toned">{words.text}</strong>
        {words.detail !== undefined && waits.length === 0 && <span class="quiet foreign">{words.detail}</span>}
        {isPast && <span class="badge">{`shown as it was at ${moment.seq} of ${moment.head}`}</span>}
        {!isPast && followed.state === 'live' && (
          <span class="badge" data-tone="completed">
            <Icon name="live" size={12} />
            live
          </span>
        )}
      </div>
      <dl class="facts inline">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </header>
  );
}

/** When somebody went on with it: after a pause, or after its process was gone. */
function takenUpWords({ story }: Moment): readonly (readonly [string, ComponentChildren])[] {
  const times = story?.entries.filter(({ kind }) => kind === 'resume') ?? [];
  const last = times.at(-1);
  if (last === undefined) return [];
  const all = times.map(({ at, by }) => `${fullTime(at)}${by === undefined ? '' : ` by ${by}`}`).join('\n');
  return [
    [
      'gone on with',
      <span title={all}>{times.length === 1 ? <When at={last.at} /> : countOf(times.length, 'time')}</span>,
    ],
  ];
}

interface Deed {
  readonly title: string;
  readonly does: string;
  readonly path: string;
  readonly body: unknown;
  readonly command: string;
  readonly isGrave?: boolean;
}

function deedsOf({ runId, status, hasMessages }: Standing): readonly Deed[] {
  const at = `/runs/${encode(runId)}`;
  const isOpen = !['completed', 'failed', 'cancelled'].includes(status);
  const resume: Deed = {
    title: 'Resume',
    does: 'The run goes on from its newest checkpoint.',
    path: `${at}/resume`,
    body: {},
    command: command('resume', runId),
  };
  const retry: Deed = {
    title: 'Retry',
    does: 'What failed is tried again; what is done stays done.',
    path: `${at}/resume`,
    body: { retry: true },
    command: command('resume', runId, '--retry'),
  };
  const cancel: Deed = {
    title: 'Cancel',
    isGrave: true,
    does: 'The run ends here. What it did stays done, and it can be forked later.',
    path: `${at}/cancel`,
    body: {},
    command: command('cancel', runId),
  };
  return [
    ...(status === 'failed' ? [retry] : []),
    ...(status === 'stopped' || (status === 'paused' && hasMessages) ? [resume] : []),
    ...(isOpen ? [cancel] : []),
  ];
}

function Actions({
  standing,
  moment,
  reload,
}: Pick<RunProps, 'standing' | 'reload'> & { readonly moment: Moment }): JSX.Element {
  const [deed, setDeed] = useState<Deed>();
  const { runId } = standing;
  const close = useCallback(() => setDeed(undefined), []);
  return (
    <div class="row wrap push">
      {may('run') &&
        deedsOf(standing).map((one) => (
          <button type="button" class="button" onClick={() => setDeed(one)}>
            {one.title}
          </button>
        ))}
      <a class="button" href={linkTo('compare', { a: runId, ...(!moment.isLive && { aAt: moment.seq, b: runId }) })}>
        Compare
      </a>
      {may('run') && (
        <a class="button" href={linkTo('start', { like: runId })}>
          Start like this
        </a>
      )}
      {may('fork') && (
        <a class="button" href={linkTo('fork', { id: runId, at: moment.isLive ? 0 : moment.seq, noEffects: 1 })}>
          Try a change
        </a>
      )}
      {may('fork') && (
        <a class="button primary" href={linkTo('fork', { id: runId, at: moment.seq })}>
          <Icon name="fork" size={14} />
          {moment.isLive ? 'Fork' : `Fork at ${moment.seq}`}
        </a>
      )}
      {deed !== undefined && <Confirm deed={deed} onClose={close} onDone={reload} />}
    </div>
  );
}

function Confirm({
  deed,
  onClose,
  onDone,
}: {
  readonly deed: Deed;
  readonly onClose: () => void;
  readonly onDone: () => void;
}): JSX.Element {
  const [problem, setProblem] = useState<Problem>();
  const [isBusy, setBusy] = useState(false);
  const act = (): void => {
    setBusy(true);
    post(deed.path, deed.body).then(
      () => {
        announced.value = `${deed.title}: done`;
        onDone();
        onClose();
      },
      (error: Problem) => {
        setProblem(error);
        setBusy(false);
      },
    );
  };
  return (
    <Dialog title={deed.title} onClose={onClose}>
      <h2>{deed.title}</h2>
      <p class="quiet">{deed.does}</p>
      <Copy text={deed.command} />
      {problem !== undefined && <Trouble problem={problem} />}
      <div class="row">
        <button
          type="button"
          class={`button ${deed.isGrave === true ? 'danger' : 'primary'}`}
          disabled={isBusy}
          onClick={act}
        >
          {`${deed.title} the run`}
        </button>
        <button type="button" class="button bare" onClick={onClose}>
          Not now
        </button>
      </div>
    </Dialog>
  );
}

/** Goes through the checkpoints of the run. */
function Scrubber({ moment }: { readonly moment: Moment }): JSX.Element {
  const { seq, head, isLive } = moment;
  const at = moment.checkpoint?.seq === seq ? moment.checkpoint.at : undefined;
  return (
    <div class="scrubber">
      <button
        type="button"
        class="button bare icon"
        aria-label="A checkpoint back"
        disabled={seq === 0}
        onClick={() => showMoment(seq - 1, head)}
      >
        <Icon name="left" />
      </button>
      <input
        type="range"
        min={0}
        max={head}
        value={seq}
        aria-label="Checkpoint"
        aria-valuetext={`checkpoint ${seq} of ${head}`}
        style={{ '--part': `${head === 0 ? 100 : (100 * seq) / head}%` }}
        onInput={({ currentTarget }) => showMoment(currentTarget.valueAsNumber, head, true)}
      />
      <button
        type="button"
        class="button bare icon"
        aria-label="A checkpoint forth"
        disabled={seq === head}
        onClick={() => showMoment(seq + 1, head)}
      >
        <Icon name="right" />
      </button>
      <span class="where">
        <strong>{count(seq)}</strong>
        <span class="quiet">{` of ${count(head)}`}</span>
      </span>
      <span class="quiet small time">{at !== undefined && <When at={at} form="clock" />}</span>
      <button
        type="button"
        class="button"
        aria-pressed={isLive}
        disabled={isLive}
        onClick={() => showMoment(head, head)}
      >
        Now
      </button>
    </div>
  );
}

function Forks({ runId, version }: { readonly runId: string; readonly version: number }): JSX.Element | null {
  const { data } = useLoaded<{ readonly runs: readonly ForkedRun[] }>(`/runs/${encode(runId)}/forks`, { version });
  const runs = data?.runs ?? [];
  if (runs.length < 2) return null;
  const depths = new Map<string, number>();
  for (const { runId: id, parent } of runs)
    depths.set(id, parent === undefined ? 0 : (depths.get(parent.runId) ?? 0) + 1);
  return (
    <section class="card">
      <div class="body stack">
        <h2>Forks</h2>
        <ul class="forks">
          {runs.slice(0, 100).map((run) => {
            const { tone } = runWords(
              { ...run, isStopped: run.status === 'stopped', hasMessages: false },
              [],
              now.value,
            );
            return (
              <li style={{ paddingLeft: `${16 * Math.min(6, depths.get(run.runId) ?? 0)}px` }}>
                <a href={linkToRun(run.runId)} aria-current={run.runId === runId ? 'true' : undefined} data-tone={tone}>
                  <Mark tone={run.status === 'paused' ? 'waiting' : tone} size={14} />
                  <span class="foreign">{run.runId}</span>
                  <span class="hidden-text">{toneWords[tone]}</span>
                  {run.parent !== undefined && <span class="quiet tiny">{`from ${run.parent.seq}`}</span>}
                  {run.changed?.set.map(({ path }) => (
                    <code class="tiny quiet foreign">{path}</code>
                  ))}
                </a>
              </li>
            );
          })}
        </ul>
      </div>
    </section>
  );
}
