/** Parses durations in files. */
import { durationPattern } from './format.ts';

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of a number of seconds, or of a text such as `500ms`, `30s`, `5m`, `2h`; undefined if it is neither. */
export function durationMs(value: unknown): number | undefined {
  if (typeof value === 'number') return value > 0 ? Math.max(1, Math.round(value * 1000)) : undefined;
  if (typeof value !== 'string') return undefined;
  const [, count, unit = 's'] = durationPattern.exec(value.trim()) ?? [];
  if (count === undefined) return undefined;
  return Math.max(1, Math.round(Number(count) * (unitMs[unit] ?? 1000)));
}
