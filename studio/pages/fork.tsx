/** Forks a run at a moment: what is changed on one side, what would happen on the other, before anything does. */
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { may, placeOf, post, Problem, send } from '../data/api.ts';
import { differences } from '../data/differences.ts';
import { awaitFirst, useLoaded } from '../data/query.ts';
import type { Checkpoint, JsonSchema, Preview, Question, Story, Structure } from '../data/types.ts';
import { Awaited, Copy, Trouble } from '../parts/common.tsx';
import { Field, JsonInput } from '../parts/form.tsx';
import { Icon, Mark } from '../parts/icons.tsx';
import { actsAgain, PreviewRows } from '../parts/preview.tsx';
import { Inline, LongText } from '../parts/value.tsx';
import { goTo, linkToRun, linkWith, readNumber, readParam } from '../url.ts';
import { command, nodeName } from '../words.ts';
import '../style/run.css';

type Values = Readonly<Record<string, unknown>>;

/** What a fork has otherwise. */
interface Changed {
  readonly set: Values;
  readonly answer: Values;
  /** Whether it cannot act. */
  readonly noEffects: boolean;
}

interface Previewed {
  readonly preview?: Preview;
  /** Names what was seen: a fork is refused if by then something else would happen. */
  readonly etag?: string;
  readonly problem?: Problem;
  readonly isLoading: boolean;
}

const settleMs = 200;

function usePreview(place: string, changed: Changed, round: number): Previewed {
  const [previewed, setPreviewed] = useState<Previewed>({ isLoading: true });
  const body = JSON.stringify({ ...changed, asFork: true });
  const answered = useRef<() => void>(undefined);
  useEffect(() => () => answered.current?.(), []);
  useEffect(() => {
    answered.current ??= awaitFirst();
    const leaving = new AbortController();
    setPreviewed(({ preview }) => ({ isLoading: true, ...(preview !== undefined && { preview }) }));
    const look = async (): Promise<void> => {
      try {
        const response = await send(`${place}/preview`, {
          method: 'POST',
          body: JSON.parse(body) as unknown,
          signal: leaving.signal,
        });
        const etag = response.headers.get('etag');
        setPreviewed({ preview: (await response.json()) as Preview, isLoading: false, ...(etag !== null && { etag }) });
      } catch (error) {
        if (!leaving.signal.aborted && error instanceof Problem) setPreviewed({ problem: error, isLoading: false });
      }
      if (!leaving.signal.aborted) answered.current?.();
    };
    // Each letter that is typed changes it.
    const timer = setTimeout(() => void look(), settleMs);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [place, body, round]);
  return previewed;
}

export function ForkPage(): JSX.Element {
  const runId = readParam('id') ?? '';
  const at = readNumber('at') ?? 0;
  const place = placeOf(runId, at);
  const checkpoint = useLoaded<Checkpoint>(place);
  const structure = useLoaded<{ readonly structure: Structure }>(`${placeOf(runId)}/structure`);
  const story = useLoaded<Story>(`${placeOf(runId)}/story`);
  const problem = checkpoint.problem ?? story.problem;
  return (
    <div class="page">
      <header class="page-head">
        <a class="quiet small foreign" href={linkToRun(runId, { at })}>
          {runId}
        </a>
        <span class="quiet small" aria-hidden="true">
          /
        </span>
        <h1>{`Fork at ${at}`}</h1>
        <span class="quiet small">A new run goes on from here. The original stays as it is.</span>
      </header>
      {problem !== undefined && <Trouble problem={problem} />}
      {checkpoint.data === undefined || story.data === undefined ? (
        problem === undefined && <Awaited lines={8} />
      ) : (
        <ForkForm
          key={place}
          runId={runId}
          at={at}
          head={story.data.seq}
          state={checkpoint.data.view.state}
          schema={structure.data?.structure.schemas?.input?.json}
          story={story.data}
        />
      )}
    </div>
  );
}

interface FormProps {
  readonly runId: string;
  readonly at: number;
  readonly head: number;
  readonly state: Values;
  readonly schema: JsonSchema | undefined;
  readonly story: Story;
}

function ForkForm({ runId, at, head, state, schema, story }: FormProps): JSX.Element {
  const [input, setInput] = useState<unknown>(state['input']);
  const [more, setMore] = useState<readonly (readonly [path: string, value: unknown])[]>([]);
  const [answer, setAnswer] = useState<Values>({});
  const [noEffects, setNoEffects] = useState(readParam('noEffects') === '1');
  const [round, setRound] = useState(0);
  const [confirmed, setConfirmed] = useState<string>();
  const [failed, setFailed] = useState<Problem>();
  const [isBusy, setBusy] = useState(false);
  const changes = [
    ...differences(state['input'], input, 'input'),
    ...more.filter(([path, value]) => path !== '' && value !== undefined),
  ];
  const changedCount = changes.length + Object.keys(answer).length;
  const set = Object.fromEntries(changes);
  const place = placeOf(runId, at);
  const { preview, etag, problem, isLoading } = usePreview(place, { set, answer, noEffects }, round);
  const begun = useMemo(
    () => new Set(story.entries.flatMap((entry) => (entry.kind === 'visit' ? [entry.path.join('/')] : []))),
    [story],
  );
  const again = preview === undefined || noEffects ? [] : actsAgain(preview, begun);
  const names = again.map(({ node }) => nodeName(node)).join(', ');
  const fork = (): void => {
    setBusy(true);
    setFailed(undefined);
    const options = etag === undefined ? {} : { headers: { 'if-match': etag } };
    post<{ readonly fork: { readonly runId: string } }>(
      `${place}/forks`,
      { set, answer, noEffects, run: true },
      options,
    ).then(
      (made) => goTo(linkToRun(made.fork.runId)),
      (error: Problem) => {
        setBusy(false);
        setFailed(error);
        // What was seen is what starts: if something else would, it is shown first.
        if (error.status === 412) {
          setConfirmed(undefined);
          setRound(round + 1);
        }
      },
    );
  };
  const words = wordsOf(changes, answer, noEffects);
  return (
    <div class="fork-columns">
      <div class="stack">
        <Point runId={runId} at={at} head={head} />
        <section class="card">
          <div class="body stack">
            <h2>Input</h2>
            {schema?.properties === undefined ? (
              <JsonInput aria-label="Input" value={input} onChange={setInput} />
            ) : (
              <Field schema={schema} value={input} onChange={setInput} />
            )}
          </div>
        </section>
        <OtherAnswers story={story} answer={answer} onChange={setAnswer} />
        <OtherValues state={state} values={more} onChange={setMore} />
      </div>
      <section class="card beside" aria-label="What would happen" aria-busy={isLoading}>
        <div class="body stack">
          <div class="row">
            <h2>What would happen</h2>
            <span class="quiet small push">
              {changedCount === 0 ? 'nothing is changed' : `${changedCount} changed`}
            </span>
          </div>
          {problem !== undefined && <Trouble problem={problem} onRetry={() => setRound(round + 1)} />}
          {preview === undefined ? (
            problem === undefined && <Awaited lines={6} />
          ) : (
            <PreviewRows preview={preview} {...(!noEffects && { begun })} />
          )}
          {preview?.earlier !== undefined && (
            <p class="note small foreign">{`It goes on from ${preview.seq}, before ${preview.earlier.insteadOf.seq}: ${preview.earlier.because}`}</p>
          )}
          <CannotAct isChecked={noEffects} onChange={setNoEffects} />
          {again.length > 0 && (
            <Confirmation
              names={names}
              isChecked={confirmed === names}
              onChange={(isChecked) => setConfirmed(isChecked ? names : undefined)}
            />
          )}
          {failed !== undefined &&
            (failed.status === 412 ? (
              <p class="note row" data-tone="waiting" role="alert">
                <Mark tone="waiting" />
                What would happen has changed since you looked. This is how it is now.
              </p>
            ) : (
              <Trouble problem={failed} />
            ))}
          <div class="row wrap">
            <button
              type="button"
              class="button primary"
              disabled={
                isBusy ||
                isLoading ||
                preview === undefined ||
                !may('fork') ||
                (again.length > 0 && confirmed !== names)
              }
              onClick={fork}
            >
              <Icon name="fork" size={14} />
              Fork and run
            </button>
            {!may('fork') && <span class="quiet small">You may look, and not fork: that needs the scope fork.</span>}
          </div>
          <Copy text={command('fork', `${runId}@${at}`, ...words, '--run')} />
        </div>
      </section>
    </div>
  );
}

/** The same at the command line. */
function wordsOf(
  changes: readonly (readonly [path: string, value: unknown])[],
  answer: Values,
  noEffects: boolean,
): readonly string[] {
  return [
    ...changes.flatMap(([path, value]) => ['--set', `${path}=${JSON.stringify(value)}`]),
    ...Object.entries(answer).flatMap(([name, value]) => ['--answer', `${name}=${String(value)}`]),
    ...(noEffects ? ['--no-effects'] : []),
  ];
}

/** Makes a fork that cannot act. */
function CannotAct({ isChecked, onChange }: Omit<ConfirmationProps, 'names'>): JSX.Element {
  return (
    <label class="row small">
      <input
        type="checkbox"
        class="box-field"
        checked={isChecked}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
      It cannot act: effects and reads come from the record, models are asked, all else is refused.
    </label>
  );
}

interface ConfirmationProps {
  readonly names: string;
  readonly isChecked: boolean;
  readonly onChange: (isChecked: boolean) => void;
}

/** What acts outside a second time needs a word of its own, by its names. */
function Confirmation({ names, isChecked, onChange }: ConfirmationProps): JSX.Element {
  return (
    <label class="note row" data-tone="failed">
      <input
        type="checkbox"
        class="box-field"
        checked={isChecked}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
      <span class="foreign">{`Yes, let ${names} act again, outside, a second time.`}</span>
    </label>
  );
}

/** The checkpoint from which it goes on. */
function Point({ runId, at, head }: Pick<FormProps, 'runId' | 'at' | 'head'>): JSX.Element {
  const move = (to: number): void => goTo(linkWith({ at: Math.min(head, Math.max(0, to)) }), { replaces: true });
  return (
    <div class="row wrap small">
      <label for="point">Goes on from checkpoint</label>
      <input
        id="point"
        class="field point"
        type="number"
        min={0}
        max={head}
        value={at}
        onChange={({ currentTarget }) => move(currentTarget.valueAsNumber || 0)}
      />
      <span class="quiet">{`of ${head}`}</span>
      <a class="linked push" href={linkToRun(runId, { at, tab: 'state' })}>
        See the state there
      </a>
    </div>
  );
}

interface Answered extends Question {
  readonly node: readonly string[];
}

/** The recorded answers, to be replaced by others. */
function OtherAnswers({
  story,
  answer,
  onChange,
}: {
  readonly story: Story;
  readonly answer: Values;
  readonly onChange: (answer: Values) => void;
}): JSX.Element | null {
  const answered = useMemo(() => {
    const visits = story.entries.filter((entry) => entry.kind === 'visit');
    const all = visits.flatMap(({ path, questions }) =>
      questions.map((question): Answered => ({ ...question, node: path })),
    );
    const answered = all.filter(
      ({ kind, answer: value, isChanged }) => kind === 'question' && value !== undefined && isChanged !== true,
    );
    return [...new Map(answered.map((question) => [question.node.join('/'), question])).values()];
  }, [story]);
  if (answered.length === 0) return null;
  return (
    <section class="card">
      <div class="body stack">
        <h2>Answers</h2>
        {answered.slice(0, 30).map(({ node, prompt, name, answer: value, by }) => {
          const key = node.join('/');
          return (
            <div class="form-field" key={key}>
              <p class="small">
                <LongText text={prompt ?? name} max={240} />
              </p>
              <p class="small quiet">
                <span class="foreign">{`${nodeName(node)} was answered `}</span>
                <Inline value={value} />
                {by !== undefined && ` by ${by}`}
              </p>
              <input
                class="field"
                aria-label={`Another answer for ${key}`}
                placeholder="another answer"
                value={typeof answer[key] === 'string' ? answer[key] : ''}
                onInput={({ currentTarget }) => {
                  const { [key]: _old, ...rest } = answer;
                  onChange(currentTarget.value === '' ? rest : { ...rest, [key]: currentTarget.value });
                }}
              />
            </div>
          );
        })}
      </div>
    </section>
  );
}

interface OtherValuesProps {
  readonly state: Values;
  readonly values: readonly (readonly [string, unknown])[];
  readonly onChange: (values: readonly (readonly [string, unknown])[]) => void;
}

/** Any other value of the state. */
function OtherValues({ state, values, onChange }: OtherValuesProps): JSX.Element {
  const paths = ['scratch', 'artifacts', 'diagnostics', 'outputs'].flatMap((area) =>
    Object.keys((state[area] ?? {}) as Values).map((key) => `${area}.${key}`),
  );
  const valueAt = (path: string): unknown =>
    path.split('.').reduce<unknown>((at, key) => (at as Values | undefined)?.[key], state);
  return (
    <section class="card">
      <div class="body stack">
        <div class="row">
          <h2>Other values</h2>
          <button type="button" class="button push" onClick={() => onChange([...values, ['', undefined]])}>
            <Icon name="plus" size={14} />
            Add
          </button>
        </div>
        {values.length === 0 && (
          <p class="quiet small">Outputs of nodes and values of the state can be set to what they should have been.</p>
        )}
        {values.map(([path, value], index) => {
          const change = (next: readonly [string, unknown]): void =>
            onChange(values.map((one, place) => (place === index ? next : one)));
          return (
            <div class="form-field" key={index}>
              <div class="row">
                <select
                  class="field"
                  aria-label="Which value"
                  value={path}
                  onChange={({ currentTarget }) => change([currentTarget.value, valueAt(currentTarget.value)])}
                >
                  <option value="">choose…</option>
                  {paths.map((one) => (
                    <option value={one}>{one}</option>
                  ))}
                </select>
                <button
                  type="button"
                  class="button bare icon"
                  aria-label="Remove"
                  onClick={() => onChange(values.filter((_, place) => place !== index))}
                >
                  <Icon name="close" size={14} />
                </button>
              </div>
              {path !== '' && (
                <JsonInput
                  key={path}
                  aria-label={`Value of ${path}`}
                  value={value}
                  onChange={(next) => change([path, next])}
                />
              )}
            </div>
          );
        })}
      </div>
    </section>
  );
}
