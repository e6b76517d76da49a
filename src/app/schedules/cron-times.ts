/** The times of a cron line in a time zone. The one place that knows the package which reads them. */
import { Cron } from 'croner';
import { CairnError } from '../../errors.ts';

/** A cron line, read. All times are epoch ms, whole seconds. */
export interface CronTimes {
  /** The first time after this one; undefined: there is none any more. */
  next(afterMs: number): number | undefined;
  /** The newest times after one and up to another, at most so many, oldest first. */
  between(afterMs: number, untilMs: number, limit: number): readonly number[];
}

/**
 * A local time that does not exist, since clocks are put forward, counts at the moment at which they are; one that exists twice
 * counts once, at the first. What repeats within the hour goes on through both.
 *
 * @param cron - five fields, or six with seconds first; or `@daily` and its like
 * @param timezone - an IANA name
 * @throws CONFIG_INVALID
 */
export function readCron(cron: string, timezone: string): CronTimes {
  const times = parse(cron, timezone);
  return {
    next: (afterMs) => times.nextRun(new Date(afterMs))?.getTime(),
    between: (afterMs, untilMs, limit) =>
      times
        // What it gives is before its reference, and this wants what is due at that very moment, too.
        .previousRuns(limit, new Date(untilMs + 1))
        .map((time) => time.getTime())
        .filter((time) => time > afterMs)
        .toReversed(),
  };
}

function parse(cron: string, timezone: string): Cron {
  try {
    Intl.DateTimeFormat('en', { timeZone: timezone });
  } catch {
    throw new CairnError('CONFIG_INVALID', {
      path: 'timezone',
      reason: `there is no time zone ${JSON.stringify(timezone)}`,
    });
  }
  try {
    // A single date is no cron line, though the package takes one.
    if (/^\d+-/.test(cron.trim())) throw new Error('it is a date');
    return new Cron(cron, { timezone, paused: true });
  } catch (error) {
    const reason = `${JSON.stringify(cron)} is no cron line: ${(error as Error).message.replace(/^CronPattern: /, '')}`;
    throw new CairnError('CONFIG_INVALID', { path: 'cron', reason }, { cause: error });
  }
}
