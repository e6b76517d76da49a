/** Messages to runs, as they are stored: answers and signals, each with its own checksum (C6). */
import { CairnError } from '../../errors.ts';
import type { Message, MessageReply, MessageRow, RunKey, Store } from '../../ports/store.ts';
import type { PendingSignal } from '../../state/tree.ts';
import { decodeJson } from '../../state/values/revive.ts';
import { checksumOfRow, asBuffer } from './checksum.ts';
import { namedByBody } from './named-blobs.ts';

type Content = Pick<Message, 'kind' | 'name' | 'body' | 'at'>;

function checksumOfMessage({ tenant, runId }: RunKey, { kind, name, body, at }: Content): Uint8Array {
  return checksumOfRow(['message', tenant, runId, kind, name, at], body);
}

/** Posts a message with its checksum. @throws RUN_NOT_FOUND */
export function postSealed(store: Store, message: Omit<Message, 'checksum'>): Promise<MessageReply> {
  return store.postMessage({ ...message, checksum: checksumOfMessage(message, message), ...namedByBody(message.body) });
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

/** A posted signal that the run has not taken yet. */
interface PostedSignal extends PendingSignal {
  readonly id: string;
}

/** Posted signals that the run has not taken yet, oldest first. @throws STORE_CORRUPT */
export async function readPostedSignals(store: Store, run: RunKey): Promise<readonly PostedSignal[]> {
  const rows = (await readMessagesIntact(store, run)).filter(({ kind }) => kind === 'signal');
  return rows.map(({ name, body }) => ({ id: name, ...(decodeJson(asBuffer(body).toString()) as PendingSignal) }));
}

/** Values of posted signals of a name that the run has not taken yet, oldest first. @throws STORE_CORRUPT */
export async function readPendingSignals(store: Store, run: RunKey, name: string): Promise<readonly unknown[]> {
  return (await readPostedSignals(store, run)).flatMap(({ signal, value }) => (signal === name ? [value] : []));
}

/** The error for a damaged message. */
function damagedMessage(store: string, { runId }: RunKey, { kind, name }: MessageRow): CairnError {
  const reason = `a message of run ${runId}, its ${kind} ${name}, does not fit its checksum`;
  return new CairnError('STORE_CORRUPT', { store, reason });
}
