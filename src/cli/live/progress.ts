/** How far a command is that goes through all runs: a line on the terminal, below what is printed meanwhile. */
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

/** It draws nothing where nobody sees it. */
export interface Progress {
  /** Called with how many runs are done, and out of how many, if that is known. */
  readonly at: (runs: number, total?: number) => void;
  /** It is known by now how many runs there are. */
  readonly expect: (total: number) => void;
  /** It is over: the line goes. */
  readonly end: () => void;
}

export async function openProgress(
  screen: Pick<Screen, 'progress'>,
  { store, tenant }: Pick<ReadContext, 'store' | 'tenant'>,
  { done, isOfAll }: ProgressWords,
): Promise<Progress> {
  const total = isOfAll && screen.progress !== undefined ? await store.countRuns?.({ tenant }) : undefined;
  return drawProgress(screen, done, total);
}

/** @param word - what is done with runs: `looked at` */
export function drawProgress({ progress }: Pick<Screen, 'progress'>, word: string, total?: number): Progress {
  if (progress === undefined) return { at: () => {}, expect: () => {}, end: () => {} };
  let all = total;
  let nextMs = performance.now() + quietMs;
  return {
    at(runs, known = all) {
      const nowMs = performance.now();
      if (nowMs < nextMs) return;
      nextMs = nowMs + redrawMs;
      // Runs are admitted meanwhile.
      const remaining = known === undefined ? -1 : known - runs;
      progress(
        remaining < 0
          ? `${word} ${countOf(runs, 'run')}`
          : `${word} ${runs} of ${countOf(runs + remaining, 'run')}, ${remaining} to go`,
      );
    },
    expect(count) {
      all = count;
    },
    end: () => progress(),
  };
}

/** The same items, counted when whoever reads them comes for the next. */
export async function* countEach<Item, Rest>(
  items: AsyncGenerator<Item, Rest>,
  progress: Progress,
): AsyncGenerator<Item, Rest> {
  try {
    for (let count = 1; ; count += 1) {
      const next = await items.next();
      if (next.done === true) return next.value;
      yield next.value;
      progress.at(count);
    }
  } finally {
    progress.end();
  }
}
