/** Fields that narrow a list of runs or of questions down. What they say is in the address. */
import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import { labelFault } from '../data/run-filter.ts';
import { goTo, linkWith, readParam } from '../url.ts';

export const setFilter = (name: string, value: string): void =>
  goTo(linkWith({ [name]: value || undefined }), { replaces: true });

/** How far back lists can be narrowed down. */
export const ages = [
  { value: '1h', title: 'last hour', ms: 3_600_000 },
  { value: '1d', title: 'last day', ms: 86_400_000 },
  { value: '7d', title: 'last week', ms: 604_800_000 },
] as const;

/** An age of the address in milliseconds. */
export const ageMsOf = (age: string | undefined): number | undefined => ages.find(({ value }) => value === age)?.ms;

interface FiltersProps {
  /** The graphs of what is listed. */
  readonly graphs: readonly string[];
  /** What the time is of. */
  readonly time: string;
}

/** Narrows down to a graph, an age and a label. */
export function Filters({ graphs, time }: FiltersProps): JSX.Element {
  const graph = readParam('graph');
  const names = [...new Set([...(graph === undefined ? [] : [graph]), ...graphs])].sort((a, b) => a.localeCompare(b));
  return (
    <>
      <Choose name="graph" label="Graph" none="any graph" options={names.map((name) => [name, name])} />
      <Choose name="since" label={time} none="any time" options={ages.map(({ value, title }) => [value, title])} />
      <LabelField />
    </>
  );
}

interface ChooseProps {
  /** The parameter of the address. */
  readonly name: string;
  readonly label: string;
  /** What it says if nothing is chosen. */
  readonly none: string;
  readonly options: readonly (readonly [value: string, title: string])[];
}

function Choose({ name, label, none, options }: ChooseProps): JSX.Element {
  return (
    <select
      class="field"
      aria-label={label}
      value={readParam(name) ?? ''}
      onChange={({ currentTarget }) => setFilter(name, currentTarget.value)}
    >
      <option value="">{none}</option>
      {options.map(([value, title]) => (
        <option value={value}>{title}</option>
      ))}
    </select>
  );
}

/** What is no label is said, and not passed over. */
function LabelField(): JSX.Element {
  const [fault, setFault] = useState<string>();
  const id = useId();
  return (
    <span class="field-with-fault">
      <input
        class="field"
        aria-label="Label"
        placeholder="label=value"
        aria-invalid={fault !== undefined}
        aria-describedby={fault === undefined ? undefined : id}
        value={readParam('label') ?? ''}
        onChange={({ currentTarget: { value } }) => {
          const found = labelFault(value);
          setFault(found);
          if (found === undefined) setFilter('label', value);
        }}
      />
      {fault !== undefined && (
        <span id={id} class="fault tiny toned" data-tone="failed" role="alert">
          {fault}
        </span>
      )}
    </span>
  );
}

interface TextFilterProps {
  /** The parameter of the address. */
  readonly name: string;
  readonly label: string;
  readonly placeholder: string;
  /** Id of a list of what there is. */
  readonly list?: string;
}

export function TextFilter({ name, label, placeholder, list }: TextFilterProps): JSX.Element {
  return (
    <input
      class="field"
      aria-label={label}
      placeholder={placeholder}
      list={list}
      value={readParam(name) ?? ''}
      onChange={({ currentTarget }) => setFilter(name, currentTarget.value.trim())}
    />
  );
}
