/** The state at a moment, and the checkpoints one by one. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ask, encode, logOf, placeOf } from '../../data/api.ts';
import { useLoaded } from '../../data/query.ts';
import type { Log, LogEntry } from '../../data/types.ts';
import { Awaited, Copy, Trouble, When } from '../../parts/common.tsx';
import { Icon } from '../../parts/icons.tsx';
import { Changes, Tree } from '../../parts/value.tsx';
import { VirtualList } from '../../parts/virtual-list.tsx';
import { goTo, linkTo, linkToRun, linkWith, readParam } from '../../url.ts';
import { bytes, changeWords, command, nodeName } from '../../words.ts';
import type { Moment } from './moment.ts';

interface BlamePart {
  readonly path: readonly string[];
  readonly runId: string;
  readonly seq: number;
  readonly at: number;
  readonly kind: string;
  readonly node?: readonly string[];
}

export function StatePanel({ moment }: { readonly moment: Moment }): JSX.Element {
  const { checkpoint, runId, seq } = moment;
  const picked = readParam('blame');
  const source = useBlame(runId, seq, picked);
  if (checkpoint === undefined) return <Awaited lines={8} />;
  const { values } = checkpoint.recorded;
  const changed = new Set(values.map(({ path }) => path.join('.')));
  return (
    <div class="stack">
      <section>
        <h2>{`What checkpoint ${checkpoint.seq} changed`}</h2>
        <p class="quiet small foreign">{checkpoint.change.map(changeWords).join(', ')}</p>
        {values.length === 0 ? <p class="quiet small">No value.</p> : <Changes changes={values} />}
      </section>
      <section>
        <div class="row wrap">
          <h2>The state</h2>
          <span class="quiet small">a name tells where its value came from</span>
          <span class="push">
            <Copy text={command('state', `${runId}@${seq}`)} />
          </span>
        </div>
        {source !== undefined && (
          <p class="note row wrap" role="status">
            <code class="foreign">{picked}</code>
            {source}
          </p>
        )}
        <Tree
          value={checkpoint.view.state}
          changed={changed}
          onPick={(path) => goTo(linkWith({ blame: path.join('.') }), { replaces: true })}
        />
      </section>
    </div>
  );
}

/** Where a value was written, as a line. */
function useBlame(runId: string, seq: number, path: string | undefined): JSX.Element | string | undefined {
  const { data, problem } = useLoaded<{ readonly parts: readonly BlamePart[] }>(
    path === undefined ? undefined : `${placeOf(runId, seq)}/blame?path=${encode(path)}`,
  );
  if (path === undefined) return undefined;
  if (problem !== undefined) return problem.message;
  const part = data?.parts[0];
  if (data === undefined) return 'looking…';
  if (part === undefined) return 'is there since before the history that is kept';
  return (
    <span class="foreign">
      {part.node === undefined ? `was given at the ${part.kind}` : `was set by ${nodeName(part.node)}`}
      {' at '}
      <a
        class="linked"
        href={part.runId === runId ? linkWith({ at: part.seq }) : linkToRun(part.runId, { at: part.seq })}
      >
        {part.runId === runId ? `checkpoint ${part.seq}` : `${part.runId}@${part.seq}`}
      </a>{' '}
      <When at={part.at} />
    </span>
  );
}

const logPage = 200;

/** All checkpoints, newest first, read on as one scrolls. */
export function HistoryPanel({ moment }: { readonly moment: Moment }): JSX.Element {
  const { runId, head, seq } = moment;
  const newest = useLoaded<Log>(`/runs/${encode(runId)}/checkpoints?limit=${logPage}`, {
    version: head,
    keepsOld: true,
  });
  const [older, setOlder] = useState<readonly LogEntry[]>([]);
  const first = newest.data?.entries ?? [];
  const entries = [...first, ...older.filter((entry) => entry.seq < (first.at(-1)?.seq ?? 0))];
  const next = (entries.at(-1)?.seq ?? 0) - 1;
  const loadMore = (): void => {
    if (next < 0 || newest.data === undefined) return;
    ask<Log>(`${logOf(runId, next)}?limit=500`)
      .then((log) =>
        setOlder((old) => [
          ...old,
          ...log.entries.filter((entry) => entry.seq < (old.at(-1)?.seq ?? Number.POSITIVE_INFINITY)),
        ]),
      )
      .catch(() => undefined);
  };
  if (newest.problem !== undefined) return <Trouble problem={newest.problem} onRetry={newest.reload} />;
  if (newest.data === undefined) return <Awaited lines={8} />;
  return (
    <div class="history">
      <VirtualList items={entries} keyOf={(entry) => String(entry.seq)} rowPx={34} label="Checkpoints" onEnd={loadMore}>
        {(entry) => {
          const words = entry.change.map(changeWords).join(', ');
          return (
            <a
              class="row small"
              href={linkWith({ at: entry.seq })}
              aria-current={entry.seq === seq ? 'true' : undefined}
            >
              <span class="number quiet">{entry.seq}</span>
              <span class="cut grow" title={words}>
                {words}
              </span>
              {entry.tags.map((tag) => (
                <span class="badge foreign">{tag}</span>
              ))}
              <span class="quiet tiny size">{bytes(entry.sizeBytes)}</span>
              <span class="quiet tiny">
                <When at={entry.at} form="clock" />
              </span>
            </a>
          );
        }}
      </VirtualList>
      <p class="row wrap small">
        <a class="linked row" href={linkTo('fork', { id: runId, at: seq })}>
          <Icon name="fork" size={13} />
          {`Fork at ${seq}`}
        </a>
        <Copy text={command('log', runId)} />
      </p>
    </div>
  );
}
