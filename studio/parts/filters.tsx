/** Fields that narrow a list down. What they say is in the address. */
import type { JSX } from 'preact';
import { goTo, linkWith, readParam } from '../url.ts';

export const setFilter = (name: string, value: string): void =>
  goTo(linkWith({ [name]: value || undefined }), { replaces: true });

interface ChooseProps {
  /** The parameter of the address. */
  readonly name: string;
  readonly label: string;
  /** What it says if nothing is chosen. */
  readonly none: string;
  readonly options: readonly (readonly [value: string, title: string])[];
}

export function Choose({ name, label, none, options }: ChooseProps): JSX.Element {
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

export function LabelField(): JSX.Element {
  return (
    <input
      class="field"
      aria-label="Label"
      placeholder="label=value"
      value={readParam('label') ?? ''}
      onChange={({ currentTarget: { value } }) => setFilter('label', /^[^:=]+[:=].+/u.test(value) ? value : '')}
    />
  );
}
