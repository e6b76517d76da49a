/** Reads every text that is stored for a run, and finds the blobs that it names: what references are held against, and made from where there are none. */
import { CairnError } from '../../errors.ts';
import type { ReadTexts } from '../../ports/blob-references.ts';
import type { RunRow, Store } from '../../ports/store.ts';
import { readAllWaits } from '../access/read-all.ts';
import { firstSeqOf } from '../load/lineage.ts';
import { readSnapshotText } from '../stored/chain.ts';
import { checkpointText } from '../stored/checkpoint.ts';
import { asBuffer } from '../stored/checksum.ts';

const pageRows = 256;

/** Matches the hashes in a stored text. However a blob is referred to (as a value, a file or a node's output), its hash is in the text. */
const hashes = /(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/g;

/** Its row, checkpoints, snapshots, open waits and messages. Its ancestors' texts belong to them. @param read - gets what was seen */
async function* textsOf(store: Store, run: RunRow, read: (seen: ReadTexts) => void): AsyncGenerator<string> {
  const text = (bytes: Uint8Array): string => asBuffer(bytes).toString('latin1');
  yield text(run.meta);
  for (let from = firstSeqOf(run); from <= run.head;) {
    const rows = await store.readCheckpoints(run, { from, to: run.head, limit: pageRows });
    for (const row of rows) yield checkpointText(run.key, row);
    from = (rows.at(-1)?.seq ?? run.head) + 1;
  }
  for (let seq = run.head; seq >= 0;) {
    const snapshot = await store.readSnapshot(run, seq);
    if (snapshot === undefined) break;
    yield readSnapshotText(run.key, snapshot);
    seq = snapshot.seq - 1;
  }
  for await (const { body } of readAllWaits({ store, tenant: run.tenant }, { runId: run.runId })) yield text(body);
  const messages = await store.readMessages(run);
  for (const { body } of messages) yield text(body);
  read({ head: run.head, claims: run.claims, messages: messages.map(({ id }) => id) });
}

/** The hashes in a text of a row. */
export function hashesInMeta({ meta }: Pick<RunRow, 'meta'>): ReadonlySet<string> {
  return new Set(asBuffer(meta).toString('latin1').match(hashes));
}

/** The hashes in all texts of a run. @throws CHECKPOINT_CORRUPT */
export async function readNamed(
  store: Store,
  run: RunRow,
): Promise<{ readonly hashes: ReadonlySet<string>; readonly read: ReadTexts }> {
  const found = new Set<string>();
  let read: ReadTexts = { head: -1, claims: -1, messages: [] };
  for await (const text of textsOf(store, run, (seen) => void (read = seen)))
    for (const [hash] of text.matchAll(hashes)) found.add(hash);
  return { hashes: found, read };
}

/** The hashes in those texts of a run that can be read. */
export async function readNamedIfSound(store: Store, run: RunRow): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  try {
    for await (const text of textsOf(store, run, () => undefined))
      for (const [hash] of text.matchAll(hashes)) found.add(hash);
  } catch (error) {
    if (!CairnError.is(error, 'CHECKPOINT_CORRUPT')) throw error;
  }
  return found;
}
