/** What happened, a line for each thing that mattered, each a link to its moment. */
import type { ComponentChildren, JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { Question, RunEvent, Story, Visit } from '../../data/types.ts';
import { Awaited } from '../../parts/common.tsx';
import { Mark } from '../../parts/icons.tsx';
import { Changes, Inline, LongText } from '../../parts/value.tsx';
import { linkToRun, linkWith } from '../../url.ts';
import { cost, count, countOf, duration, nodeName, shortStep, type Tone } from '../../words.ts';
import type { Moment } from './moment.ts';
import { eventLine, stepWords, toneOf } from './story-lines.ts';

/** Entries in view at first: each is of several lines. */
const shownMax = 40;

export function StoryPanel({ moment }: { readonly moment: Moment }): JSX.Element {
  const { story } = moment;
  const [shown, setShown] = useState(shownMax);
  const entries = useMemo(
    () => story?.entries.filter((entry) => entry.kind !== 'visit' || !(entry.path.at(-1) ?? '').startsWith('__')) ?? [],
    [story],
  );
  if (story === undefined) return <Awaited lines={6} />;
  // The end of a long story is read first: what is going on, and how it ended.
  const hasBefore = story.before !== undefined;
  const hidden = Math.max(0, entries.length - shown);
  const showMore = (): void => {
    setShown(shown + 2 * shownMax);
    if (shown + 2 * shownMax > entries.length && hasBefore) moment.showEarlier();
  };
  return (
    <ol class="story" aria-label="What happened">
      {(hidden > 0 || hasBefore) && (
        <li class="more">
          <button type="button" class="link" onClick={showMore}>
            {hasBefore ? 'Show earlier' : `${count(hidden)} earlier: show`}
          </button>
        </li>
      )}
      {entries
        .slice(hidden)
        .map((entry) =>
          entry.kind === 'visit' ? (
            <VisitEntry key={`${entry.path.join('/')} ${entry.visit} ${entry.runId}`} visit={entry} story={story} />
          ) : (
            <EventEntry key={`${entry.kind} ${entry.runId} ${entry.seq}`} event={entry} story={story} />
          ),
        )}
    </ol>
  );
}

interface EntryProps {
  readonly tone: Tone;
  readonly at: { readonly runId: string; readonly seq: number; readonly at: number };
  readonly story: Story;
  readonly title: ComponentChildren;
  readonly facts?: readonly string[];
  readonly isSmall?: boolean;
  readonly children?: ComponentChildren;
}

function Entry({ tone, at, story, title, facts = [], isSmall = false, children }: EntryProps): JSX.Element {
  const link = at.runId === story.runId ? linkWith({ at: at.seq }) : linkToRun(at.runId, { at: at.seq });
  const label = at.runId === story.runId ? String(at.seq) : `${at.runId}@${at.seq}`;
  return (
    <li class={`entry${isSmall ? ' small' : ''}`} data-tone={tone}>
      <span class="bullet">
        <Mark tone={tone} size={isSmall ? 12 : 16} />
      </span>
      <div class="what">
        <div class="row wrap">
          <span class="title foreign">{title}</span>
          {facts.map((fact) => (
            <span class="quiet small" key={fact}>
              {fact}
            </span>
          ))}
          <a class="seq quiet tiny push" href={link} title={`The moment: checkpoint ${label}`}>
            <span class="hidden-text">checkpoint </span>
            {label}
            <span class="after">{at.at > story.startedAt ? `+${duration(at.at - story.startedAt)}` : ''}</span>
          </a>
        </div>
        {children}
      </div>
    </li>
  );
}

function EventEntry({ event, story }: { readonly event: RunEvent; readonly story: Story }): JSX.Element {
  const { title, tone } = eventLine(event);
  return <Entry isSmall tone={tone} at={event} story={story} title={title} />;
}

function VisitEntry({ visit, story }: { readonly visit: Visit; readonly story: Story }): JSX.Element {
  const {
    path,
    attempts = 1,
    durationMs,
    spent,
    saved,
    error,
    value,
    steps,
    questions,
    changes,
    edges,
    retries,
    takenFrom,
    by,
    verdict,
    when,
  } = visit;
  const spentWords = cost(spent);
  const savedWords = cost(saved);
  const facts = [
    ...(visit.visit > 1 ? [`visit ${visit.visit}`] : []),
    ...(attempts > 1 ? [countOf(attempts, 'attempt')] : []),
    ...(durationMs === undefined ? [] : [duration(durationMs)]),
    ...(spentWords === undefined ? [] : [spentWords]),
    ...(savedWords === undefined ? [] : [`saved ${savedWords}`]),
    ...(verdict === undefined ? [] : [verdict]),
    ...(takenFrom === undefined ? [] : [`replayed from ${takenFrom.runId}@${takenFrom.seq}`]),
    ...(by === undefined ? [] : [`decided by ${by}`]),
    ...(visit.status === 'skipped' ? [`skipped${when === undefined ? '' : `: ${when}`}`] : []),
  ];
  const choices = edges.filter(({ fired, because }) => edges.length > 1 && (fired || because !== ''));
  return (
    <Entry
      tone={toneOf(visit)}
      at={visit}
      story={story}
      title={<a href={linkWith({ node: path.join('/') })}>{nodeName(path)}</a>}
      facts={facts}
    >
      {retries.map(({ attempt, error: tried, step }) => (
        <p class="small quiet foreign">{`attempt ${attempt}${step === undefined ? '' : ` of ${shortStep(step)}`} failed${tried === undefined ? '' : `: ${tried.message}`}`}</p>
      ))}
      {(visit.repeats?.length ?? 0) > 0 && <p class="small quiet">begun again after its process was gone</p>}
      {steps.length > 1 && (
        <p class="small quiet foreign">
          {stepWords(steps)}{' '}
          <a class="linked" href={linkWith({ tab: 'spans', find: path.join('/') })}>
            show them
          </a>
        </p>
      )}
      {questions.map((question) => (
        <QuestionLine key={`${question.seq} ${question.name}`} question={question} />
      ))}
      {error !== undefined && (
        <p class="note" data-tone="failed">
          <LongText text={error.message} /> <code class="quiet foreign">{error.code}</code>
        </p>
      )}
      {value !== undefined && value !== null && questions.length === 0 && (
        <p class="small outcome">
          <span class="quiet" aria-label="gave">
            →{' '}
          </span>
          <Inline value={value} />
        </p>
      )}
      {changes.length > 0 && <Changes changes={changes.slice(0, 12)} />}
      {choices.map(({ to, label, fired, because }) => (
        <p class={`small way${fired ? '' : ' quiet'}`}>
          <span class="foreign">{`${fired ? 'went on to' : 'not to'} ${to === '__end__' ? 'the end' : to}${label !== undefined && label !== to ? ` (${label})` : ''}`}</span>
          {because !== '' && <span class="quiet foreign">{`: ${because}`}</span>}
        </p>
      ))}
    </Entry>
  );
}

function QuestionLine({ question }: { readonly question: Question }): JSX.Element {
  const { kind, name, prompt, at, closedAt, answer, by, isChanged } = question;
  const isQuestion = kind === 'question' || kind === 'doubt';
  return (
    <div class="asked small">
      <LongText text={prompt ?? (isQuestion ? name : `waited for a ${kind}: ${name}`)} max={300} />
      {closedAt !== undefined && (
        <p>
          {answer !== undefined && <Inline value={answer} />}
          <span class="quiet">{`${answer === undefined ? 'over' : ''}${by === undefined ? '' : ` by ${by}`} after ${duration(closedAt.at - at)}`}</span>
        </p>
      )}
      {isChanged === true && <p class="quiet">it was asked otherwise later, so this answer is not used</p>}
    </div>
  );
}
