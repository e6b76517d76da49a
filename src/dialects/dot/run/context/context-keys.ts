/** The context of a pipeline: values by name, kept in the run's scratch state. Also the keys that only the engine may write. */
import type { StateView } from '../../../../graph/contracts/node-contract.ts';
import { isLarge, shownLarge } from './large-values.ts';

type Keyed = Readonly<Record<string, unknown>>;

/** Key in the input of a branch: the context at the point where the branch began. */
export const inheritedKey = '~context';

/** The edge by which the run left the stage that ended last, and so came to the one that runs. */
export const edgeKey = 'internal.edge';

/** The signal by which a child pipeline is steered. */
export const steerSignal = 'steer';

/** Says that a failed run was resumed, and that no stage for a model has come since. */
export const resumedKey = 'internal.resumed';

/** Names, and beginnings of names, that stages may not write. */
const reserved = /^(?:graph\.|internal\.|human\.|parallel\.|outcome$|preferred_label$|current_node$|last_stage$)/;

export function isReserved(key: string): boolean {
  return reserved.test(key);
}

/** One value of the context. Undefined if it is not set. */
export function contextValue({ scratch, input }: StateView, key: string): unknown {
  if (Object.hasOwn(scratch, key)) return scratch[key];
  const inherited = (input as Keyed | undefined)?.[inheritedKey] as Keyed | undefined;
  return inherited !== undefined && Object.hasOwn(inherited, key) ? inherited[key] : undefined;
}

/** All values of the context. The branch's own win over those it inherited. */
export function contextOf({ scratch, input }: StateView): Keyed {
  return { ...((input as Keyed | undefined)?.[inheritedKey] as Keyed | undefined), ...scratch };
}

/** A value as conditions and prompts see it; `` where there is none, head and tail of a large one. */
export function asText(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (isLarge(value)) return shownLarge(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Replaces `$goal` and `$param` where they stand as whole words. Other words with a dollar sign stay as they are. */
export function expand(text: string, state: StateView, names: readonly string[]): string {
  return text.replaceAll(/\$([A-Za-z_][A-Za-z0-9_]*)/g, (word, name: string) =>
    names.includes(name) ? asText(contextValue(state, `graph.${name}`)) : word,
  );
}
