/** Messages to a run (answers, signals and cancel requests), each with its own checksum (C6). */
import { createHash, hash } from 'node:crypto';
import { CairnError } from '../../errors.ts';
import type { Message, MessageReply, MessageRow, RunKey, Store, OpenWait, WaitRow } from '../../ports/store.ts';
import { isRunOver, type RunTree, type WaitRecord } from '../../state/tree.ts';
import { decodeJson, encodeValue } from '../../state/values/codec.ts';

// Computes and verifies checksums of stored history, with as little copying as possible (C6).

const checksumBytes = 32;
const headerRoom = 256;
/** From this size on, hashing piece by piece is cheaper than copying the body next to its header. */
const streamedBytes = 32 * 1024;

/** Reused by all calls, which are synchronous. Allocating a buffer for each row would cost as much as hashing it. */
const scratch = Buffer.allocUnsafeSlow(headerRoom + streamedBytes);

/** The bytes hashed before a body: the prefix, which is ASCII, and the parent's checksum in hex. */
const headerOf = (prefix: string, parent: Uint8Array): string => `${prefix}${toHex(parent)}.`;

/** Encodes a text and computes its checksum over one buffer. */
export function encodeWithChecksum(
  prefix: string,
  parent: Uint8Array,
  text: string,
): { readonly body: Uint8Array; readonly checksum: Uint8Array } {
  const header = headerOf(prefix, parent);
  const bytes = Buffer.from(header + text);
  return { body: bytes.subarray(header.length), checksum: Buffer.from(hash('sha256', bytes, 'hex'), 'hex') };
}

/** The checksum of an existing body. */
export function computeChecksum(prefix: string, parent: Uint8Array, body: Uint8Array): Uint8Array {
  return Buffer.from(hashBody(prefix, parent, body), 'hex');
}

/** Whether a stored checksum is that of these bytes. */
export function isChecksumRight(prefix: string, parent: Uint8Array, body: Uint8Array, checksum: Uint8Array): boolean {
  return checksum.length === checksumBytes && hashBody(prefix, parent, body) === toHex(checksum);
}

function hashBody(prefix: string, parent: Uint8Array, body: Uint8Array): string {
  const header = headerOf(prefix, parent);
  if (body.length > streamedBytes || header.length > headerRoom) {
    return createHash('sha256').update(header).update(body).digest('hex');
  }
  const start = scratch.write(header, 0, 'latin1');
  scratch.set(body, start);
  return hash('sha256', scratch.subarray(0, start + body.length), 'hex');
}

/** The checksum of a row other than a checkpoint: 32 bytes over its identifying values, in fixed order, and its body. */
export function checksumOfRow(place: readonly (string | number | null)[], body: Uint8Array): Uint8Array {
  return createHash('sha256').update(JSON.stringify(place)).update(body).digest();
}

/** The same bytes as a Buffer, which has fast decoders. */
export function asBuffer(bytes: Uint8Array): Buffer {
  if (bytes instanceof Buffer) return bytes;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** A checksum as 64 hex digits. */
export function toHex(checksum: Uint8Array): string {
  return asBuffer(checksum).toString('hex');
}

type Content = Pick<Message, 'kind' | 'name' | 'body' | 'at'>;

function checksumOfMessage({ tenant, runId }: RunKey, { kind, name, body, at }: Content): Uint8Array {
  return checksumOfRow(['message', tenant, runId, kind, name, at], body);
}

/** Posts a message with its checksum. @throws RUN_NOT_FOUND */
export function postSealed(store: Store, message: Omit<Message, 'checksum'>): Promise<MessageReply> {
  return store.postMessage({ ...message, checksum: checksumOfMessage(message, message) });
}

/** Whether a message matches its checksum. Messages from before checksums existed are accepted. */
export function isIntactMessage(run: RunKey, row: MessageRow): boolean {
  return row.checksum === undefined || asBuffer(row.checksum).equals(checksumOfMessage(run, row));
}

/** The messages that no commit has taken yet. @throws STORE_CORRUPT one does not match its checksum, so its content is unknown */
export async function readMessagesIntact(store: Store, run: RunKey): Promise<readonly MessageRow[]> {
  const rows = await store.readMessages(run);
  for (const row of rows) if (!isIntactMessage(run, row)) throw damagedMessage(store.name, run, row);
  return rows;
}

/** Values of posted signals of a name that the run has not taken yet, oldest first. @throws STORE_CORRUPT */
export async function readPendingSignals(store: Store, run: RunKey, name: string): Promise<readonly unknown[]> {
  const rows = (await readMessagesIntact(store, run)).filter(({ kind }) => kind === 'signal');
  return rows.flatMap(({ body }) => {
    const { signal, value } = decodeJson(asBuffer(body).toString()) as { readonly signal?: string; value?: unknown };
    return signal === name ? [value] : [];
  });
}

/** The error for a damaged message. */
export function damagedMessage(store: string, { runId }: RunKey, { kind, name }: MessageRow): CairnError {
  const reason = `a message of run ${runId}, its ${kind} ${name}, does not fit its checksum`;
  return new CairnError('STORE_CORRUPT', { store, reason });
}

// The index rows of open waits: what is shown to people, and what answers are checked against (W1, W2). Each has its own checksum (C6).

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
  const { kind, dueAt, openedAt } = wait;
  const body = encoder.encode(encodeValue(wait));
  const row = { waitId, kind, body, ...(dueAt === undefined ? {} : { dueAt }) };
  const opened = dueAt === undefined || openedAt === undefined ? {} : { openedAt };
  return { ...row, ...opened, checksum: checksumOfWait(run, row) };
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
  const { runId, waitId, graphId, kind, body } = row;
  const wait = isIntactWait(row) ? decodeOrNothing(body) : undefined;
  if (wait === undefined) return { runId, waitId, graphId, kind, node: [], name: '', isDamaged: true };
  return { ...wait, runId, waitId, graphId };
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
