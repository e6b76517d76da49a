/** Reads the values of a run at a checkpoint, or a part of them. */
import type { RunTree } from '../../state/tree.ts';
import { CairnError } from '../../errors.ts';
import { loadState } from '../load/load.ts';
import type { StatePlace } from '../access/place.ts';
import type { ResolvedReference } from './references.ts';
import { formatPath } from './state-path.ts';
import { type StateValues, type CheckpointView, viewState } from './checkpoint-view.ts';

/** The values of a run at a checkpoint, and its cost up to there if any was reported. */
export type StateAt = StateValues & Pick<CheckpointView, 'spent' | 'saved'>;

/** Reads the values at a checkpoint. @throws what {@link loadState} throws */
export async function readStateAt(
  { store, blobs }: Pick<StatePlace, 'store' | 'blobs'>,
  { run, seq }: ResolvedReference,
): Promise<StateAt> {
  return stateOf((await loadState(store, blobs, run, seq)).root);
}

/** The values of a state that is already loaded. */
export function stateOf(root: RunTree): StateAt {
  const { state, spent, saved } = viewState(root);
  return { ...state, ...(spent && { spent }), ...(saved && { saved }) };
}

/** The part of a value under a key: a property of an object, or an item of a list (counted from the end if negative). */
function partOf(value: unknown, key: string): { readonly value: unknown } | undefined {
  if (Array.isArray(value))
    return /^-?\d+$/.test(key) && Math.abs(Number(key)) <= value.length
      ? { value: value.at(Number(key)) as unknown }
      : undefined;
  if (value instanceof Map) return value.has(key) ? { value: value.get(key) as unknown } : undefined;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return { value: (value as Readonly<Record<string, unknown>>)[key] };
}

/**
 * The part of a state under these keys. @param reference - the path, for the message. @throws USAGE_INVALID there is no such part; lists
 * those there are
 */
export function pickPart(state: unknown, keys: readonly string[], reference: string): unknown {
  let value = state;
  for (const [index, key] of keys.entries()) {
    const part = partOf(value, key);
    if (part === undefined) {
      const parts = typeof value === 'object' && value !== null ? Object.keys(value) : [];
      const above = keys.slice(0, index);
      throw new CairnError('USAGE_INVALID', {
        reason: `${reference} has no ${formatPath([...above, key])}`,
        hint: hintOf(parts, above, keys.slice(index).join('.')),
      });
    }
    value = part.value;
  }
  return value;
}

/** What there is in place of a part. A key with a dot in it, such as `tool.output`, is often written as if it were two. */
function hintOf(parts: readonly string[], above: readonly string[], wanted: string): string {
  const dotted = parts.find((part) => part.includes('.') && `${wanted}.`.startsWith(`${part}.`));
  if (dotted !== undefined)
    return `Write ${formatPath([...above, dotted])}: a dot within a key has a backslash before it.`;
  const place = above.length === 0 ? 'The state' : formatPath(above);
  const names = parts.slice(0, 12).map((part) => formatPath([part]));
  return names.length === 0 ? `${place} has no parts.` : `${place} has: ${names.join(', ')}.`;
}
