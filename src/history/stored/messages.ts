/** Messages to a run (answers, signals and cancel requests), each with its own checksum (C6). */
import { CairnError } from '../../errors.ts';
import type { Message, MessageReply, MessageRow, RunKey, Store } from '../../ports/store.ts';
import { asBuffer, checksumOfRow } from './checksum.ts';

type Content = Pick<Message, 'kind' | 'name' | 'body' | 'at'>;

function checksumOfMessage({ tenant, runId }: RunKey, { kind, name, body, at }: Content): Uint8Array {
  return checksumOfRow(['message', tenant, runId, kind, name, at], body);
}

/** Posts a message with its checksum. @throws RUN_NOT_FOUND */
export function postSealed(store: Store, message: Omit<Message, 'checksum'>): Promise<MessageReply> {
  return store.postMessage({ ...message, checksum: checksumOfMessage(message, message) });
}

/** Whether a message matches its checksum. Messages from before checksums existed are accepted. */
export function isSoundMessage(run: RunKey, row: MessageRow): boolean {
  return row.checksum === undefined || asBuffer(row.checksum).equals(checksumOfMessage(run, row));
}

/** The messages that no commit has taken yet. @throws STORE_CORRUPT one does not match its checksum, so its content is unknown */
export async function readSound(store: Store, run: RunKey): Promise<readonly MessageRow[]> {
  const rows = await store.readMessages(run);
  for (const row of rows) if (!isSoundMessage(run, row)) throw damagedMessage(store.name, run, row);
  return rows;
}

/** The error for a damaged message. */
export function damagedMessage(store: string, { runId }: RunKey, { kind, name }: MessageRow): CairnError {
  const reason = `a message of run ${runId}, its ${kind} ${name}, does not fit its checksum`;
  return new CairnError('STORE_CORRUPT', { store, reason });
}
