/** The items of a for_each, with the keys that identify them. */
import { NodeFailure } from '../../../graph/contracts/node-contract.ts';
import { isMapping, shown } from '../file/shape.ts';

export interface Item {
  readonly key: string;
  readonly value: unknown;
}

/** Most items of one collection. */
const itemsMax = 100_000;

/** Items of a list, keyed by position, or of a mapping, by key and in its order. @throws NodeFailure INPUT_INVALID */
export function readItems(collection: unknown): readonly Item[] {
  const fault = itemsFault(collection);
  if (fault !== undefined) throw new NodeFailure(fault, { code: 'INPUT_INVALID', applied: 'no' });
  if (Array.isArray(collection)) return collection.map((value: unknown, index) => ({ key: String(index), value }));
  return Object.entries(collection as object).map(([key, value]) => ({ key, value: value as unknown }));
}

/** Why a for_each cannot run over this value. Undefined means that it can. */
export function itemsFault(collection: unknown): string | undefined {
  if (!Array.isArray(collection) && !isMapping(collection))
    return `for_each gives ${shown(collection)}, not a list or a mapping`;
  const keys = Array.isArray(collection) ? [] : Object.keys(collection);
  const count = Array.isArray(collection) ? collection.length : keys.length;
  if (count > itemsMax) return `for_each has ${count} items, over the limit of ${itemsMax}`;
  for (const key of keys) {
    // oxlint-disable-next-line no-control-regex -- they are what is looked for.
    if (key === '' || key.length > 254 || Buffer.byteLength(key) > 400 || /[\u0000-\u001f\u007f]/.test(key))
      return `for_each has the key ${shown(key)}: a key has 1 to 254 characters, and no control characters`;
  }
  return undefined;
}
