/**
 * The list of runs as it is put together of pages: the newest one, which is requested again and again, and older ones as they are scrolled
 * to. Pure.
 */
import type { ListedRun } from './types.ts';

export interface RunPage {
  readonly runs: readonly ListedRun[];
  /** Where the next page begins; absent on the last one. */
  readonly cursor?: string;
}

export interface Listing {
  readonly runs: readonly ListedRun[];
  /** Where what is not known yet begins; undefined: all is known. */
  readonly cursor: string | undefined;
}

/**
 * Takes in the newest page. Runs that it does not name, and that stood before its last, are gone or no longer fit; those behind its last
 * stay. Where its last is not known there may be others in between: what is behind it is walked anew.
 */
export function takeNewest(old: Listing | undefined, { runs, cursor }: RunPage): Listing {
  const last = runs.at(-1)?.runId;
  const place = old?.runs.findIndex(({ runId }) => runId === last) ?? -1;
  if (old === undefined || cursor === undefined || place === -1) return { runs, cursor };
  const named = new Set(runs.map(({ runId }) => runId));
  const others = old.runs.slice(place + 1).filter(({ runId }) => !named.has(runId));
  return others.length === 0 ? { runs, cursor } : { runs: [...runs, ...others], cursor: old.cursor };
}

/** Takes in the page that begins at the end of what is known. */
export function takeOlder(old: Listing, { runs, cursor }: RunPage): Listing {
  const known = new Set(old.runs.map(({ runId }) => runId));
  return { runs: [...old.runs, ...runs.filter(({ runId }) => !known.has(runId))], cursor };
}
