/** Copies a configuration and maps every value in it. */
import { isPlainObject } from '../../state/values/plain.ts';

/** Copies arrays and plain objects, and maps everything else; maps keys too if `mapKey` is given. */
export function mapLeaves(
  value: unknown,
  map: (leaf: unknown) => unknown,
  mapKey: (key: string) => string = (key) => key,
): unknown {
  if (Array.isArray(value)) return value.map((item) => mapLeaves(item, map, mapKey));
  if (!isPlainObject(value)) return map(value);
  const entries = Object.entries(value).filter(([, entry]) => entry !== undefined);
  return Object.fromEntries(entries.map(([key, entry]) => [mapKey(key), mapLeaves(entry, map, mapKey)]));
}
