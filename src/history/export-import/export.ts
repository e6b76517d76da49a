/** Writes a run as text, to be copied or moved to another store (H4). */
import type { BlobStore } from '../../ports/blobs.ts';
import type { CheckpointRow, Claim, RunRow, Store, WaitRow } from '../../ports/store.ts';
import type { RunTree } from '../../state/tree.ts';
import { fileHashesIn } from '../../state/values/file-references.ts';
import { checkpointId, checkpointText, decodeCheckpoint, encodeCheckpoint, listBlobs } from '../stored/checkpoint.ts';
import { asBuffer, toHex } from '../stored/checksum.ts';
import { readMessagesIntact } from '../stored/messages.ts';
import { openWaitRows } from '../stored/wait-row.ts';
import { decodeOrNothing, decodeSnapshot, readSnapshotText } from '../stored/chain.ts';
import { exportVersion, type CheckpointLine, type ExportLine, type HeaderLine } from './export-masked.ts';
import { firstSeqOf, readLineage, readRows, type LineagePart } from '../load/lineage.ts';
import { loadState } from '../load/load.ts';
import { listMetaBlobs } from '../stored/stored-meta.ts';

export interface ExportOptions {
  /** The last checkpoint to export. Default: the head. */
  readonly upTo?: number;
  /** Close the run here, so that it can go on only where it is moved to. The head is then exported, whatever `upTo` says. */
  readonly close?: { readonly claim: Claim; /** Epoch ms. */ readonly at: number };
}

/**
 * Writes a run's history up to a checkpoint, its ancestors' part included, with its blobs, its tags and the messages not yet taken.
 *
 * With `close`, the run is closed after its checkpoints are written and before its messages are, so no message is accepted here that is not
 * exported. The store keeps everything until the text is safe: exporting a closed run again gives the same text.
 * @throws what loading the checkpoint throws, BLOB_NOT_FOUND, CLAIM_FENCED
 */
export async function* exportRun(
  store: Store,
  blobs: BlobStore,
  run: RunRow,
  options: ExportOptions = {},
): AsyncGenerator<string> {
  let lines = 0;
  for await (const line of exportLines(store, blobs, run, options)) {
    lines += 1;
    yield `${JSON.stringify(line)}\n`;
  }
  yield `${JSON.stringify({ end: lines } satisfies ExportLine)}\n`;
}

async function* exportLines(
  store: Store,
  blobs: BlobStore,
  run: RunRow,
  { upTo, close }: ExportOptions,
): AsyncGenerator<ExportLine> {
  const isClosed = await isMoved(store, run);
  const lastSeq = isClosed ? run.head - 1 : run.head;
  const head = close === undefined ? (upTo ?? lastSeq) : lastSeq;
  const { root, checksum } = await loadState(store, blobs, run, head);
  const parts = exportedParts(await readLineage(store, run), head);
  yield headerOf(run, head, parts, root);
  const sent = new Set<string>();
  yield* exportBlobs(blobs, run.tenant, listMetaBlobs(run), sent);
  yield* exportSnapshot(store, blobs, parts, sent);
  yield* exportCheckpoints(store, blobs, parts, sent);
  for (const part of parts) {
    for (const { name, seq } of await store.readTags(part.run)) if (seq <= part.upTo) yield { tag: name, seq };
  }
  if (close !== undefined && !isClosed) await closeMoved(store, run, close, root, checksum);
  if (head !== lastSeq) return;
  for (const { kind, name, body, at } of await readMessagesIntact(store, run)) {
    yield* exportBlobs(blobs, run.tenant, new Set(fileHashesIn(asBuffer(body).toString())), sent);
    yield { message: kind, name, body: toBase64(body), at };
  }
}

/** The runs to export. What lies before a pruned checkpoint is gone, so the lineage starts at the newest run that was pruned. */
function exportedParts(parts: readonly LineagePart[], head: number): readonly LineagePart[] {
  const within = parts.filter(({ run }) => firstSeqOf(run) <= head);
  const cut = within.findLastIndex(({ run }) => run.prunedBelow > 0);
  return within.slice(Math.max(cut, 0)).map(({ run, upTo }) => ({ run, upTo: Math.min(upTo, head) }));
}

const startOf = (run: RunRow): number => Math.max(firstSeqOf(run), run.prunedBelow);

function headerOf(run: RunRow, head: number, parts: readonly LineagePart[], root: RunTree): HeaderLine {
  return {
    cairn: 'export',
    v: exportVersion,
    runId: run.runId,
    graphId: run.graphId,
    graphHash: root.graphHash,
    ...(run.code !== undefined && run.graphHash === root.graphHash && { code: run.code }),
    status: root.status,
    head,
    first: parts[0] === undefined ? 0 : startOf(parts[0].run),
    lineage: parts.map((part) => ({ runId: part.run.runId, key: part.run.key, upTo: part.upTo })),
    meta: toBase64(run.meta),
    waits: openWaitRows(run, root).map(toWaitLine),
    schedule: run.schedule,
  };
}

/** A wait without its checksum: checksums depend on the store, so an import computes new ones. */
function toWaitLine({ waitId, kind, dueAt, body }: WaitRow): HeaderLine['waits'][number] {
  return { waitId, kind, body: toBase64(body), ...(dueAt === undefined ? {} : { dueAt }) };
}

/** Writes the snapshot of the first checkpoint, which holds what was pruned before it. */
async function* exportSnapshot(
  store: Store,
  blobs: BlobStore,
  [first]: readonly LineagePart[],
  sent: Set<string>,
): AsyncGenerator<ExportLine> {
  if (first === undefined || first.run.prunedBelow === 0) return;
  const { run } = first;
  const row = await store.readSnapshot(run, run.prunedBelow);
  if (row === undefined) return;
  yield* exportBlobs(blobs, run.tenant, listBlobs(decodeSnapshot(run.key, row).parseTree()), sent);
  yield { snapshot: row.seq, checksum: toHex(row.checksum), body: readSnapshotText(run.key, row) };
}

async function* exportCheckpoints(
  store: Store,
  blobs: BlobStore,
  parts: readonly LineagePart[],
  sent: Set<string>,
): AsyncGenerator<ExportLine> {
  for (const [index, { run, upTo }] of parts.entries()) {
    for await (const rows of readRows(store, run, startOf(run), upTo)) {
      for (const row of rows) {
        yield* exportBlobs(blobs, run.tenant, blobsOf(run, row), sent);
        yield toLine(index, run, row);
      }
    }
  }
}

/** Writes the blobs that a line refers to, before that line, so that an import never refers to a blob it does not have. */
async function* exportBlobs(
  blobs: BlobStore,
  tenant: string,
  hashes: ReadonlySet<string>,
  sent: Set<string>,
): AsyncGenerator<ExportLine> {
  for (const hash of hashes) {
    if (sent.has(hash)) continue;
    sent.add(hash);
    yield { blob: hash, bytes: toBase64(await blobs.get(tenant, hash)) };
  }
}

function blobsOf(run: RunRow, row: CheckpointRow): ReadonlySet<string> {
  const { hasTags, ops, nodeUpdates } = decodeCheckpoint({ runKey: run.key, seq: row.seq }, undefined, row);
  return hasTags ? listBlobs(nodeUpdates, listBlobs(ops)) : new Set();
}

function toLine(index: number, run: RunRow, row: CheckpointRow): CheckpointLine {
  const { seq, at, checksum } = row;
  return { checkpoint: seq, run: index, at, checksum: toHex(checksum), body: checkpointText(run.key, row) };
}

const toBase64 = (bytes: Uint8Array): string => asBuffer(bytes).toString('base64');

/** Whether the run's last checkpoint is the one that closed it for a move. */
async function isMoved(store: Store, run: RunRow): Promise<boolean> {
  const [row] = await store.readCheckpoints(run, { from: run.head, to: run.head, limit: 1 });
  const change = row && decodeOrNothing(run, row)?.change;
  return change?.some(({ kind, by }) => kind === 'cancel' && by === movedBy) === true;
}

const movedBy = 'export --move';

async function closeMoved(
  store: Store,
  run: RunRow,
  { claim, at }: NonNullable<ExportOptions['close']>,
  root: RunTree,
  checksum: Uint8Array,
): Promise<void> {
  const seq = run.head + 1;
  const change = JSON.stringify([{ kind: 'cancel', by: movedBy, detail: { moved: checkpointId(run.key, run.head) } }]);
  const encoded = encodeCheckpoint({ runKey: run.key, seq }, checksum, at, change, '[["s",["status"],"cancelled"]]');
  await store.commit({
    claim,
    checkpoint: { seq, at, ...encoded },
    status: 'cancelled',
    closeWaits: Object.keys(root.waits),
    durability: store.capabilities.durability,
  });
}
