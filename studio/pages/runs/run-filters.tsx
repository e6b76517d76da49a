/** What the list of runs is narrowed down by: groups, statuses with their counts, and fields. All of it is in the address. */
import type { JSX } from 'preact';
import { useLoaded } from '../../data/query.ts';
import { filterNames, requestOf, statusesOf, views, type FilterName, type RunFilter } from '../../data/run-filter.ts';
import type { FailureGroup, ListedRun, StatusCount } from '../../data/types.ts';
import { ages, Filters, setFilter, TextFilter } from '../../parts/filters.tsx';
import { Icon, Mark } from '../../parts/icons.tsx';
import { goTo, linkWith, readParam } from '../../url.ts';
import { count, toneOfStatus } from '../../words.ts';
import { useState } from 'preact/hooks';

/** The graph of deliveries, which the list leaves out unless it is chosen. */
const deliveryGraphId = 'cairn:webhook';
const countMs = 5_000;

interface FiltersProps {
  readonly filter: RunFilter;
  readonly runs: readonly ListedRun[];
  readonly isNarrow: boolean;
}

export function RunFilters({ filter, runs, isNarrow }: FiltersProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <div class="filters">
        <nav class="choice" aria-label="Which runs">
          {Object.entries(views).map(([name, { title }]) => (
            <a
              href={linkWith({ view: name === 'all' ? undefined : name, status: undefined })}
              aria-current={name === filter.view && filter.statuses.length === 0 ? 'true' : undefined}
            >
              {title}
            </a>
          ))}
        </nav>
        <div class="search">
          <Icon name="search" size={14} />
          <input
            class="field"
            type="search"
            id="search"
            aria-label="Find a run"
            placeholder="Id, graph or label"
            value={readParam('q') ?? ''}
            onInput={({ currentTarget }) => setFilter('q', currentTarget.value)}
          />
        </div>
        {isNarrow && (
          <button type="button" class="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            Filter
          </button>
        )}
        {(!isNarrow || isOpen) && (
          <>
            <Filters graphs={[...runs.map(({ graphId }) => graphId), deliveryGraphId]} time="Started" />
            <FailureFilters filter={filter} />
          </>
        )}
      </div>
      <div class="chips" role="group" aria-label="Chosen">
        <StatusChips filter={filter} />
        {filterNames.map((name) => (
          <Chosen name={name} value={filter.values[name]} />
        ))}
      </div>
    </>
  );
}

/** Failed runs by their code and their node; what there is to choose is asked for when it is wanted. */
function FailureFilters({ filter }: Pick<FiltersProps, 'filter'>): JSX.Element {
  const [isWanted, setWanted] = useState(false);
  const { error: _, node: __, ...values } = filter.values;
  const request = requestOf({ ...filter, values }, ['failed']);
  const { data } = useLoaded<{ readonly groups?: readonly FailureGroup[] }>(
    isWanted ? `/runs?group=error&${request}` : undefined,
  );
  const codes = [...new Set(data?.groups?.map(({ code }) => code))];
  return (
    <>
      <span class="row" onFocusIn={() => setWanted(true)}>
        <TextFilter name="error" label="Error code" placeholder="error code" list="error-codes" />
        <datalist id="error-codes">
          {codes.map((code) => (
            <option value={code} />
          ))}
        </datalist>
      </span>
      <TextFilter name="node" label="Failed node" placeholder="failed node" />
    </>
  );
}

/** How many runs have each status; one is chosen, and others with it. */
function StatusChips({ filter }: Pick<FiltersProps, 'filter'>): JSX.Element {
  const ofView = views[filter.view].statuses as readonly string[];
  const request = requestOf(filter, []);
  const { data } = useLoaded<{ readonly counts?: readonly StatusCount[]; readonly hasMore: boolean }>(
    `/runs?group=status&${request}`,
    { everyMs: countMs, keepsOld: true },
  );
  const counts = new Map(data?.counts?.map((one) => [one.status, one.count]));
  const chosen = new Set(filter.statuses);
  const names = [...new Set([...counts.keys(), ...chosen])].filter(
    (name) => chosen.has(name) || ofView.length === 0 || ofView.includes(name),
  );
  return (
    <>
      {names.map((name) => {
        const others = [...chosen].filter((one) => one !== name);
        const next = chosen.has(name) ? others : [...others, name];
        return (
          <button
            type="button"
            class="chip"
            aria-pressed={chosen.has(name)}
            data-tone={toneOfStatus(name)}
            onClick={() => goTo(linkWith({ status: next.join(',') || undefined }), { replaces: true })}
          >
            <Mark tone={toneOfStatus(name)} size={13} />
            {name}
            <span class="quiet">{` ${count(counts.get(name) ?? 0)}${data?.hasMore === true ? '+' : ''}`}</span>
          </button>
        );
      })}
    </>
  );
}

const titles: Readonly<Record<FilterName, string>> = {
  graph: 'graph',
  since: 'started',
  label: 'label',
  error: 'failed by',
  node: 'failed in',
};

/** A filter that is set, and what takes it away. */
function Chosen({
  name,
  value,
}: {
  readonly name: FilterName;
  readonly value: string | undefined;
}): JSX.Element | null {
  if (value === undefined) return null;
  const words = name === 'since' ? (ages.find((age) => age.value === value)?.title ?? value) : value;
  return (
    <a class="chip" href={linkWith({ [name]: undefined })} title={`Any ${titles[name]}`}>
      <span class="quiet">{titles[name]}</span>
      <span class="foreign">{words}</span>
      <Icon name="close" size={12} />
      <span class="hidden-text">: remove</span>
    </a>
  );
}

/** Whether the list is narrowed down. */
export const isFiltered = (filter: RunFilter): boolean =>
  statusesOf(filter).length > 0 || Object.keys(filter.values).length > 0 || readParam('q') !== undefined;
