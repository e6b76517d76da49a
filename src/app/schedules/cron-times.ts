/**
 * Computes the times of a cron expression in a time zone. No other file imports the cron package.
 *
 * The package only says which times on a clock match; which moments these are is decided here, since it loses times that are skipped when
 * clocks go forward. Clock times are numbers too: the epoch ms at which a clock in UTC shows them.
 */
import { Cron } from 'croner';
import { CairnError } from '../../errors.ts';

/** A parsed cron expression. All times are epoch ms, in whole seconds. */
export interface CronTimes {
  /** The first time after this one; undefined if there is none. */
  next(afterMs: number): number | undefined;
  /** The newest times after one and up to another, at most `limit`, oldest first. */
  between(afterMs: number, untilMs: number, limit: number): readonly number[];
}

const secondMs = 1000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The most steps to one due time. A step passes a change of clocks, or a time that is shown again and does not count again. */
const stepsMax = 1000;

/**
 * Parses a cron expression. Clock times that are skipped when clocks go forward are due at that moment, all together once. One that occurs
 * twice is due once, the first time, unless the expression's time before or after it is an hour away or less: such an expression goes on
 * through both.
 *
 * @param cron - five fields, or six with seconds first; or `@daily` and the like
 * @param timezone - an IANA name
 * @throws CONFIG_INVALID; also for an expression that no day matches, such as 30 February
 */
export function readCron(cron: string, timezone: string): CronTimes {
  const clock = readClock(timezone);
  const pattern = readPattern(cron);
  return {
    next: (afterMs) => firstDue(pattern, clock, floorSecond(afterMs) + secondMs),
    between(afterMs, untilMs, limit) {
      const found: number[] = [];
      for (let upTo = floorSecond(untilMs); found.length < limit;) {
        const due = lastDue(pattern, clock, upTo);
        if (due === undefined || due <= afterMs) break;
        found.push(due);
        upTo = due - secondMs;
      }
      return found.toReversed();
    },
  };
}

const floorSecond = (time: number): number => Math.floor(time / secondMs) * secondMs;

/** Which clock times match, whatever the zone. */
interface Pattern {
  /** The first match at or after this clock time. */
  from(clockTime: number): number | undefined;
  /** The last match at or before this clock time. */
  upTo(clockTime: number): number | undefined;
}

function readPattern(cron: string): Pattern {
  const invalid = (what: string, cause?: unknown): CairnError => {
    const reason = `${JSON.stringify(cron)} ${what}`;
    return new CairnError('CONFIG_INVALID', { path: 'cron', reason }, { cause });
  };
  let times: Cron;
  try {
    // The package also accepts a single date, which is not a cron expression.
    if (/^\d+-/.test(cron.trim())) throw new Error('it is a date');
    times = new Cron(cron, { utcOffset: 0, paused: true });
  } catch (error) {
    throw invalid(`is no cron line: ${(error as Error).message.replace(/^CronPattern: /, '')}`, error);
  }
  // The package excludes the time that it starts from, in both directions.
  const pattern: Pattern = {
    from: (clockTime) => times.nextRun(new Date(clockTime - 1))?.getTime(),
    upTo: (clockTime) => times.previousRuns(1, new Date(clockTime + 1))[0]?.getTime(),
  };
  if (pattern.from(0) === undefined) throw invalid('never comes: no day of any year matches it');
  return pattern;
}

/** The clocks of a time zone. */
interface ZoneClock {
  /** What the clocks are ahead of UTC, in ms. @param time - in whole seconds */
  offset(time: number): number;
  /** The first moment after one and up to another at which clocks are changed. */
  firstChange(after: number, upTo: number): number | undefined;
  /** The last such moment. */
  lastChange(after: number, upTo: number): number | undefined;
}

/** Clocks are looked at this often, so two changes within such a span are found only if they do not undo each other. */
const spanMs = 6 * hourMs;
/** The most spans that are cached. */
const spansMax = 4096;

/** A span of time: what clocks are ahead of UTC at its beginning and its end, and the moment of the change in it. */
interface Span {
  readonly before: number;
  readonly after: number;
  readonly changed?: number;
}

function readClock(timezone: string): ZoneClock {
  const read = readOffset(timezone);
  const spans = new Map<number, Span>();
  const spanAt = (index: number): Span => {
    const known = spans.get(index);
    if (known !== undefined) return known;
    if (spans.size >= spansMax) spans.clear();
    const span = readSpan(read, index * spanMs);
    spans.set(index, span);
    return span;
  };
  const indexOf = (time: number): number => Math.floor(time / spanMs);
  const changeIn = (index: number, after: number, upTo: number): number | undefined => {
    const { changed } = spanAt(index);
    return changed !== undefined && changed > after && changed <= upTo ? changed : undefined;
  };
  return {
    offset(time) {
      const { before, after, changed } = spanAt(indexOf(time));
      return changed === undefined || time < changed ? before : after;
    },
    firstChange(after, upTo) {
      for (let index = indexOf(after); index <= indexOf(upTo); index += 1) {
        const changed = changeIn(index, after, upTo);
        if (changed !== undefined) return changed;
      }
      return undefined;
    },
    lastChange(after, upTo) {
      for (let index = indexOf(upTo); index >= indexOf(after) - 1; index -= 1) {
        const changed = changeIn(index, after, upTo);
        if (changed !== undefined) return changed;
      }
      return undefined;
    },
  };
}

/** Returns a function that says what clocks are ahead of UTC at a moment. @throws CONFIG_INVALID */
function readOffset(timezone: string): (time: number) => number {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: timezone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch {
    const reason = `there is no time zone ${JSON.stringify(timezone)}`;
    throw new CairnError('CONFIG_INVALID', { path: 'timezone', reason });
  }
  return (time) => {
    const local = new Map(format.formatToParts(time).map(({ type, value }) => [type, Number(value)]));
    const part = (name: Intl.DateTimeFormatPartTypes): number => local.get(name) ?? 0;
    const clockTime = Date.UTC(
      ...([part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second')] as const),
    );
    return clockTime - time;
  };
}

function readSpan(offset: (time: number) => number, start: number): Span {
  let [from, to] = [start, start + spanMs];
  const [before, after] = [offset(from), offset(to)];
  if (before === after) return { before, after };
  while (to - from > secondMs) {
    const middle = from + floorSecond((to - from) / 2);
    if (offset(middle) === before) from = middle;
    else to = middle;
  }
  return { before, after, changed: to };
}

/** The first due time at or after this moment. */
function firstDue(pattern: Pattern, clock: ZoneClock, start: number): number | undefined {
  let from = start;
  for (let step = 0; step < stepsMax; step += 1) {
    const offset = clock.offset(from);
    const match = pattern.from(from + offset);
    if (match === undefined) return undefined;
    const due = match - offset;
    const changed = clock.firstChange(from, Math.min(due, from + 2 * dayMs));
    if (changed !== undefined) {
      // Skipped: from this moment on clocks are beyond the match.
      if (match < changed + clock.offset(changed)) return changed;
      from = changed;
    } else if (due - from > 2 * dayMs) from = Math.max(from + 2 * dayMs, due - 2 * dayMs);
    else if (isRepeated(pattern, clock, match, due)) from = due + secondMs;
    else return due;
  }
  return undefined;
}

/** The last due time at or before this moment. */
function lastDue(pattern: Pattern, clock: ZoneClock, end: number): number | undefined {
  let upTo = end;
  for (let step = 0; step < stepsMax; step += 1) {
    const offset = clock.offset(upTo);
    const match = pattern.upTo(upTo + offset);
    if (match === undefined) return undefined;
    const due = match - offset;
    const changed = clock.lastChange(Math.max(due, upTo - 2 * dayMs), upTo);
    if (changed !== undefined) {
      // Skipped: up to this moment clocks had not reached the match.
      if (match >= changed + clock.offset(changed - secondMs)) return changed;
      upTo = changed - secondMs;
    } else if (upTo - due > 2 * dayMs) upTo = Math.min(upTo - 2 * dayMs, due + 2 * dayMs);
    else if (isRepeated(pattern, clock, match, due)) upTo = due - secondMs;
    else return due;
  }
  return undefined;
}

/** Whether a clock time is shown for the second time at this moment, and an expression with few times leaves it out. */
function isRepeated(pattern: Pattern, clock: ZoneClock, match: number, due: number): boolean {
  const changed = clock.lastChange(due - dayMs - hourMs, due);
  if (changed === undefined || match >= changed + clock.offset(changed - secondMs)) return false;
  const next = pattern.from(match + secondMs) ?? Infinity;
  const previous = pattern.upTo(match - secondMs) ?? -Infinity;
  return next - match > hourMs && match - previous > hourMs;
}
