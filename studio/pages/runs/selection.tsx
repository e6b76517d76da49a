/** Runs that are chosen, and what can be done with them at once. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { bodyOf, wordsOf, type RunFilter } from '../../data/run-filter.ts';
import { nothingChosen, type Selection } from '../../data/selection.ts';
import type { ListedRun } from '../../data/types.ts';
import { goTo, linkWith, readParam } from '../../url.ts';
import { count, countOf } from '../../words.ts';
import { BulkDialog, BulkProgress, type BulkRequest } from './bulk.tsx';

const actions = [
  ['cancel', 'Cancel'],
  ['resume', 'Resume'],
  ['label', 'Label'],
  ['rm', 'Remove'],
] as const;

interface SelectionProps {
  readonly filter: RunFilter;
  readonly isFiltered: boolean;
  readonly runs: readonly ListedRun[];
  readonly hasMore: boolean;
  readonly selection: Selection;
  readonly onChange: (selection: Selection) => void;
  /** Called when many runs were changed. */
  readonly onDone: () => void;
}

export function SelectionBar(props: SelectionProps): JSX.Element {
  const { filter, isFiltered, runs, hasMore, selection, onChange, onDone } = props;
  const { ids, isAll } = selection;
  const [request, setRequest] = useState<BulkRequest>();
  const bulk = readParam('bulk');
  const begin = (action: BulkRequest['action']): void => {
    if (isAll) return setRequest({ action, body: bodyOf(filter), words: wordsOf(filter) });
    // Each has to stand still as it was seen.
    const status = [...new Set(runs.filter(({ runId }) => ids.has(runId)).map((run) => run.status))];
    return setRequest({ action, body: { runs: [...ids], status } });
  };
  const allWords = `all ${count(runs.length)}${hasMore ? '+' : ''} that match`;
  return (
    <>
      {ids.size > 0 && (
        <div class="selection row wrap" role="region" aria-label="Selected runs">
          <strong role="status">
            {isAll ? `All that match are selected` : `${countOf(ids.size, 'run')} selected`}
          </strong>
          {!isAll && isFiltered && ids.size < (hasMore ? Infinity : runs.length) && (
            <button
              type="button"
              class="link"
              onClick={() => onChange({ ids: new Set(runs.map(({ runId }) => runId)), isAll: true })}
            >
              {`Select ${allWords}`}
            </button>
          )}
          <span class="row push">
            {actions.map(([action, title]) => (
              <button type="button" class="button" onClick={() => begin(action)}>
                {title}
              </button>
            ))}
            <button type="button" class="button bare" onClick={() => onChange(nothingChosen)}>
              Clear
            </button>
          </span>
        </div>
      )}
      {request !== undefined && (
        <BulkDialog
          request={request}
          onClose={() => setRequest(undefined)}
          onBegun={(runId: string) => {
            setRequest(undefined);
            onChange(nothingChosen);
            goTo(linkWith({ bulk: runId }), { replaces: true });
          }}
        />
      )}
      {bulk !== undefined && (
        <BulkProgress
          runId={bulk}
          onDone={onDone}
          onClose={() => goTo(linkWith({ bulk: undefined }), { replaces: true })}
        />
      )}
    </>
  );
}
