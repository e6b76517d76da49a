/** Answers, signals and cancel requests on their way into a run: each carries a checksum of its own (C6). */
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

/** Whether a message is as it was written. Those from before there were checksums are taken as they are. */
export function isSoundMessage(run: RunKey, row: MessageRow): boolean {
  return row.checksum === undefined || asBuffer(row.checksum).equals(checksumOfMessage(run, row));
}

/** The messages that a run has not taken. @throws STORE_CORRUPT one of them is not as it was written: nobody knows what it said */
export async function readSound(store: Store, run: RunKey): Promise<readonly MessageRow[]> {
  const rows = await store.readMessages(run);
  for (const row of rows) if (!isSoundMessage(run, row)) throw damagedMessage(store.name, run, row);
  return rows;
}

/** What is told of a damaged message. */
export function damagedMessage(store: string, { runId }: RunKey, { kind, name }: MessageRow): CairnError {
  const reason = `a message of run ${runId}, its ${kind} ${name}, does not fit its checksum`;
  return new CairnError('STORE_CORRUPT', { store, reason });
}
