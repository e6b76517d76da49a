/** All that waits for people, over all runs: soonest due first. */
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { encode, may, post, type Problem } from '../data/api.ts';
import { useLoaded } from '../data/query.ts';
import type { ListedRun, Wait, Waits } from '../data/types.ts';
import { reloadWaits, waits, waitsProblem } from '../data/waits.ts';
import { keyOfWait, questionKey } from '../data/alike.ts';
import { AnswerAlike } from '../parts/answer-alike.tsx';
import { AnswerCard } from '../parts/answer.tsx';
import { Awaited, Copy, Empty, now, Trouble } from '../parts/common.tsx';
import { ageMsOf, Filters } from '../parts/filters.tsx';
import { Mark } from '../parts/icons.tsx';
import { linkTo, linkToRun, linkWith, readParam } from '../url.ts';
import { awaitedWords, command, count, nodeName, waitWords } from '../words.ts';
import '../style/run.css';

const kinds = { all: 'All', doubt: 'Doubts', question: 'Questions' } as const;
/** Cards at once: each is a form of its own. */
const pageSize = 20;
const awaitingEveryMs = 10_000;

export function InboxPage(): JSX.Element {
  const [data, problem] = [waits.value, waitsProblem.value];
  const reload = (): void => void reloadWaits();
  const [shown, setShown] = useState(pageSize);
  const kind = readParam('kind') ?? 'all';
  const { fits, isFiltered } = useFilter();
  const [chosen, setChosen] = useState<ReadonlyMap<string, Wait>>(new Map());
  const { awaiting = [] } =
    useLoaded<Partial<Waits>>('/waits?all=true&limit=50', { everyMs: awaitingEveryMs }).data ?? {};
  if (data === undefined)
    return (
      <div class="page narrow">
        <h1>Inbox</h1>
        {problem === undefined ? <Awaited lines={6} /> : <Trouble problem={problem} onRetry={reload} />}
      </div>
    );
  const open = data.waits.filter((wait) => isOfKind(wait, kind) && fits(wait));
  // An effect in doubt may be money: it comes before questions.
  const sorted = [...open.filter((wait) => wait.kind === 'doubt'), ...open.filter((wait) => wait.kind !== 'doubt')];
  const alike = likesOf(data.waits, [...chosen.values()][0]);
  const choose = (wait: Wait, isChosen: boolean): void => {
    const next = new Map(chosen);
    if (isChosen) next.set(keyOfWait(wait), wait);
    else next.delete(keyOfWait(wait));
    setChosen(next);
  };
  const isEmpty =
    data.waits.length === 0 && data.answered.length === 0 && data.waiting.length === 0 && awaiting.length === 0;
  return (
    <div class="page narrow">
      <header class="page-head">
        <h1>Inbox</h1>
        <span
          class="quiet small"
          role="status"
        >{`${count(data.waits.length)}${data.hasMore ? ' and more' : ''} open`}</span>
        {data.waits.length > 0 && (
          <nav class="choice push" aria-label="Which">
            {Object.entries(kinds).map(([name, title]) => (
              <a
                href={linkWith({ kind: name === 'all' ? undefined : name })}
                aria-current={name === kind ? 'true' : undefined}
              >
                {title}
              </a>
            ))}
          </nav>
        )}
      </header>
      {(data.waits.length > 0 || isFiltered) && (
        <div class="filters">
          <Filters graphs={data.waits.map(({ graphId }) => graphId)} time="Asked" />
        </div>
      )}
      {chosen.size > 1 && (
        <AnswerAlike waits={[...chosen.values()]} onClear={() => setChosen(new Map())} onDone={reload} />
      )}
      <div class="stack">
        {sorted.slice(0, shown).map((wait) => (
          <AnswerCard
            key={wait.waitId}
            wait={wait}
            namesRun
            onAnswered={reload}
            isChosen={chosen.has(keyOfWait(wait))}
            {...(alike.has(questionKey(wait) ?? '') && { onChoose: (isChosen: boolean) => choose(wait, isChosen) })}
          />
        ))}
        {sorted.length > shown && (
          <button type="button" class="button" onClick={() => setShown(shown + pageSize)}>
            {`${count(sorted.length - shown)} more: show`}
          </button>
        )}
        {data.answered.map(({ runId }) => (
          <Answered key={runId} runId={runId} onDone={reload} />
        ))}
        <Others waiting={data.waiting} awaiting={awaiting} />
      </div>
      {isEmpty && (
        <Empty title="Nobody waits for you">
          <p>
            When a run asks something, or does not know whether something it did outside went through, it appears here,
            with what it wants to know. The run waits as long as it takes, and costs nothing meanwhile.
          </p>
          <Copy text={command('inbox')} />
        </Empty>
      )}
      {data.waits.length > 0 && open.length === 0 && (
        <Empty title="No question fits">
          <p>{`${count(data.waits.length)} are open, and none of them is of this kind, graph, label and time.`}</p>
          <a class="button" href={linkTo('inbox')}>
            Show all
          </a>
        </Empty>
      )}
    </div>
  );
}

/** What waits for no person: for word of a worker, a time or a signal. */
function Others({ waiting, awaiting }: Required<Pick<Waits, 'waiting' | 'awaiting'>>): JSX.Element {
  return (
    <>
      {awaiting.map(({ runId, awaits }) => (
        <div class="card" key={runId}>
          {awaits.map((awaited) => (
            <div class="list-row" data-tone="doubt">
              <Mark tone="doubt" />
              <a class="linked foreign" href={linkToRun(runId)}>
                {runId}
              </a>
              <span class="foreign">{awaitedWords(awaited, now.value)}</span>
            </div>
          ))}
        </div>
      ))}
      {waiting.length > 0 && (
        <section class="stack">
          <h2 class="quiet">Waiting for a time or a signal</h2>
          <ul class="card">
            {waiting.slice(0, 50).map((wait) => {
              const { tone, text } = waitWords(wait, now.value);
              return (
                <li class="list-row" data-tone={tone} key={wait.waitId}>
                  <Mark tone={tone} />
                  <a class="linked foreign" href={linkToRun(wait.runId)}>
                    {wait.runId}
                  </a>
                  <span class="foreign quiet">{nodeName(wait.node)}</span>
                  <span class="push">{text}</span>
                </li>
              );
            })}
          </ul>
        </section>
      )}
    </>
  );
}

/** What questions show that may be selected: of several alike, and once one is selected, of those that are as it. */
function likesOf(waits: readonly Wait[], first: Wait | undefined): ReadonlySet<string> {
  if (!may('answer')) return new Set();
  const question = first && questionKey(first);
  if (question !== undefined) return new Set([question]);
  const times = new Map<string, number>();
  for (const wait of waits) {
    const text = questionKey(wait);
    if (text !== undefined) times.set(text, (times.get(text) ?? 0) + 1);
  }
  return new Set([...times].flatMap(([text, count]) => (count > 1 ? [text] : [])));
}

const isOfKind = (wait: Wait, kind: string): boolean =>
  kind === 'all' || wait.kind === kind || (kind === 'question' && wait.kind !== 'doubt');

/** Runs with a label that are known at once. */
const labelledMax = 500;
const labelEveryMs = 5_000;

/** How questions are narrowed down besides by their kind; all of it is in the address. */
function useFilter(): { readonly fits: (wait: Wait) => boolean; readonly isFiltered: boolean } {
  const [graph, label, since] = [readParam('graph'), readParam('label'), readParam('since')];
  const ageMs = ageMsOf(since);
  const labelled = useLoaded<{ readonly runs: readonly ListedRun[] }>(
    label === undefined ? undefined : `/runs?limit=${labelledMax}&status=paused&label=${encode(label)}`,
    { everyMs: labelEveryMs },
  );
  const runs = useMemo(() => new Set(labelled.data?.runs.map(({ runId }) => runId)), [labelled.data]);
  return {
    isFiltered: [graph, label, since].some((value) => value !== undefined),
    fits: ({ graphId, runId, openedAt = 0 }) =>
      (graph === undefined || graphId === graph) &&
      (label === undefined || runs.has(runId)) &&
      (ageMs === undefined || now.value - openedAt <= ageMs),
  };
}

/** A run whose questions are all answered, and that no worker goes on with. */
function Answered({ runId, onDone }: { readonly runId: string; readonly onDone: () => void }): JSX.Element {
  const [problem, setProblem] = useState<Problem>();
  return (
    <div class="card">
      <div class="list-row" data-tone="queued">
        <Mark tone="queued" />
        <a class="linked foreign" href={linkToRun(runId)}>
          {runId}
        </a>
        <span class="quiet">is answered, and goes on when somebody resumes it</span>
        {may('run') && (
          <button
            type="button"
            class="button push"
            onClick={() => void post(`/runs/${encode(runId)}/resume`).then(onDone, setProblem)}
          >
            Resume
          </button>
        )}
      </div>
      {problem !== undefined && <Trouble problem={problem} />}
    </div>
  );
}
