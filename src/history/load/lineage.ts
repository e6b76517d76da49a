/** The line of runs a history goes back through, and its checkpoints in order, page by page (H2, C6). */
import { CairnError } from '../../errors.ts';
import type { CheckpointRow, RunRow, Store } from '../../ports/store.ts';
import { decodeCheckpoint, rootChecksum, type DecodedCheckpoint } from '../stored/checkpoint.ts';
import { Chain, decodeOrNothing, missingError } from '../stored/chain.ts';
import { decodeSnapshot } from '../stored/snapshot.ts';

/** A run of a lineage and the newest of its checkpoints that belongs to the history in question. */
export interface LineagePart {
  readonly run: RunRow;
  readonly upTo: number;
}

/** One verified checkpoint of a history, and the run whose own it is. */
export interface HistoryEntry {
  readonly run: RunRow;
  readonly checkpoint: DecodedCheckpoint;
  /** Size of the row's body. */
  readonly sizeBytes: number;
}

const pageRows = 256;

/** The seq of a run's own first checkpoint, pruned or not: 0, or the one after its fork point. */
export function firstSeqOf(run: RunRow): number {
  return run.parent === undefined ? 0 : run.parent.seq + 1;
}

/** @throws RUN_NOT_FOUND the run a fork came from is gone */
export async function readParent(store: Store, run: RunRow): Promise<LineagePart | undefined> {
  if (run.parent === undefined) return undefined;
  const { runId, seq } = run.parent;
  const parent = await store.readRun({ tenant: run.tenant, runId });
  if (parent === undefined) throw new CairnError('RUN_NOT_FOUND', { runId });
  return { run: parent, upTo: seq };
}

/**
 * The runs that make up a run's history, the oldest ancestor first, the run itself last.
 * @throws RUN_NOT_FOUND
 */
export async function readLineage(store: Store, run: RunRow): Promise<readonly LineagePart[]> {
  const parts: LineagePart[] = [{ run, upTo: run.head }];
  for (let part = await readParent(store, run); part !== undefined; part = await readParent(store, part.run)) {
    // A fork of an ancestor below that ancestor's own fork point takes nothing of it.
    const upTo = Math.min(part.upTo, parts[0]!.upTo);
    parts.unshift({ run: part.run, upTo });
  }
  return parts;
}

/**
 * The run of a lineage whose own checkpoint a seq is: the parent that a fork from there names.
 * @throws RUN_NOT_FOUND
 */
export async function readOwner(store: Store, run: RunRow, seq: number): Promise<RunRow> {
  let owner = run;
  while (seq < firstSeqOf(owner)) owner = (await readParent(store, owner))!.run;
  return owner;
}

/** Rows of one run in pages, ascending. */
export async function* readRows(
  store: Store,
  run: RunRow,
  from: number,
  to: number,
): AsyncGenerator<readonly CheckpointRow[]> {
  for (let next = from; next <= to;) {
    const rows = await store.readCheckpoints(run, { from: next, to, limit: pageRows });
    if (rows.length === 0) return;
    yield rows;
    next = rows.at(-1)!.seq + 1;
  }
}

/** What a checkpoint's successor has as its parent; undefined if nothing tells any more. Not verified: the successor's checksum does that. */
export async function readLink(store: Store, run: RunRow, seq: number): Promise<Uint8Array | undefined> {
  if (seq < 0) return rootChecksum;
  if (seq < firstSeqOf(run)) {
    const parent = await readParent(store, run);
    return parent === undefined ? undefined : readLink(store, parent.run, seq);
  }
  const [row] = await store.readCheckpoints(run, { from: seq, to: seq, limit: 1 });
  if (row !== undefined) return decodeCheckpoint({ runKey: run.key, seq }, undefined, row).link;
  if (seq >= run.prunedBelow) return undefined;
  // Where everything before was pruned, the oldest kept checkpoint's snapshot remembers its parent.
  const snapshot = await store.readSnapshot(run, run.prunedBelow);
  return snapshot?.seq === run.prunedBelow ? decodeSnapshot(run.key, snapshot).parent : undefined;
}

/**
 * The checkpoints of a history with `from <= seq <= to`, ascending through the lineage, each verified against the one before it.
 * What was pruned is left out.
 * @throws CHECKPOINT_CORRUPT, CHECKPOINT_VERSION_UNKNOWN, RUN_NOT_FOUND
 */
export async function* readHistory(
  store: Store,
  run: RunRow,
  range: { readonly from: number; readonly to: number },
): AsyncGenerator<HistoryEntry> {
  let chain: Chain | undefined;
  for (const part of await readLineage(store, run)) {
    const from = Math.max(range.from, firstSeqOf(part.run));
    const to = Math.min(range.to, part.upTo);
    for await (const rows of readRows(store, part.run, from, to)) {
      for (const row of rows) {
        chain = await continueChain(store, part.run, row, from, chain);
        yield { run: part.run, checkpoint: chain.verify(part.run, row), sizeBytes: row.body.length };
      }
    }
    // Fork points and heads are never pruned.
    const isWhole = to < part.upTo || to < from || chain?.seq === to;
    if (!isWhole) throw missingError(part.run, Math.max(from, (chain?.seq ?? -1) + 1), chain?.intact);
  }
}

/** The chain that a row is to continue: the one before it, or a new one at the start and where a fork's first checkpoints were pruned. */
async function continueChain(
  store: Store,
  run: RunRow,
  row: CheckpointRow,
  from: number,
  chain: Chain | undefined,
): Promise<Chain> {
  if (chain !== undefined && row.seq !== run.prunedBelow) return chain;
  const first = Math.max(from, run.prunedBelow);
  // A fold may begin before the range asked for; any other gap before the first row is a loss.
  const before = Math.min(decodeOrNothing(run, row)?.fold?.after ?? row.seq - 1, first - 1);
  return new Chain(before, await readLink(store, run, before));
}
