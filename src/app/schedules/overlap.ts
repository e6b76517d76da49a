/** What becomes of a due time whose schedule has started a run that goes on. Pure, so that it is decided in one place. */

/**
 * `skip`: the time is left out. `queue`: its run begins when the others have ended; one waits, and further ones are left out.
 * `cancel-previous`: the others are cancelled, and its run begins when they have ended. `allow`: its run begins.
 */
export type Overlap = 'skip' | 'queue' | 'cancel-previous' | 'allow';

export const overlaps: readonly Overlap[] = ['skip', 'queue', 'cancel-previous', 'allow'];

/** A run that is to be started. */
export interface WantedRun {
  readonly runId: string;
  /** The due time in epoch ms. */
  readonly at: number;
  readonly overlap: Overlap;
  /** Whether a person asked for it, by a trigger or a backfill: then several may wait. */
  readonly isAsked?: true;
}

export interface Decision {
  readonly start: readonly WantedRun[];
  /** Those that wait until the others have ended. */
  readonly wait: readonly WantedRun[];
  readonly skip: readonly WantedRun[];
  /** Whether the runs that go on are to be cancelled. */
  readonly cancels: boolean;
}

/** @param wanted - oldest first. @param isBusy - whether a run of the schedule goes on */
export function decideOverlap(wanted: readonly WantedRun[], isBusy: boolean): Decision {
  const start: WantedRun[] = [];
  let wait: WantedRun[] = [];
  const skip: WantedRun[] = [];
  let cancels = false;
  for (const run of wanted) {
    const isFree = !isBusy && start.length === 0 && wait.length === 0;
    const own = wait.filter(({ isAsked }) => isAsked !== true);
    if (run.overlap === 'allow' || isFree) start.push(run);
    else if (run.overlap === 'skip') skip.push(run);
    else if (run.overlap === 'cancel-previous') {
      cancels = true;
      // The newest one is wanted: an older one that waits has been overtaken.
      skip.push(...own);
      wait = [...wait.filter((one) => !own.includes(one)), run];
    } else if (run.isAsked !== true && own.length > 0) skip.push(run);
    else wait.push(run);
  }
  return { start, wait, skip, cancels: cancels && isBusy };
}
