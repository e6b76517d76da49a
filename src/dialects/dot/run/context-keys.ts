/** The context of a pipeline: its values by name, kept in the run's scratch; the keys that belong to the engine; and what prompts show of it. */
import type { StateView } from '../../../graph/contracts/node-contract.ts';

type Keyed = Readonly<Record<string, unknown>>;

/** In the input of a branch: the context as it was where the branch began. */
export const inheritedKey = '~context';

/** Names and beginnings of names that stages may not write. */
const reserved = /^(?:graph\.|internal\.|human\.|parallel\.|outcome$|preferred_label$|current_node$|last_stage$)/;

export function isReserved(key: string): boolean {
  return reserved.test(key);
}

/** One value; undefined: there is none. */
export function contextValue({ scratch, input }: StateView, key: string): unknown {
  if (Object.hasOwn(scratch, key)) return scratch[key];
  const inherited = (input as Keyed | undefined)?.[inheritedKey] as Keyed | undefined;
  return inherited !== undefined && Object.hasOwn(inherited, key) ? inherited[key] : undefined;
}

/** All values, those of the branch before those from outside it. */
export function contextOf({ scratch, input }: StateView): Keyed {
  return { ...((input as Keyed | undefined)?.[inheritedKey] as Keyed | undefined), ...scratch };
}

/** A value as conditions and prompts see it; `` where there is none. */
export function asText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** `$goal` and `$param` as whole words; other words with a dollar sign stay what they are. */
export function expand(text: string, state: StateView, names: readonly string[]): string {
  return text.replaceAll(/\$([A-Za-z_][A-Za-z0-9_]*)/g, (word, name: string) =>
    names.includes(name) ? asText(contextValue(state, `graph.${name}`)) : word,
  );
}
