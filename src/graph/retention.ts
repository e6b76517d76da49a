/** What `retention` says: for how long, and how many, of the runs that ended are kept (D18). */
import { CairnError } from '../errors.ts';

/** A length of time: `30s`, `15m`, `12h`, `7d`, `4w`, or seconds as a number. */
export type RetentionAge = string | number;

/** Which ended runs of a graph are kept. A run goes when one of these says so; without any, none goes. */
export interface RetentionSettings {
  /** For how long completed runs are kept after their end. Likewise the others. */
  readonly completed?: RetentionAge;
  readonly failed?: RetentionAge;
  readonly cancelled?: RetentionAge;
  /** How many ended runs are kept, the newest. Open runs are not counted. */
  readonly runs?: number;
  /** The same for each value of a label: `{ user: 50 }` keeps 50 of each user, the newest started. */
  readonly perLabel?: Readonly<Record<string, number>>;
  /** For how long the id of a removed run is not used again. Default `30d`. */
  readonly remember?: RetentionAge;
}

/** The same as numbers. */
export interface RetentionRules {
  /** The longest age in ms, by status. */
  readonly ages: Readonly<Partial<Record<(typeof statuses)[number], number>>>;
  readonly runs?: number;
  readonly perLabel: readonly (readonly [name: string, keep: number])[];
  readonly rememberMs: number;
}

const statuses = ['completed', 'failed', 'cancelled'] as const;
const keys = ['completed', 'failed', 'cancelled', 'runs', 'perLabel', 'remember'] as const;

/** Matches a number with a unit; not 0. */
export const agePattern: RegExp = /^(?=[\d.]*[1-9])(\d+(?:\.\d+)?)(s|m|h|d|w)$/;

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** For how long a removed run is remembered unless its graph says otherwise. */
export const rememberedMs: number = 30 * 86_400_000;

/** What is wrong with the value of `retention`, each with its path below it; empty if nothing is. */
export function retentionFaults(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return ['retention must hold settings by name'];
  const faults: string[] = [];
  for (const [name, setting] of Object.entries(value)) {
    const path = `retention.${name}`;
    if (!keys.some((key) => key === name)) faults.push(`${path} is no setting; they are ${keys.join(', ')}`);
    else if (name === 'runs') faults.push(...countFaults(path, setting));
    else if (name === 'perLabel') faults.push(...labelFaults(path, setting));
    else if (setting !== undefined && ageMs(setting) === undefined)
      faults.push(`${path} must be a time such as 12h, 7d or 4w, or seconds`);
  }
  return faults;
}

function labelFaults(path: string, value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return [`${path} must name labels, such as { user: 50 }`];
  return Object.entries(value).flatMap(([name, keep]) => countFaults(`${path}.${name}`, keep));
}

function countFaults(path: string, value: unknown): readonly string[] {
  return value === undefined || (Number.isSafeInteger(value) && (value as number) >= 1)
    ? []
    : [`${path} must be a whole number from 1`];
}

/** A length of time in ms; undefined if it is none, or 0. */
export function ageMs(age: unknown): number | undefined {
  if (typeof age === 'number') return Number.isFinite(age) && age > 0 ? age * 1_000 : undefined;
  const [, count = '', unit = ''] = (typeof age === 'string' && agePattern.exec(age)) || [];
  const ms = Number(count) * (unitMs[unit] ?? 0);
  return ms > 0 ? ms : undefined;
}

/** Reads settings. @param ttlSeconds - the age of all statuses that say none, as `ttl_seconds` gives it. @throws CONFIG_INVALID */
export function readRetention(settings: RetentionSettings = {}, ttlSeconds?: number): RetentionRules {
  const faults = retentionFaults(settings);
  if (faults.length > 0)
    throw new CairnError('CONFIG_INVALID', { path: 'retention', reason: faults.join('; '), faults });
  const ages = statuses.flatMap((status) => {
    const age = ageMs(settings[status]) ?? (ttlSeconds === undefined ? undefined : ttlSeconds * 1_000);
    return age === undefined ? [] : [[status, age] as const];
  });
  return {
    ages: Object.fromEntries(ages),
    ...(settings.runs !== undefined && { runs: settings.runs }),
    perLabel: Object.entries(settings.perLabel ?? {}),
    rememberMs: ageMs(settings.remember) ?? rememberedMs,
  };
}
