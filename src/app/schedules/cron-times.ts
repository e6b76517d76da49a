/** Computes the times of a cron expression in a time zone. No other file imports the cron package. */
import { Cron } from 'croner';
import { CairnError } from '../../errors.ts';

/** A parsed cron expression. All times are epoch ms, in whole seconds. */
export interface CronTimes {
  /** The first time after this one; undefined if there is none. */
  next(afterMs: number): number | undefined;
  /** The newest times after one and up to another, at most `limit`, oldest first. */
  between(afterMs: number, untilMs: number, limit: number): readonly number[];
}

/**
 * Parses a cron expression. A local time that is skipped when clocks go forward counts at that moment. One that occurs twice counts once,
 * the first time; but expressions that repeat within an hour go on through both.
 *
 * @param cron - five fields, or six with seconds first; or `@daily` and the like
 * @param timezone - an IANA name
 * @throws CONFIG_INVALID
 */
export function readCron(cron: string, timezone: string): CronTimes {
  const times = parse(cron, timezone);
  return {
    next: (afterMs) => times.nextRun(new Date(afterMs))?.getTime(),
    between: (afterMs, untilMs, limit) =>
      times
        // The package excludes the reference time itself, but a time due at exactly that moment is wanted too.
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
    // The package also accepts a single date, which is not a cron expression.
    if (/^\d+-/.test(cron.trim())) throw new Error('it is a date');
    return new Cron(cron, { timezone, paused: true });
  } catch (error) {
    const reason = `${JSON.stringify(cron)} is no cron line: ${(error as Error).message.replace(/^CronPattern: /, '')}`;
    throw new CairnError('CONFIG_INVALID', { path: 'cron', reason }, { cause: error });
  }
}
