/** The index rows of open waits: what an inbox shows and an answer is checked against (W1, W2). */
import type { WaitRow } from '../ports/store.ts';
import { encodeValue } from '../state/values/codec.ts';
import type { RunTree, WaitRecord } from '../state/tree.ts';

const encoder = new TextEncoder();

/** The index row of an open wait. */
export function waitRowOf(waitId: string, wait: WaitRecord): WaitRow {
  const body = encoder.encode(encodeValue(wait));
  return { waitId, kind: wait.kind, body, ...(wait.dueAt === undefined ? {} : { dueAt: wait.dueAt }) };
}

/** The rows that stand in the index when a run is in this state: those of a run that has ended are closed until it is resumed (G10). */
export function openWaitRows({ status, waits }: Pick<RunTree, 'status' | 'waits'>): readonly WaitRow[] {
  if (status !== 'running' && status !== 'paused') return [];
  return Object.entries(waits).map(([waitId, wait]) => waitRowOf(waitId, wait));
}
