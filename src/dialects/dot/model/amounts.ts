/** Durations, and what a run may spend, as attributes say them. */
import type { Amounts } from '../../../graph/amounts.ts';

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** 10 years. */
const longestMs = 3_650 * 86_400_000;

/** Whole milliseconds of `900s`, `250ms`, `15m`, `2h`, `1d`; a number alone counts seconds. Undefined means that it is none of these. */
export function durationMs(value: string): number | undefined {
  const [, count, unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(value.trim()) ?? [];
  return count === undefined ? undefined : Math.round(Number(count) * (units[unit] ?? 1));
}

/** Why a value is no duration that anything can take. */
export function durationFault(value: string): string | undefined {
  const ms = durationMs(value);
  if (ms === undefined) return 'must be a duration such as 900s';
  if (ms < 1) return 'must be longer than 0';
  return ms > longestMs ? 'must be at most 3650d' : undefined;
}

/** `tokens=200000, cost=5, time=2h`, by the units of docs/spec/budgets.md; time is counted in seconds. Undefined means that it cannot be read. */
export function parseBudget(text: string): Amounts | undefined {
  const amounts: Record<string, number> = {};
  for (const piece of text.split(',')) {
    const [, unit, given = ''] = /^\s*([A-Za-z][A-Za-z0-9_-]{0,63})\s*=\s*(\S+)\s*$/u.exec(piece) ?? [];
    if (unit === undefined) return undefined;
    const isTime = unit === 'time' || unit === 'seconds';
    const amount = isTime ? (durationMs(given) ?? Number.NaN) / 1_000 : Number(given);
    if (!Number.isFinite(amount) || amount < 0) return undefined;
    amounts[isTime ? 'seconds' : unit] = amount;
  }
  return amounts;
}
