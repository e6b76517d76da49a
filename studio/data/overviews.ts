/** What the runs in view have spent, why one failed, and in which fork it succeeded. A run is requested once at each of its heads. */
import { signal } from '@preact/signals';
import { ask, encode } from './api.ts';
import type { Amounts, ListedRun } from './types.ts';

interface Overview {
  readonly seq: number;
  readonly spent: Amounts;
  readonly succeededIn?: string;
  /** Why it failed. */
  readonly error?: { readonly code: string; readonly message: string; readonly node: string };
  readonly requestedAt: number;
}

/** By run. */
export const overviews = signal<ReadonlyMap<string, Overview>>(new Map());
const runsMax = 50;
const waitingMax = 500;
const settleMs = 150;
const againMs = 1_000;
let timer: ReturnType<typeof setTimeout> | undefined;
const wanted = new Map<string, number>();

/** Says that a run is seen. */
export function wantOverview({ runId, head, status }: Pick<ListedRun, 'runId' | 'head' | 'status'>): void {
  const known = overviews.peek().get(runId);
  // Of a run that failed, a fork may complete at any time.
  const isSettled =
    status !== 'failed' || known?.succeededIn !== undefined || Date.now() - (known?.requestedAt ?? 0) < againMs;
  if ((known?.seq === head && isSettled) || wanted.get(runId) === head) return;
  wanted.set(runId, head);
  timer ??= setTimeout(() => void load(), settleMs);
}

async function load(): Promise<void> {
  // Those that were seen last come first, and of many that were passed over only some.
  const heads = [...wanted].slice(-runsMax);
  for (const [runId] of heads) wanted.delete(runId);
  for (const [runId] of [...wanted].slice(0, -waitingMax)) wanted.delete(runId);
  try {
    const names = heads.map(([runId]) => `run=${encode(runId)}`).join('&');
    const { runs } = await ask<{ readonly runs: readonly (Omit<Overview, 'askedAt'> & { readonly runId: string })[] }>(
      `/overviews?${names}`,
    );
    const all = new Map(overviews.peek());
    const requestedAt = Date.now();
    // A run that cannot be read is not requested again.
    for (const [runId, seq] of heads) all.set(runId, { seq, spent: {}, requestedAt });
    // It may have moved on meanwhile: it is known as of the requested head.
    for (const { runId, ...known } of runs)
      all.set(runId, { ...known, requestedAt, seq: all.get(runId)?.seq ?? known.seq });
    overviews.value = all;
  } catch {
    // Asked again when they are seen again.
  }
  timer = wanted.size > 0 ? setTimeout(() => void load(), settleMs) : undefined;
}
