/** Two runs side by side: how they ended, what differs in their states, which way each took, what each cost. */
import type { ComponentChildren, JSX } from 'preact';
import { encode, placeOf } from '../data/api.ts';
import { useLoaded } from '../data/query.ts';
import type { Difference, Standing, Story, Visit } from '../data/types.ts';
import { Awaited, Empty, now, RunName, Trouble, When } from '../parts/common.tsx';
import { Mark } from '../parts/icons.tsx';
import { Table } from '../parts/table.tsx';
import { Inline } from '../parts/value.tsx';
import { goTo, linkToRun, linkWith, readNumber, readParam } from '../url.ts';
import { bytes, cost, countOf, duration, nodeName, runWords } from '../words.ts';
import { GraphOf } from './run/graph-of.tsx';
import { toneOf } from './run/story-lines.ts';
import '../style/run.css';

const sides = ['a', 'b'] as const;
type Side = (typeof sides)[number];

const refOf = (runId: string, at: number | undefined): string =>
  at === undefined ? runId : `${JSON.stringify(runId)}@${at}`;

export function ComparePage(): JSX.Element {
  const ids = { a: readParam('a') ?? '', b: readParam('b') ?? '' };
  const ats = { a: readNumber('aAt'), b: readNumber('bAt') };
  const isReady = ids.a !== '' && ids.b !== '';
  const diff = useLoaded<Difference>(
    isReady ? `/diff?a=${encode(refOf(ids.a, ats.a))}&b=${encode(refOf(ids.b, ats.b))}` : undefined,
  );
  return (
    <div class="page">
      <header class="page-head">
        <h1>Compare</h1>
        <span class="quiet small">Two runs, or one at two moments.</span>
        <a class="button push" href={linkWith({ a: ids.b, b: ids.a, aAt: ats.b, bAt: ats.a })}>
          Swap
        </a>
      </header>
      <div class="compare">
        {sides.map((side) => (
          <Column side={side} runId={ids[side]} at={ats[side]} />
        ))}
      </div>
      {diff.problem !== undefined && <Trouble problem={diff.problem} onRetry={diff.reload} />}
      {isReady && diff.data === undefined && diff.problem === undefined && <Awaited lines={6} />}
      {diff.data !== undefined && (
        <>
          <Values difference={diff.data} />
          <Routes ids={ids} ats={ats} />
        </>
      )}
    </div>
  );
}

interface ColumnProps {
  readonly side: Side;
  readonly runId: string;
  readonly at: number | undefined;
}

function Column({ side, runId, at }: ColumnProps): JSX.Element {
  const { data, problem } = useLoaded<Standing>(runId === '' ? undefined : `/runs/${encode(runId)}`);
  const words =
    data && runWords({ ...data, isStopped: data.status === 'stopped', isHeld: false }, data.waits, now.value);
  const name = side === 'a' ? 'First run' : 'Second run';
  return (
    <section class="card" aria-label={name}>
      <div class="body stack">
        <label class="form-field">
          {name}
          <input
            class="field"
            value={runId}
            placeholder="id of a run"
            onChange={({ currentTarget }) =>
              goTo(linkWith({ [side]: currentTarget.value.trim(), [`${side}At`]: undefined }))
            }
          />
        </label>
        {problem !== undefined && <Trouble problem={problem} />}
        {data !== undefined && words !== undefined && (
          <>
            <p class="row wrap" data-tone={words.tone}>
              <Mark tone={words.tone} />
              <a class="linked" href={linkToRun(runId, { at })}>
                <RunName id={runId} />
              </a>
              <span class="toned small">{words.text}</span>
              {at !== undefined && <span class="badge">{`at ${at}`}</span>}
            </p>
            <dl class="facts">
              <dt>graph</dt>
              <dd class="foreign">{data.graphId}</dd>
              <dt>started</dt>
              <dd>
                <When at={data.createdAt} form="clock" />
              </dd>
              <dt>took</dt>
              <dd>{duration(data.updatedAt - data.createdAt)}</dd>
              <dt>spent</dt>
              <dd>{cost(data.spent) ?? 'nothing'}</dd>
              {data.parent !== undefined && (
                <>
                  <dt>forked from</dt>
                  <dd>
                    <a class="linked foreign" href={linkToRun(data.parent.runId, { at: data.parent.seq })}>
                      {`${data.parent.runId}@${data.parent.seq}`}
                    </a>
                  </dd>
                </>
              )}
            </dl>
            <GraphOf key={runId} runId={runId} at={at} />
          </>
        )}
      </div>
    </section>
  );
}

/** Differences that are shown. */
const valuesMax = 200;

function Values({ difference: { values } }: { readonly difference: Difference }): JSX.Element {
  return (
    <section class="card" aria-label="State and outputs">
      <div class="body stack">
        <h2>{values.length === 0 ? 'State and outputs are the same' : `${countOf(values.length, 'value')} differ`}</h2>
        {values.length > 0 && (
          <Table
            title="What differs"
            isComparing
            rows={values.slice(0, valuesMax)}
            columns={[
              { title: 'Value', isHead: true, cell: ({ path }) => <code class="foreign">{path.join('.')}</code> },
              { title: 'First', cell: ({ before, beforeBytes }) => <Cell value={before} sizeBytes={beforeBytes} /> },
              { title: 'Second', cell: ({ after, afterBytes }) => <Cell value={after} sizeBytes={afterBytes} /> },
            ]}
          />
        )}
      </div>
    </section>
  );
}

function Cell({ value, sizeBytes }: { readonly value: unknown; readonly sizeBytes?: number | undefined }): JSX.Element {
  if (sizeBytes !== undefined) return <span class="quiet">{`large, ${bytes(sizeBytes)}`}</span>;
  return <Inline value={value} />;
}

interface RoutesProps {
  readonly ids: Readonly<Record<Side, string>>;
  readonly ats: Readonly<Record<Side, number | undefined>>;
}

function useRoute(runId: string, at: number | undefined): readonly Visit[] | undefined {
  const { data } = useLoaded<Story>(`${placeOf(runId, at ?? 'head')}/story?limit=500`);
  return data?.entries.filter(
    (entry): entry is Visit => entry.kind === 'visit' && !(entry.path.at(-1) ?? '').startsWith('__'),
  );
}

const nameOf = ({ path, visit }: Visit): string => `${nodeName(path)}${visit > 1 ? ` ×${visit}` : ''}`;

/** The nodes that each visited, a row for each, with how it ended there and what it cost. */
function Routes({ ids, ats }: RoutesProps): JSX.Element {
  const [a, b] = [useRoute(ids.a, ats.a), useRoute(ids.b, ats.b)];
  if (a === undefined || b === undefined) return <Awaited lines={4} />;
  const byName = (visits: readonly Visit[]): ReadonlyMap<string, Visit> =>
    new Map(visits.map((visit) => [nameOf(visit), visit]));
  const [first, second] = [byName(a), byName(b)];
  const names = [...new Set([...first.keys(), ...second.keys()])];
  return (
    <section class="card" aria-label="Route">
      <div class="body stack">
        <h2>Route</h2>
        {names.length === 0 && <Empty title="Neither has visited a node" children={null} />}
        <Table
          title="Nodes of each"
          isComparing
          rows={names}
          columns={[
            { title: 'Node', isHead: true, cell: (name) => <span class="foreign">{name}</span> },
            { title: 'First', cell: (name) => visitCell(first.get(name)) },
            { title: 'Second', cell: (name) => visitCell(second.get(name)) },
          ]}
        />
      </div>
    </section>
  );
}

function visitCell(visit: Visit | undefined): ComponentChildren {
  if (visit === undefined) return <span class="quiet">not visited</span>;
  const tone = toneOf(visit);
  const facts = [visit.durationMs === undefined ? '' : duration(visit.durationMs), cost(visit.spent) ?? ''];
  return (
    <span class="row wrap" data-tone={tone}>
      <Mark tone={tone} size={14} />
      <span class="toned">{visit.takenFrom === undefined ? visit.status : 'from the record'}</span>
      <span class="quiet">{facts.filter(Boolean).join(' · ')}</span>
    </span>
  );
}
