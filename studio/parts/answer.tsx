/** An open question, and its answer in place. The same card stands in the inbox and on the page of its run. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ask, encode, may, me, placeOf, post, type Problem } from '../data/api.ts';
import { faultsIn, faultsOfProblem } from '../data/form-faults.ts';
import { typeOf } from '../data/form-values.ts';
import { useLoaded } from '../data/query.ts';
import type { JsonSchema, Preview, Question, Story, Wait } from '../data/types.ts';
import { linkToRun } from '../url.ts';
import { choiceOf, command, doubtQuestion, inline, nodeName, othersWords, timeOf, waitWords } from '../words.ts';
import { Approval, promptOf, proposalOf } from './approval.tsx';
import { announced, Copy, now, Trouble, When } from './common.tsx';
import { Field, JsonInput } from './form.tsx';
import { Mark } from './icons.tsx';
import { PreviewRows } from './preview.tsx';
import { LongText } from './value.tsx';

interface CardProps {
  readonly wait: Wait;
  /** Whether the run is named: not on its own page. */
  readonly namesRun?: boolean;
  readonly onAnswered: () => void;
  /** Selects it, to be answered with others that are alike. Absent: it is answered by itself. */
  readonly onChoose?: (isChosen: boolean) => void;
  readonly isChosen?: boolean;
}

export function AnswerCard({ wait, namesRun = false, onAnswered, onChoose, isChosen = false }: CardProps): JSX.Element {
  const [recorded, setRecorded] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const [closed, setClosed] = useState<Question>();
  const [decision, setDecision] = useState<Decision>();
  const { tone, text } = waitWords(wait, now.value);
  const isDoubt = wait.kind === 'doubt';
  const whose = othersWords(wait, me.value);
  const answer = (value: unknown): void => {
    setBusy(true);
    setProblem(undefined);
    post(`/runs/${encode(wait.runId)}/answer`, { wait: wait.waitId, value }).then(
      () => {
        announced.value = `answered: ${inline(value)}`;
        setRecorded(value);
        onAnswered();
      },
      async (error: Problem) => {
        const found = isClosed(error) ? await findAnswer(wait) : undefined;
        setClosed(found);
        setProblem(found === undefined ? error : undefined);
        setBusy(false);
        // A card that goes away at once tells nobody why.
        if (!isClosed(error)) onAnswered();
      },
    );
  };
  return (
    <article
      class="card answer"
      data-tone={tone}
      aria-label={isDoubt ? doubtQuestion(wait) : `Question of ${nodeName(wait.node)}`}
    >
      <div class="body stack">
        <div class="row wrap small">
          {onChoose !== undefined && (
            <input
              type="checkbox"
              class="box-field"
              checked={isChosen}
              aria-label={`Select the question of ${wait.runId}`}
              onChange={({ currentTarget }) => onChoose(currentTarget.checked)}
            />
          )}
          <Mark tone={tone} />
          <span class="toned">{text}</span>
          {wait.dueAt !== undefined && <span class="quiet">{`until ${timeOf(wait.dueAt, now.value)}`}</span>}
          <span class="quiet push foreign">
            {namesRun && (
              <>
                <a class="plain" href={linkToRun(wait.runId)}>
                  {wait.runId}
                </a>
                {' · '}
              </>
            )}
            {nodeName(wait.node)}
          </span>
        </div>
        <h2 class="question">
          <LongText text={isDoubt ? doubtQuestion(wait) : questionOf(wait)} max={600} />
        </h2>
        {isDoubt && <DoubtFacts wait={wait} />}
        {closed !== undefined ? (
          <p class="row" role="status">
            <Mark tone="completed" />
            <span class="foreign">{closedWords(closed)}</span>
            <button type="button" class="button push" onClick={onAnswered}>
              All right
            </button>
          </p>
        ) : recorded !== undefined ? (
          <p class="row" role="status">
            <Mark tone="completed" />
            <span class="foreign">{`Answered: ${inline(recorded)}`}</span>
          </p>
        ) : whose !== undefined ? (
          <p class="quiet small foreign">{whose}</p>
        ) : may('answer') ? (
          isDoubt ? (
            <DoubtAnswers wait={wait} isBusy={isBusy} answer={answer} decision={decision} onDecide={setDecision} />
          ) : (
            <Answers wait={wait} isBusy={isBusy} answer={answer} problem={problem} />
          )
        ) : (
          <p class="quiet small">You may look, and not answer: that needs the scope answer.</p>
        )}
        {problem !== undefined && <Trouble problem={problem} />}
        {recorded === undefined && closed === undefined && (
          <Copy
            text={command(
              'answer',
              wait.runId,
              wait.waitId,
              isDoubt ? (decision ?? 'happened') : inline(choiceOf(wait.choices?.[0] ?? 'VALUE').value),
            )}
          />
        )}
      </div>
    </article>
  );
}

export const questionOf = (wait: Wait): string =>
  proposalOf(wait) === undefined ? (wait.prompt ?? wait.name) : promptOf(wait);

/** Whether somebody else, or another tab, answered first. */
const isClosed = ({ code }: Problem): boolean => code === 'WAIT_CLOSED' || code === 'WAIT_NOT_FOUND';

/** How a question was closed, if its run took that in already. */
async function findAnswer({ runId, node, openedAt }: Wait): Promise<Question | undefined> {
  const story = await ask<Story>(`${placeOf(runId)}/story?limit=500`).catch(() => undefined);
  const name = node.join('/');
  return story?.entries
    .flatMap((entry) => (entry.kind === 'visit' && entry.path.join('/') === name ? entry.questions : []))
    .findLast(({ closedAt, at }) => closedAt !== undefined && (openedAt === undefined || at >= openedAt));
}

/** `answered already by ann at 12:03: no` */
function closedWords({ by, closedAt, answer }: Question): string {
  const who = by === undefined ? '' : ` by ${by}`;
  const when = closedAt === undefined ? '' : ` at ${timeOf(closedAt.at, now.value)}`;
  return `answered already${who}${when}${answer === undefined ? '' : `: ${inline(answer)}`}`;
}

interface AnswersProps {
  readonly wait: Wait;
  readonly isBusy: boolean;
  readonly answer: (value: unknown) => void;
  /** Why the last answer was not taken. */
  readonly problem?: Problem | undefined;
}

/** What may be approved is a table; up to four choices are buttons; else the form of the schema, or a line of text. */
export function Answers({ wait, isBusy, answer, problem }: AnswersProps): JSX.Element {
  const proposal = proposalOf(wait);
  if (proposal !== undefined)
    return <Approval wait={wait} proposal={proposal} isBusy={isBusy} answer={answer} problem={problem} />;
  const { choices = [], schema = { type: 'string' }, matching } = wait;
  const isOpen = choices.length === 0 || matching === 'open';
  const areMany = choices.length > 4;
  const form = areMany && !isOpen ? { enum: choices.map((choice) => choiceOf(choice).value) } : schema;
  return (
    <>
      {choices.length > 0 && !areMany && <ChoiceButtons choices={choices} isBusy={isBusy} answer={answer} />}
      {(isOpen || areMany) && <AnswerForm schema={form} isBusy={isBusy} answer={answer} problem={problem} />}
    </>
  );
}

/** A button for each choice. */
export function ChoiceButtons({
  choices,
  isBusy,
  answer,
}: Omit<AnswersProps, 'wait'> & { readonly choices: readonly unknown[] }): JSX.Element {
  return (
    <div class="choices">
      {choices.map(choiceOf).map((choice, index) => (
        <button
          type="button"
          class={`button${index === 0 ? ' primary' : ''}`}
          disabled={isBusy}
          onClick={() => answer(choice.value)}
        >
          {choice.label}
        </button>
      ))}
    </div>
  );
}

/** A field for an answer that fits the schema. */
export function AnswerForm({
  schema,
  isBusy,
  answer,
  problem,
}: Omit<AnswersProps, 'wait'> & { readonly schema: JsonSchema }): JSX.Element {
  const [value, setValue] = useState<unknown>();
  const [isTried, setTried] = useState(false);
  const [sent, setSent] = useState<unknown>();
  const own = faultsIn(schema, value);
  // What the server found is about what was sent.
  const faults = own.size === 0 && sent === value ? faultsOfProblem(problem, '/value') : own;
  return (
    <form
      class="stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        setTried(true);
        setSent(value);
        if (own.size === 0) answer(value);
        else focusFault(event.currentTarget);
      }}
    >
      <Field
        schema={schema}
        value={value}
        onChange={setValue}
        {...(typeOf(schema) !== 'object' && { name: 'Answer' })}
        {...(isTried && { faults })}
      />
      {isTried && faults.size > 0 && (
        <p class="small toned" data-tone="failed" role="alert">
          {faults.size === 1 ? 'One field is not right yet.' : `${faults.size} fields are not right yet.`}
        </p>
      )}
      <div>
        <button type="submit" class="button primary" disabled={isBusy}>
          Answer
        </button>
      </div>
    </form>
  );
}

/** Goes to the first field that is not right, once it is marked. */
function focusFault(form: HTMLFormElement): void {
  requestAnimationFrame(() => form.querySelector<HTMLElement>('[aria-invalid=true]')?.focus());
}

function DoubtFacts({ wait }: { readonly wait: Wait }): JSX.Element {
  // Its deadline says nothing: a doubt is opened when nobody is in the effect any more.
  const { key } = (wait.metadata ?? {}) as { readonly key?: string };
  return (
    <div class="stack small">
      {wait.prompt !== undefined && (
        <p>
          <LongText text={wait.prompt} max={600} />
        </p>
      )}
      <p class="quiet">Look where it acts, then decide. Nothing is done again until you do.</p>
      <dl class="facts">
        <dt>acts on</dt>
        <dd>
          <a class="linked" href={linkToRun(wait.runId, { tab: 'state' })}>
            the state as it is
          </a>
        </dd>
        {wait.openedAt !== undefined && (
          <>
            <dt>since</dt>
            <dd>
              <When at={wait.openedAt} />
            </dd>
          </>
        )}
        {key !== undefined && (
          <>
            <dt>key</dt>
            <dd>
              <code class="foreign">{key}</code>
            </dd>
          </>
        )}
      </dl>
    </div>
  );
}

const decisions = {
  happened: { title: 'It happened', does: 'It is recorded as done, and the run goes on behind it.' },
  'run again': { title: 'Run it again', does: 'It is begun again, under the same key.' },
  fail: { title: 'Let it fail', does: 'It counts as failed, as if it had said so.' },
} as const;
type Decision = keyof typeof decisions;

interface DoubtProps extends AnswersProps {
  readonly decision: Decision | undefined;
  readonly onDecide: (decision: Decision) => void;
}

/** The three answers to a doubt, each with what would follow. */
function DoubtAnswers({ wait, isBusy, answer, decision, onDecide }: DoubtProps): JSX.Element {
  const [output, setOutput] = useState<unknown>();
  const value = decision === 'happened' && output !== undefined ? { decision, output } : decision;
  return (
    <>
      <div class="decisions" role="group" aria-label="Decision">
        {(Object.keys(decisions) as Decision[]).map((name) => (
          <button type="button" aria-pressed={name === decision} onClick={() => onDecide(name)}>
            <strong>{decisions[name].title}</strong>
            <span class="quiet small">{decisions[name].does}</span>
          </button>
        ))}
      </div>
      {decision === 'happened' && (
        <div class="form-field">
          <label>What it gave, as JSON: later nodes get it as its output</label>
          <JsonInput aria-label="What it gave" value={output} onChange={setOutput} placeholder="null" />
          {output === undefined && <p class="quiet small">Left out, it is recorded as empty.</p>}
        </div>
      )}
      {decision !== undefined && (
        <>
          <WhatFollows runId={wait.runId} waitId={wait.waitId} decision={decision} />
          <div>
            <button
              type="button"
              class={`button ${decision === 'run again' ? 'danger' : 'primary'}`}
              disabled={isBusy}
              onClick={() => answer(value)}
            >
              {decisions[decision].title}
            </button>
          </div>
        </>
      )}
    </>
  );
}

function WhatFollows({
  runId,
  waitId,
  decision,
}: {
  readonly runId: string;
  readonly waitId: string;
  readonly decision: Decision;
}): JSX.Element | null {
  const { data, problem } = useLoaded<Preview>(`${placeOf(runId)}/preview`, {
    body: { answer: { [waitId]: decision } },
  });
  if (problem !== undefined)
    return <p class="quiet small foreign">{`What follows is not known: ${problem.message}`}</p>;
  return data === undefined ? null : <PreviewRows preview={data} only="what moves" />;
}
