/** The index rows of open waits: what is shown to people, and what answers are checked against (W1, W2). Each has its own checksum (C6). */
import type { RunKey, OpenWait, WaitRow } from '../../ports/store.ts';
import { isRunOver, nextDueOf, type RunTree, type WaitRecord } from '../../state/tree.ts';
import { decodeJson } from '../../state/values/revive.ts';
import { encodeValue } from '../../state/values/encode.ts';
import { checksumOfRow, asBuffer } from './checksum.ts';
import { namedByBody } from './named-blobs.ts';

const encoder = new TextEncoder();

/** An open wait with its id and its run, as it is shown to whoever may answer it. */
export interface OpenQuestion extends WaitRecord {
  readonly waitId: string;
  readonly runId: string;
  /** Id of the run's graph. */
  readonly graphId: string;
  /** True if its answer is posted and waits to be taken. Only in listings for whoever answers; others omit such a wait. */
  readonly isAnswered?: true;
  /** True if the row does not match its checksum. Then only its id is shown, and it cannot be answered. */
  readonly isDamaged?: true;
}

/** Whether a value from outside can close the wait. */
export function isAnswerable({ kind }: Pick<WaitRecord, 'kind'>): boolean {
  return kind === 'question' || kind === 'doubt';
}

/** The index row of an open wait of a run. */
export function waitRowOf(run: RunKey, waitId: string, wait: WaitRecord): WaitRow {
  const { kind, openedAt } = wait;
  const dueAt = nextDueOf(wait);
  const body = encoder.encode(encodeValue(wait));
  const row = { waitId, kind, body, ...(dueAt === undefined ? {} : { dueAt }) };
  const opened = dueAt === undefined || openedAt === undefined ? {} : { openedAt };
  return { ...row, ...opened, checksum: checksumOfWait(run, row), ...namedByBody(body) };
}

function checksumOfWait({ tenant, runId }: RunKey, { waitId, kind, dueAt, body }: WaitRow): Uint8Array {
  return checksumOfRow(['wait', tenant, runId, waitId, kind, dueAt ?? null], body);
}

/** The index rows for a run in this state. A run that has ended has none until it is resumed (G10). */
export function openWaitRows(run: RunKey, { status, waits }: Pick<RunTree, 'status' | 'waits'>): readonly WaitRow[] {
  if (isRunOver(status)) return [];
  return Object.entries(waits).map(([waitId, wait]) => waitRowOf(run, waitId, wait));
}

/** Whether a row matches its checksum. Rows from before checksums existed are accepted. */
export function isIntactWait(row: OpenWait): boolean {
  return row.checksum === undefined || asBuffer(row.checksum).equals(checksumOfWait(row, row));
}

/** Decodes a row. */
export function readWait(row: OpenWait): OpenQuestion {
  const { runId, waitId, graphId, body } = row;
  // What is owed to a webhook is no question: nobody reads one here.
  const kind = row.kind as WaitRecord['kind'];
  const wait = isIntactWait(row) ? decodeOrNothing(body) : undefined;
  if (wait === undefined) return { runId, waitId, graphId, kind, node: [], name: '', isDamaged: true };
  return { ...wait, runId, waitId, graphId };
}

/** The row of a delivery that a commit owes. @param owed - plain JSON */
export function sealedDelivery(run: RunKey, waitId: string, owed: object): WaitRow {
  const row = { waitId, kind: 'delivery' as const, body: encoder.encode(JSON.stringify(owed)) };
  return { ...row, checksum: checksumOfWait(run, row), ...namedByBody(row.body) };
}

/** What is owed by a row; undefined if it is damaged. */
export function readDelivery(run: RunKey, row: WaitRow): unknown {
  const { checksum, body } = row;
  if (checksum === undefined || !asBuffer(checksum).equals(checksumOfWait(run, row))) return undefined;
  return JSON.parse(asBuffer(body).toString());
}

/** Decodes a body; undefined if it is damaged, which a row without a checksum may be. */
function decodeOrNothing(body: Uint8Array): WaitRecord | undefined {
  try {
    const value = decodeJson(asBuffer(body).toString());
    return typeof value === 'object' && value !== null && 'node' in value ? (value as WaitRecord) : undefined;
  } catch {
    return undefined;
  }
}
