/** How far a command is that goes through all runs: a line on the terminal, until something is printed in its place. */
import type { ReadContext } from '../../operations/contract/operation.ts';
import { countOf } from '../../operations/format/amounts.ts';
import type { Screen } from '../screen.ts';

/** Shorter work is over before anybody asks how far it is. */
const quietMs = 500;
const redrawMs = 100;

/** What a command says meanwhile. */
export interface ProgressWords {
  /** What is done with runs: `looked at`. */
  readonly done: string;
  /** Whether it is done with all runs of the store, so that it is known how many are to go. */
  readonly isOfAll: boolean;
}

/** @returns called with how many runs are done; it draws nothing where nobody sees it */
export async function openProgress(
  { progress }: Pick<Screen, 'progress'>,
  { store, tenant }: Pick<ReadContext, 'store' | 'tenant'>,
  { done: word, isOfAll }: ProgressWords,
): Promise<(runs: number) => void> {
  if (progress === undefined) return () => {};
  const total = isOfAll ? await store.countRuns?.({ tenant }) : undefined;
  let nextMs = performance.now() + quietMs;
  return (runs) => {
    const nowMs = performance.now();
    if (nowMs < nextMs) return;
    nextMs = nowMs + redrawMs;
    // Runs are admitted meanwhile.
    const remaining = total === undefined ? -1 : total - runs;
    progress(
      remaining < 0
        ? `${word} ${countOf(runs, 'run')}`
        : `${word} ${runs} of ${countOf(runs + remaining, 'run')}, ${remaining} to go`,
    );
  };
}

/** The same items, counted when whoever reads them comes for the next. */
export async function* countEach<Item, Rest>(
  items: AsyncGenerator<Item, Rest>,
  progressed: (count: number) => void,
): AsyncGenerator<Item, Rest> {
  for (let count = 1; ; count += 1) {
    const next = await items.next();
    if (next.done === true) return next.value;
    yield next.value;
    progressed(count);
  }
}
