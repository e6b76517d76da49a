/** A run on one line: what it is, how it stands and why, what it cost, how long ago. */
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { overviews, wantOverview } from '../../data/overviews.ts';
import type { ListedRun } from '../../data/types.ts';
import { RunName, When } from '../../parts/common.tsx';
import { Icon, Mark } from '../../parts/icons.tsx';
import { linkToRun } from '../../url.ts';
import { cost, costShort, count, type StatusWords } from '../../words.ts';

/** Chips that fit. */
const labelsMax = 3;

export interface RowProps {
  readonly run: ListedRun;
  readonly words: StatusWords;
  readonly isChosen: boolean;
  /** Absent: rows cannot be chosen. */
  readonly onChoose?: (isChosen: boolean) => void;
}

export function Row({ run, words, isChosen, onChoose }: RowProps): JSX.Element {
  const { tone, text, detail } = words;
  const spent = overviews.value.get(run.runId)?.spent;
  useEffect(() => wantOverview(run), [run.runId, run.head]);
  const labels = Object.entries(run.labels ?? {});
  return (
    <div class={`run-line${isChosen ? ' chosen' : ''}`}>
      {onChoose !== undefined && (
        <label class="chooser">
          <input
            type="checkbox"
            checked={isChosen}
            aria-label={`Select ${run.runId}`}
            onChange={({ currentTarget }) => onChoose(currentTarget.checked)}
          />
        </label>
      )}
      <a class="run-row" href={linkToRun(run.runId)} data-tone={tone}>
        <Mark tone={tone} />
        <span class="name row">
          {run.title === undefined ? (
            <RunName id={run.runId} />
          ) : (
            <span class="cut" title={`${run.title}\n${run.runId}`}>
              {run.title}
            </span>
          )}
          {labels.slice(0, labelsMax).map(([name, value]) => (
            <span class="badge cut label" title={`${name}=${value}`}>
              {value}
            </span>
          ))}
        </span>
        <span class="cut words" title={detail === undefined ? text : `${text}: ${detail}`}>
          <span class="toned">{text}</span>
          {detail !== undefined && <span class="quiet detail">{detail}</span>}
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
        <span class="quiet number spent" title={cost(spent)}>
          {costShort(spent)}
        </span>
        <span class="quiet number steps" title={`${run.head + 1} checkpoints`}>
          {count(run.head)}
          <span class="hidden-text"> checkpoints</span>
        </span>
        <span class="quiet number age">
          <When at={run.createdAt} />
        </span>
      </a>
    </div>
  );
}
