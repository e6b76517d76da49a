/** The index rows of open waits: what an inbox shows and an answer is checked against (W1, W2). Each carries a checksum of its own (C6). */
import type { OpenWait, RunKey, WaitRow } from '../../ports/store.ts';
import type { RunTree, WaitRecord } from '../../state/tree.ts';
import { decodeJson, encodeValue } from '../../state/values/codec.ts';
import { asBuffer, checksumOfRow } from './checksum.ts';

const encoder = new TextEncoder();

/** An open wait with its id and its run: what is shown, and what an answer is given to. */
export interface OpenQuestion extends WaitRecord {
  readonly waitId: string;
  readonly runId: string;
  /** Of the run. */
  readonly graphId: string;
  /** Its row does not fit its checksum: nothing of it is shown but the id, and it takes no answer. */
  readonly isDamaged?: true;
}

/** Waits that a value from outside can close. */
export function isAnswerable({ kind }: Pick<WaitRecord, 'kind'>): boolean {
  return kind === 'question' || kind === 'doubt';
}

/** The index row of an open wait of a run. */
export function waitRowOf(run: RunKey, waitId: string, wait: WaitRecord): WaitRow {
  const { kind, dueAt } = wait;
  const body = encoder.encode(encodeValue(wait));
  const row = { waitId, kind, body, ...(dueAt === undefined ? {} : { dueAt }) };
  return { ...row, checksum: checksumOfWait(run, row) };
}

function checksumOfWait({ tenant, runId }: RunKey, { waitId, kind, dueAt, body }: WaitRow): Uint8Array {
  return checksumOfRow(['wait', tenant, runId, waitId, kind, dueAt ?? null], body);
}

/** The rows that stand in the index when a run is in this state: those of a run that has ended are closed until it is resumed (G10). */
export function openWaitRows(run: RunKey, { status, waits }: Pick<RunTree, 'status' | 'waits'>): readonly WaitRow[] {
  if (status !== 'running' && status !== 'paused') return [];
  return Object.entries(waits).map(([waitId, wait]) => waitRowOf(run, waitId, wait));
}

/** Whether a row is as it was written. Those from before there were checksums are taken as they are. */
export function isSoundWait(row: OpenWait): boolean {
  return row.checksum === undefined || asBuffer(row.checksum).equals(checksumOfWait(row, row));
}

/** What a row says. */
export function readWait(row: OpenWait): OpenQuestion {
  const { runId, waitId, graphId, kind, body } = row;
  const wait = isSoundWait(row) ? decodeOrNothing(body) : undefined;
  if (wait === undefined) return { runId, waitId, graphId, kind, node: [], name: '', isDamaged: true };
  return { ...wait, runId, waitId, graphId };
}

/** Rows without a checksum may be damaged, too. */
function decodeOrNothing(body: Uint8Array): WaitRecord | undefined {
  try {
    const value = decodeJson(asBuffer(body).toString());
    return typeof value === 'object' && value !== null && 'node' in value ? (value as WaitRecord) : undefined;
  } catch {
    return undefined;
  }
}
