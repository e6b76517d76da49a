/**
 * Limits the faults reported of a text: a file of garbage would have a fault for each of its characters, and a name in it may be as long as
 * the file. Errors and warnings are counted apart, so that no number of warnings hides an error.
 */
import type { Violation } from '../graph/graph.ts';

/** Most errors that are reported, and most warnings. */
const reportedMax = 1_000;

/** Most characters of a message, and of how to mend it. */
const lengthMax = 800;

export class FaultLimit {
  readonly #counts = { error: 0, warning: 0 };

  /** Counts a fault. @returns whether it is to be reported */
  take(severity: Violation['severity']): boolean {
    this.#counts[severity] += 1;
    return this.#counts[severity] <= reportedMax;
  }

  get hasErrors(): boolean {
    return this.#counts.error > 0;
  }

  /** The faults that are reported, and how many more there are. */
  withRest(reported: readonly Violation[]): readonly Violation[] {
    const rest = (['error', 'warning'] as const).flatMap((severity): Violation[] => {
      const more = this.#counts[severity] - reportedMax;
      const last = reported.findLast((violation) => violation.severity === severity);
      if (more <= 0 || last === undefined) return [];
      const message = `and ${more} ${severity}${more === 1 ? '' : 's'} more, which are not listed`;
      return [{ ...last, message, fix: 'mend those above first' }];
    });
    return rest.length === 0 ? reported : [...reported, ...rest];
  }
}

/** A fault as it is reported, with the middle of a long message omitted: its ends say what it is about. */
export function shortFault(violation: Violation): Violation {
  const [message, fix] = [shortened(violation.message), shortened(violation.fix)];
  const isShort = message === violation.message && fix === violation.fix;
  return Object.freeze(isShort ? violation : { ...violation, message, fix });
}

function shortened(text: string): string {
  return text.length <= lengthMax
    ? text
    : `${text.slice(0, lengthMax / 2)}…${text.slice(-lengthMax / 2)}`.toWellFormed();
}
