/** Limits that hold for all workers of a store together: defined once, and named by what they are for (docs/spec/limits.md). */
import { CairnError, reasonOf } from '../errors.ts';
import { refuseUnknownKeys } from './known-keys.ts';

/** What a limit counts. What is absent is not limited; one of the first three is there. */
export interface LimitOptions {
  /** The most runs, or steps and calls, that have a place at the same time. */
  readonly concurrency?: number;
  /** How many may begin in a minute. They begin at even intervals, but for a burst. */
  readonly requestsPerMinute?: number;
  /** The most tokens of calls of models in a minute: reserved by an estimate, and corrected when the usage is known. */
  readonly tokensPerMinute?: number;
  /** How many may begin at once after a while in which none did. Default: what the rate allows in a second, at least 1. */
  readonly burst?: number;
  /**
   * Whose limit it is: each text or number that it returns has places and rates of its own. It must return the same for the same run.
   */
  readonly per?: (of: LimitSubject) => unknown;
  /**
   * When a run holds its place: while it is advanced (`claimed`, the default), so that one that waits for an answer or a time holds none; or
   * from its first step to its end (`open`).
   */
  readonly counts?: 'claimed' | 'open';
  /**
   * What becomes of a run that finds no place when it is started: it waits in line (`queue`, the default), it is refused with LIMIT_FULL
   * (`skip`), it takes the place in line of those that wait (`replace-queued`), or it waits and those that have a place are cancelled
   * (`cancel-running`).
   */
  readonly onFull?: 'queue' | 'skip' | 'replace-queued' | 'cancel-running';
  /**
   * How long after its start a run begins at the earliest. With `onFull: 'replace-queued'` only the last of several that are started in
   * short order begins.
   */
  readonly delayMs?: number;
  /** Who shares the line fairly: of each value that it returns one run is let in, in turn, within a priority. */
  readonly fairBy?: (of: LimitSubject) => unknown;
}

/** What `per` and `fairBy` are told. */
export interface LimitSubject {
  /** The input of the run. */
  readonly input: Readonly<Record<string, unknown>>;
}

/** A limit, as {@link defineLimit} makes it. */
export interface Limit extends LimitOptions {
  readonly name: string;
}

/** A limit, or the name of one that is defined in this process or by the configuration. */
export type LimitRef = Limit | string;

const optionNames = Object.keys({
  concurrency: true,
  requestsPerMinute: true,
  tokensPerMinute: true,
  burst: true,
  per: true,
  counts: true,
  onFull: true,
  delayMs: true,
  fairBy: true,
} satisfies Record<keyof LimitOptions, true>);

const namePattern = /^[\w.-]{1,100}$/u;
const amountNames = ['concurrency', 'requestsPerMinute', 'tokensPerMinute', 'burst', 'delayMs'] as const;

/** The limits of this process, by name. */
const known = new Map<string, { readonly limit: Limit; readonly text: string }>();

/**
 * Defines a limit that holds for all workers of a store together. Graphs, nodes, steps and tools name it. Of other versions of the code that
 * define it otherwise, the one that came last applies, and what an operator set before it.
 *
 * @throws CONFIG_INVALID an option is unknown or invalid, or another limit has the name in this process
 */
export function defineLimit(name: string, options: LimitOptions): Limit {
  const refuse = (reason: string): never => {
    throw new CairnError('CONFIG_INVALID', { path: `limit ${name}`, reason });
  };
  if (!namePattern.test(name)) refuse('its name is made of letters, digits, _, . and -, at most 100');
  refuseUnknownKeys(`the limit ${name}`, options, optionNames);
  for (const amount of amountNames) {
    const value = options[amount];
    if (value !== undefined && !(Number.isSafeInteger(value) && value > 0))
      refuse(`${amount} is a whole number above 0`);
  }
  const { concurrency, requestsPerMinute, tokensPerMinute, counts = 'claimed', onFull = 'queue' } = options;
  if (concurrency === undefined && requestsPerMinute === undefined && tokensPerMinute === undefined)
    refuse('give it a concurrency, requestsPerMinute or tokensPerMinute');
  if (counts !== 'claimed' && counts !== 'open') refuse('counts is claimed or open');
  if (!['queue', 'skip', 'replace-queued', 'cancel-running'].includes(onFull))
    refuse('onFull is queue, skip, replace-queued or cancel-running');
  const limit: Limit = Object.freeze({ ...options, name });
  const text = JSON.stringify(
    Object.entries(limit)
      .sort(byName)
      .map(([key, value]) => [key, String(value)]),
  );
  const before = known.get(name);
  if (before !== undefined && before.text !== text) refuse('it is defined otherwise in this process');
  if (before !== undefined) return before.limit;
  known.set(name, { limit, text });
  return limit;
}

/** Defines a limit as a configuration says it, in place of what was defined under its name before. @throws CONFIG_INVALID as {@link defineLimit} */
export function configureLimit(name: string, options: LimitOptions): Limit {
  known.delete(name);
  return defineLimit(name, options);
}

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1);

/** The limit of this name in this process. */
export const knownLimit = (name: string): Limit | undefined => known.get(name)?.limit;

/** The names of the limits of this process. */
export const knownLimits = (): readonly string[] => [...known.keys()];

/** The limits that are named, without those that are named twice. @throws CONFIG_INVALID one is not defined here */
export function limitsNamed(refs: LimitRef | readonly LimitRef[]): readonly Limit[] {
  const limits = (Array.isArray(refs) ? (refs as readonly LimitRef[]) : [refs as LimitRef]).map((ref) => {
    if (typeof ref !== 'string') return ref;
    const limit = knownLimit(ref);
    if (limit !== undefined) return limit;
    const reason = `no limit ${ref} is defined in this process`;
    throw new CairnError('CONFIG_INVALID', {
      path: 'limit',
      reason,
      hint: 'Define it with defineLimit, or under limits in the configuration.',
    });
  });
  return [...new Map(limits.map((limit) => [limit.name, limit])).values()];
}

/** What a limit counts by: its name, and whose it is. */
export interface LimitKey {
  readonly name: string;
  /** The name, or `NAME:VALUE`. */
  readonly key: string;
}

/** The name of the limit of a key; names have no colon. */
export const limitNameOf = (key: string): string => key.split(':', 1)[0] as string;

const valueBytesMax = 256;

/** @throws CONFIG_INVALID `per` throws, or returns neither a text nor a number */
export function limitKeyOf(limit: Limit, subject: LimitSubject): LimitKey {
  const { name, per } = limit;
  if (per === undefined) return { name, key: name };
  return { name, key: `${name}:${valueOf(name, 'per', per, subject)}` };
}

/** Who shares a line fairly. @throws CONFIG_INVALID as {@link limitKeyOf} */
export function groupOf({ name, fairBy }: Limit, subject: LimitSubject): string | undefined {
  return fairBy && valueOf(name, 'fairBy', fairBy, subject);
}

function valueOf(name: string, option: string, of: NonNullable<Limit['per']>, subject: LimitSubject): string {
  let value: unknown;
  try {
    value = of(subject);
  } catch (cause) {
    throw new CairnError(
      'CONFIG_INVALID',
      { path: `limit ${name}`, reason: `${option} failed: ${reasonOf(cause)}` },
      { cause },
    );
  }
  if ((typeof value === 'string' || typeof value === 'number') && Buffer.byteLength(String(value)) <= valueBytesMax)
    return String(value);
  const reason = `${option} returns a text of at most ${valueBytesMax} bytes, or a number, for each run`;
  throw new CairnError('CONFIG_INVALID', { path: `limit ${name}`, reason });
}
