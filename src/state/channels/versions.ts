/** Content hashes of channels: pure functions of a channel's value. */
import { encodeValue } from '../values/encode.ts';
import { hashText } from '../values/hash.ts';

/** The version of a channel that is not there. No hash looks like it. */
export const absentVersion = 'absent';

/** The version of an empty list. No encoding of another value is this text. */
export const listSeed: string = hashText('[');

/** Goes on from the version of a list's first `from` items to that of its first `to`. */
export function foldItems(hash: string, list: readonly unknown[], from: number, to: number): string {
  let folded = hash;
  // No JSON text begins with a comma: a list is never taken for another value.
  for (let i = from; i < to; i++) folded = hashText(`,${folded}${encodeValue(list[i])}`);
  return folded;
}

/** The version of a value. Lists are hashed item by item, so that one that has grown costs only what is new. */
export function versionOfValue(value: unknown): string {
  if (Array.isArray(value)) return foldItems(listSeed, value, 0, value.length);
  return hashText(encodeValue(value));
}
