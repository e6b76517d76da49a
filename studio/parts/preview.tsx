/** What a fork or a resume would do, node by node, before it is done. */
import type { JSX } from 'preact';
import type { Preview, PreviewRow } from '../data/types.ts';
import { cost, countOf, nodeName, type Tone } from '../words.ts';
import { Mark } from './icons.tsx';

const predictions: Readonly<Record<string, { readonly text: string; readonly tone: Tone; readonly rank: number }>> = {
  'in doubt': { text: 'in doubt', tone: 'doubt', rank: 1 },
  fails: { text: 'fails', tone: 'failed', rank: 1 },
  'runs again': { text: 'runs again', tone: 'running', rank: 2 },
  refused: { text: 'is refused', tone: 'doubt', rank: 1 },
  runs: { text: 'runs', tone: 'running', rank: 2 },
  asks: { text: 'asks', tone: 'waiting', rank: 3 },
  unknown: { text: 'open', tone: 'queued', rank: 4 },
  replayed: { text: 'replayed from the record', tone: 'completed', rank: 5 },
  reused: { text: 'replayed from the record', tone: 'completed', rank: 5 },
  restored: { text: 'restored', tone: 'idle', rank: 6 },
};

const isActing = ({ effect }: PreviewRow): boolean => effect === 'external' || effect === 'write';

/** Nodes, by their paths, that had begun in the run that is forked. */
export type Begun = ReadonlySet<string>;

/** Whether it had begun in the run that is forked, and would begin once more: for sure, or if what comes before leads to it. */
const isAgain = (row: PreviewRow, begun: Begun): boolean =>
  row.prediction === 'runs again' || (row.prediction === 'unknown' && begun.has(row.node.join('/')));

/** Nodes that would act on the world, and did so already in the run that is forked. */
export function actsAgain({ rows }: Preview, begun: Begun): readonly PreviewRow[] {
  return rows.filter((row) => isActing(row) && isAgain(row, begun));
}

function wordsOf(row: PreviewRow, begun: Begun): { readonly text: string; readonly tone: Tone; readonly rank: number } {
  const known = predictions[row.prediction] ?? { text: row.prediction, tone: 'queued', rank: 4 };
  if (!isActing(row)) return known;
  if (row.prediction === 'runs again') return { text: 'acts again', tone: 'failed', rank: 0 };
  if (isAgain(row, begun)) return { text: 'may act again', tone: 'failed', rank: 0 };
  return row.prediction === 'runs' ? { text: 'acts', tone: 'failed', rank: 1 } : known;
}

function whyOf({ prediction, because, callsOnRecord = 0 }: PreviewRow): string {
  if (prediction === 'unknown') return `depends on ${because ?? 'what comes before'}`;
  if (prediction === 'replayed' || prediction === 'reused') return because === undefined ? '' : `from ${because}`;
  if (callsOnRecord > 0) return `${countOf(callsOnRecord, 'call')} on record`;
  return because ?? '';
}

const none: Begun = new Set();

/** @param only - `what moves`: without what stays as it was */
export function PreviewRows({
  preview,
  only,
  begun = none,
}: {
  readonly preview: Preview;
  readonly begun?: Begun;
  readonly only?: 'what moves';
}): JSX.Element {
  const rows = preview.rows.filter(({ prediction }) => only === undefined || prediction !== 'restored');
  const again = cost(preview.cost.again);
  const saved = cost(preview.cost.saved);
  return (
    <div class="stack">
      <ul class="preview" aria-label="What would happen">
        {rows.slice(0, 200).map((row) => {
          const { text, tone } = wordsOf(row, begun);
          const name = nodeName(row.node);
          return (
            <li key={`${name} ${row.visit}`} data-tone={tone}>
              <Mark tone={tone} />
              <span class="foreign name">
                {name}
                {row.visit > 1 && <span class="quiet">{` ×${row.visit}`}</span>}
              </span>
              <span class="toned">{text}</span>
              <span class="quiet tiny foreign why">{whyOf(row)}</span>
              <span class="quiet tiny number">{cost(row.cost)}</span>
            </li>
          );
        })}
        {rows.length > 200 && <li class="quiet small">{`200 of ${rows.length} shown`}</li>}
        {rows.length === 0 && <li class="quiet small">Nothing runs.</li>}
      </ul>
      {(again !== undefined || saved !== undefined) && (
        <p class="quiet small">
          {again !== undefined && `Spent again, as last time: ${again}. `}
          {saved !== undefined && `Saved, since it is on record: ${saved}.`}
        </p>
      )}
    </div>
  );
}
