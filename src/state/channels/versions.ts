/** Versions of channels: hashes that depend only on a channel's value. */
import { encodeValue } from '../values/encode.ts';
import { hashText } from '../values/hash.ts';

/** The version of a channel that does not exist. No hash looks like this. */
export const absentVersion = 'absent';

/** The version of an empty list. No value is encoded as this text. */
export const listSeed: string = hashText('[');

/** Extends the version of a list's first `from` items to its first `to` items. */
export function foldItems(hash: string, list: readonly unknown[], from: number, to: number): string {
  let folded = hash;
  // No JSON text begins with a comma, so a list is never confused with another value.
  for (let i = from; i < to; i++) folded = hashText(`,${folded}${encodeValue(list[i])}`);
  return folded;
}

/** The version of a value. Lists are hashed item by item, so that after an append only the new items are hashed. */
export function versionOfValue(value: unknown): string {
  if (Array.isArray(value)) return foldItems(listSeed, value, 0, value.length);
  return hashText(encodeValue(value));
}
