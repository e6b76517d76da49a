/** What waits, over all runs: requested again and again, once for all parts of the page that show it. */
import { computed, signal } from '@preact/signals';
import { ask, session, type Problem } from './api.ts';
import { awaitFirst, repeat } from './query.ts';
import type { Wait, Waits } from './types.ts';
import { WaitPages, type WaitsPage } from './wait-pages.ts';

const pageSize = 500;
const refreshMs = 2_000;

/** Undefined until it is first known. */
export const waits = signal<Waits | undefined>(undefined);
export const waitsProblem = signal<Problem | undefined>(undefined);
export const waitsByRun = computed((): ReadonlyMap<string, readonly Wait[]> => {
  const { waits: open = [], waiting = [] } = waits.value ?? {};
  return Map.groupBy([...open, ...waiting], ({ runId }) => runId);
});

let isBusy = false;
let answered: (() => void) | undefined;
let shown = '';

const pages = new WaitPages((cursor) =>
  ask<WaitsPage>(`/waits?limit=${pageSize}${cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`}`),
);

/** Asks now. */
export async function reloadWaits(isForced = true): Promise<void> {
  if (isBusy || session.value !== 'signed-in') return;
  isBusy = true;
  answered ??= awaitFirst();
  try {
    const all = await pages.read(isForced, Date.now());
    const text = JSON.stringify(all);
    // An equal answer is the same object, so that nothing is drawn anew.
    if (text !== shown) waits.value = all;
    shown = text;
    waitsProblem.value = undefined;
  } catch (error) {
    waitsProblem.value = error as Problem;
  } finally {
    isBusy = false;
    answered();
  }
}

/** Begins to ask; once for the page. */
export function watchWaits(): void {
  const look = (): void => void reloadWaits(false);
  session.subscribe(() => {
    if (!document.hidden) look();
  });
  repeat(refreshMs, look);
}
