/** One answer to several questions that show the same, each of which was selected. Each is answered by itself, so seats are checked each. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { encode, post, type Problem } from '../data/api.ts';
import { keyOfWait } from '../data/alike.ts';
import type { Wait } from '../data/types.ts';
import { linkToRun } from '../url.ts';
import { countOf, inline } from '../words.ts';
import { Answers, questionOf } from './answer.tsx';
import { announced, RunName } from './common.tsx';
import { LongText } from './value.tsx';

interface AlikeProps {
  /** At least two, all alike. */
  readonly waits: readonly Wait[];
  readonly onClear: () => void;
  readonly onDone: () => void;
}

interface Refused {
  readonly wait: Wait;
  readonly problem: Problem;
}

export function AnswerAlike({ waits, onClear, onDone }: AlikeProps): JSX.Element | null {
  const [isBusy, setBusy] = useState(false);
  const [given, setGiven] = useState<{ readonly done: number; readonly value: unknown }>();
  const [refused, setRefused] = useState<readonly Refused[]>([]);
  const [first] = waits;
  const answer = async (value: unknown): Promise<void> => {
    setBusy(true);
    const failed: Refused[] = [];
    // One after the other: what one answer changes is seen by the next.
    for (const [index, wait] of waits.entries()) {
      await post(`/runs/${encode(wait.runId)}/answer`, { wait: wait.waitId, value }).catch((problem: Problem) =>
        failed.push({ wait, problem }),
      );
      setGiven({ done: index + 1 - failed.length, value });
    }
    announced.value = `${countOf(waits.length - failed.length, 'question')} answered`;
    setRefused(failed);
    setBusy(false);
    onDone();
  };
  if (first === undefined) return null;
  const isOver = given !== undefined && !isBusy;
  return (
    <section class="card answer alike" data-tone="waiting" aria-label="Answer alike">
      <div class="body stack">
        <div class="row wrap small">
          <strong>{`Answer ${countOf(waits.length, 'question')} alike`}</strong>
          <button type="button" class="button bare push" onClick={onClear}>
            {isOver ? 'Close' : 'Clear'}
          </button>
        </div>
        <h2 class="question">
          <LongText text={questionOf(first)} max={600} />
        </h2>
        <ul class="row wrap small" aria-label="Of these runs">
          {waits.map(({ runId }) => (
            <li class="badge">
              <RunName id={runId} />
            </li>
          ))}
        </ul>
        {given === undefined ? (
          <Answers wait={first} isBusy={isBusy} answer={(value) => void answer(value)} />
        ) : (
          <p role="status">{`${given.done} of ${waits.length} answered: ${inline(given.value)}`}</p>
        )}
        {refused.map(({ wait, problem }) => (
          <p class="small toned" data-tone="failed" key={keyOfWait(wait)}>
            <a class="linked foreign" href={linkToRun(wait.runId)}>
              {wait.runId}
            </a>
            {`: ${problem.message}`}
          </p>
        ))}
      </div>
    </section>
  );
}
