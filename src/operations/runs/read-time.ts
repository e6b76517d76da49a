/** Points in time as people write them. */
import { CairnError } from '../../errors.ts';

const ages: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, min: 60_000, s: 1_000 };

/**
 * A point in time as people write it: an age before now (`3h`, `2d`, `15min`), a date or a date with a time (ISO 8601; without a zone it is
 * local time). @returns epoch ms. @throws USAGE_INVALID
 */
export function readTime(option: string, written: string, now: number): number {
  const [, count, unit = ''] = /^(\d{1,9}) ?(d|h|m|min|s)$/.exec(written) ?? [];
  if (count !== undefined) return now - Number(count) * (ages[unit] ?? 0);
  const [, day = '', hour] = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}.*))?$/.exec(written) ?? [];
  const at = isDay(day) ? new Date(`${day}T${hour ?? '00:00'}`).getTime() : Number.NaN;
  if (Number.isNaN(at))
    throw new CairnError('USAGE_INVALID', {
      reason: `${option} is no time: ${JSON.stringify(written.slice(0, 60))}`,
      hint: 'Give a date (2026-11-03), a date with a time (2026-11-03T14:05), or an age (3h, 2d).',
    });
  return at;
}

/** Whether the calendar has this day. A `Date` takes 30 February for 2 March. */
function isDay(day: string): boolean {
  const date = new Date(`${day}T00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}
