/** The one walk over configurations. */
import { isPlainObject } from '../state/plain.ts';

/** Copies arrays and plain objects, mapping all else. */
export function mapLeaves(value: unknown, map: (leaf: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => mapLeaves(item, map));
  if (!isPlainObject(value)) return map(value);
  const entries = Object.entries(value).filter(([, entry]) => entry !== undefined);
  return Object.fromEntries(entries.map(([key, entry]) => [key, mapLeaves(entry, map)]));
}
