/** The lineage of a run: the run and the ancestors it was forked from. Reads their checkpoints in order, page by page (H2, C6). */
import { CairnError } from '../../errors.ts';
import type { CheckpointRow, RunRow, Store } from '../../ports/store.ts';
import { elsewhere, pause } from '../stored/pace.ts';
import { checkpointId, decodeCheckpoint, rootChecksum, type DecodedCheckpoint } from '../stored/checkpoint.ts';
import { Chain, decodeOrNothing, missingError, decodeSnapshot } from '../stored/chain.ts';

/** A run of a lineage and the newest of its checkpoints that belongs to the history in question. */
export interface LineagePart {
  readonly run: RunRow;
  readonly upTo: number;
}

/** One verified checkpoint and the run that it belongs to, which may be an ancestor. */
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

/** The run that a fork came from, up to the fork point; undefined for an original. @throws RUN_NOT_FOUND that run is gone */
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
    // If a fork was made below its ancestor's own fork point, nothing of that ancestor belongs to its history.
    const upTo = Math.min(part.upTo, parts[0]!.upTo);
    parts.unshift({ run: part.run, upTo });
  }
  return parts;
}

/**
 * The run in a lineage that a seq belongs to. A fork at that seq has it as its parent.
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
    const rows = await elsewhere(() => store.readCheckpoints(run, { from: next, to, limit: pageRows }));
    if (rows.length === 0) return;
    await pause(rows.length);
    yield rows;
    next = rows.at(-1)!.seq + 1;
  }
}

/**
 * The checksum that the checkpoint after `seq` names as its parent; undefined if that is no longer known. It is not verified here: the
 * checksum of that checkpoint covers it.
 */
export async function readLink(store: Store, run: RunRow, seq: number): Promise<Uint8Array | undefined> {
  if (seq < 0) return rootChecksum;
  if (seq < firstSeqOf(run)) {
    const parent = await readParent(store, run);
    return parent === undefined ? undefined : readLink(store, parent.run, seq);
  }
  const [row] = await store.readCheckpoints(run, { from: seq, to: seq, limit: 1 });
  if (row !== undefined) return decodeCheckpoint({ runKey: run.key, seq }, undefined, row).link;
  if (seq >= run.prunedBelow) return undefined;
  // If all earlier checkpoints were pruned, the snapshot of the oldest one that remains has this checksum.
  const snapshot = await store.readSnapshot(run, run.prunedBelow);
  return snapshot?.seq === run.prunedBelow ? decodeSnapshot(run.key, snapshot).parent : undefined;
}

/**
 * The checkpoints of a history with `from <= seq <= to`, ascending, ancestors first. Each is verified against the one before it. Pruned
 * checkpoints are left out.
 * @throws CHECKPOINT_CORRUPT, CHECKPOINT_VERSION_UNKNOWN, RUN_NOT_FOUND
 */
export async function* readHistory(
  store: Store,
  run: RunRow,
  range: { readonly from: number; readonly to: number },
): AsyncGenerator<HistoryEntry> {
  try {
    yield* readChain(store, run, range);
  } catch (error) {
    if (!CairnError.is(error, 'CHECKPOINT_CORRUPT')) throw error;
    await readAgain(store, run);
    throw await nameLater(store, run, await nameEarlier(store, run, error));
  }
}

/** The row of a run as it is by now. @throws RUN_NOT_FOUND it was removed since it was read; another run may have its name */
export async function readAgain(store: Store, known: RunRow): Promise<RunRow> {
  const run = await store.readRun(known);
  if (run?.key !== known.key) throw new CairnError('RUN_NOT_FOUND', { runId: known.runId });
  return run;
}

const damagedSeqOf = ({ data }: CairnError): number => Number(String(data['checkpoint']).split('.').at(-1));

/** Adds the newest intact checkpoint before a damaged one, where reading began too close to it to have seen one (K4). */
async function nameEarlier(store: Store, run: RunRow, error: CairnError): Promise<CairnError> {
  if (error.data['intact'] !== undefined) return error;
  let intact: string | undefined;
  try {
    for await (const { run: owner, checkpoint } of readChain(store, run, { from: 0, to: damagedSeqOf(error) - 1 }))
      intact = checkpointId(owner.key, checkpoint.seq);
  } catch {
    // What comes before is damaged too: the last one that was verified counts.
  }
  return intact === undefined ? error : withData(error, { intact });
}

/** Adds the newest sound snapshot behind it to the report of a damaged checkpoint (K4). */
export async function nameLater(store: Store, run: RunRow, error: unknown): Promise<unknown> {
  if (!CairnError.is(error, 'CHECKPOINT_CORRUPT')) return error;
  const damagedSeq = damagedSeqOf(error);
  const row = await store.readSnapshot(run, run.head);
  if (row === undefined || row.seq <= damagedSeq) return error;
  try {
    decodeSnapshot(run.key, row);
  } catch {
    return error;
  }
  return withData(error, { later: checkpointId(run.key, row.seq) });
}

/** The report of a damaged checkpoint, with more that is known of it. */
export function withData(error: CairnError, more: Readonly<Record<string, string>>): CairnError {
  return new CairnError('CHECKPOINT_CORRUPT', { ...error.data, ...more }, { cause: error.cause });
}

async function* readChain(
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
        const pausing = pause();
        if (pausing !== undefined) await pausing;
        chain = await continueChain(store, part.run, row, from, chain);
        yield { run: part.run, checkpoint: chain.verify(part.run, row), sizeBytes: row.body.length };
      }
    }
    // Fork points and heads are never pruned, so a missing one is a loss.
    const isWhole = to < part.upTo || to < from || chain?.seq === to;
    if (!isWhole) throw missingError(part.run, Math.max(from, (chain?.seq ?? -1) + 1), chain?.intact);
  }
}

/**
 * The chain that a row must continue: from the row before it. A new chain is begun at the start of a history, and where the first
 * checkpoints of a fork were pruned.
 */
async function continueChain(
  store: Store,
  run: RunRow,
  row: CheckpointRow,
  from: number,
  chain: Chain | undefined,
): Promise<Chain> {
  if (chain !== undefined && row.seq !== run.prunedBelow) return chain;
  const first = Math.max(from, run.prunedBelow);
  // A folded row may begin before the requested range. Any other gap before the first row is a loss.
  const before = Math.min(decodeOrNothing(run, row)?.fold?.after ?? row.seq - 1, first - 1);
  return new Chain(before, await readLink(store, run, before));
}
