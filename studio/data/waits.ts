/** What waits, over all runs: requested again and again, once for all parts of the page that show it. */
import { computed, signal } from '@preact/signals';
import { ask, session, type Problem } from './api.ts';
import { awaitFirst, repeat } from './query.ts';
import type { Wait, Waits } from './types.ts';

interface WaitsPage extends Waits {
  readonly cursor?: string;
}

const pageSize = 500;
/** Pages that are walked: more open questions than anybody goes through. */
const pagesMax = 10;
const refreshMs = 2_000;
/** Of many, the rest is requested less often than the first page. */
const walkMs = 15_000;

/** Undefined until it is first known. */
export const waits = signal<Waits | undefined>(undefined);
export const waitsProblem = signal<Problem | undefined>(undefined);
export const waitsByRun = computed((): ReadonlyMap<string, readonly Wait[]> => {
  const { waits: open = [], waiting = [] } = waits.value ?? {};
  return Map.groupBy([...open, ...waiting], ({ runId }) => runId);
});

let older: WaitsPage | undefined;
let walkedAt = 0;
let isBusy = false;
let answered: (() => void) | undefined;
let shown = '';

const pageAt = (cursor: string | undefined): Promise<WaitsPage> =>
  ask<WaitsPage>(`/waits?limit=${pageSize}${cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`}`);

async function walk(start: string | undefined): Promise<WaitsPage | undefined> {
  let all: WaitsPage | undefined;
  let cursor = start;
  for (let page = 1; page < pagesMax && cursor !== undefined; page += 1) {
    const next: WaitsPage = await pageAt(cursor);
    all = all === undefined ? next : join(all, next);
    ({ cursor } = next);
  }
  return all;
}

const join = (first: WaitsPage, next: WaitsPage): WaitsPage => ({
  ...next,
  waits: [...first.waits, ...next.waits],
  waiting: [...first.waiting, ...next.waiting],
  answered: [...first.answered, ...next.answered],
});

/** Asks now. */
export async function reloadWaits(isForced = true): Promise<void> {
  if (isBusy || session.value !== 'signed-in') return;
  isBusy = true;
  answered ??= awaitFirst();
  try {
    const first = await pageAt(undefined);
    if (first.cursor === undefined) older = undefined;
    else if (isForced || older === undefined || Date.now() - walkedAt > walkMs) {
      older = await walk(first.cursor);
      walkedAt = Date.now();
    }
    const all = older === undefined ? first : withoutTwice(join(first, older));
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

/** What closed in the first page moves the others up into it. */
function withoutTwice(all: WaitsPage): WaitsPage {
  return { ...all, waits: [...new Map(all.waits.map((wait) => [`${wait.runId} ${wait.waitId}`, wait])).values()] };
}

/** Begins to ask; once for the page. */
export function watchWaits(): void {
  const look = (): void => void reloadWaits(false);
  session.subscribe(() => {
    if (!document.hidden) look();
  });
  repeat(refreshMs, look);
}
