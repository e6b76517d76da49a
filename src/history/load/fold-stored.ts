/** Builds the state of a checkpoint from what is stored: the newest sound snapshot at or before it, and the deltas since (C4, C6). */
import type { BlobStore } from '../../ports/blobs.ts';
import type { CheckpointRow, RunRow, Store, RunKey } from '../../ports/store.ts';
import {
  Chain,
  type DecodedSnapshot,
  decodeSnapshot,
  decodeOrNothing,
  missingError,
  encodeSnapshot,
} from '../stored/chain.ts';
import { rootChecksum, checkpointId, tagMarker } from '../stored/checkpoint.ts';
import { costOf, SnapshotPolicy, type LoadCost } from './snapshot-policy.ts';
import {
  firstSeqOf,
  nameLater,
  withData,
  readAgain,
  readParent,
  type LineagePart,
  readOwner,
  readRows,
  readLink,
} from './lineage.ts';
import { recordNamed } from '../stored/named-blobs.ts';
import { StoredState } from '../stored/stored-state.ts';
import { CairnError } from '../../errors.ts';
import { encodeValue } from '../../state/values/encode.ts';
import type { RunTree } from '../../state/tree.ts';

// A state while it is being loaded: it starts from a snapshot, and each verified row after it is applied. It also counts what that costs.

export class FoldedState {
  readonly #run: RunRow;
  readonly #blobs: BlobStore;
  readonly #base: DecodedSnapshot | undefined;
  #deltaBytes = 0;
  #rows = 0;
  #ownCost = 0;
  readonly state: StoredState;
  /** Undefined until the first row is applied. */
  chain: Chain | undefined;

  /** @param base - the snapshot to start with. The row of its own checkpoint must come first; it is verified but not applied */
  constructor(run: RunRow, blobs: BlobStore, base: DecodedSnapshot | undefined) {
    this.#run = run;
    this.#blobs = blobs;
    this.#base = base;
    this.state = new StoredState(base?.parseTree() ?? {}, base?.hasTags ?? false);
  }

  /** Checksum that the next checkpoint names as its parent. */
  get link(): Uint8Array {
    return this.chain?.link ?? rootChecksum;
  }

  get cost(): LoadCost {
    return {
      deltaBytes: this.#deltaBytes,
      rows: this.#rows,
      ownCost: this.#ownCost,
      stateBytes: this.#base?.treeBytes ?? 0,
      snapshotSeq: this.#base?.seq,
    };
  }

  /**
   * Verifies the next rows and applies them.
   * @throws CHECKPOINT_CORRUPT, CHECKPOINT_VERSION_UNKNOWN, BLOB_NOT_FOUND, BLOB_CORRUPT
   */
  async apply(run: RunRow, rows: readonly CheckpointRow[]): Promise<void> {
    for (const row of rows) {
      if (this.chain === undefined && this.#base !== undefined) {
        this.chain = Chain.from(run, row, this.#base);
        continue;
      }
      this.chain ??= new Chain(-1, rootChecksum);
      const checkpoint = this.chain.verify(run, row);
      const slow = this.state.apply(this.#blobs, run, checkpoint);
      if (slow !== undefined) await slow;
      this.#deltaBytes += checkpoint.sizeBytes;
      this.#rows += 1;
      if (run.key === this.#run.key) this.#ownCost += costOf(checkpoint.sizeBytes, 1);
    }
  }
}

// Plans what to read for a state: the newest usable snapshot at or before its checkpoint, and the rows after it (C4, P3).

/** Rows of one run that a load reads. */
export interface Span {
  readonly run: RunRow;
  readonly from: number;
  readonly to: number;
}

/** What to read to load a state. */
export interface LoadPlan {
  readonly base?: DecodedSnapshot;
  /** Oldest first. The first span begins with the row of the snapshot's own checkpoint. */
  readonly spans: readonly Span[];
  /** Why a newer snapshot could not be used; undefined if none was skipped. */
  readonly damage?: CairnError;
}

/** Finds the newest sound snapshot at or before a checkpoint, going back through the lineage, and the rows to read from there. */
async function planLoad(store: Store, run: RunRow, seq: number): Promise<LoadPlan> {
  const spans: Span[] = [];
  let damage: CairnError | undefined;
  let part: LineagePart | undefined = { run, upTo: seq };
  while (part !== undefined) {
    const { run: owner, upTo }: LineagePart = part;
    const first = firstSeqOf(owner);
    if (upTo >= first) {
      if (upTo < owner.prunedBelow) throw prunedError(owner, upTo, owner.prunedBelow);
      // A run's first checkpoint is all of its state, so a snapshot of it would tell nothing more.
      const found: FoundSnapshot = upTo === 0 ? {} : await findSnapshot(store, owner, upTo);
      damage ??= found.damage;
      spans.unshift({ run: owner, from: found.snapshot?.seq ?? first, to: upTo });
      if (found.snapshot !== undefined) return { base: found.snapshot, spans, ...(damage && { damage }) };
    }
    const parent: LineagePart | undefined = await readParent(store, owner);
    part = parent && { run: parent.run, upTo: Math.min(parent.upTo, upTo) };
  }
  return { spans, ...(damage && { damage }) };
}

interface FoundSnapshot {
  readonly snapshot?: DecodedSnapshot;
  readonly damage?: CairnError;
}

async function findSnapshot(store: Store, run: RunRow, upTo: number): Promise<FoundSnapshot> {
  let damage: CairnError | undefined;
  for (let row = await store.readSnapshot(run, upTo); row !== undefined;) {
    try {
      return { snapshot: decodeSnapshot(run.key, row), ...(damage && { damage }) };
    } catch (error) {
      if (!CairnError.is(error)) throw error;
      damage ??= error;
      row = row.seq > 0 ? await store.readSnapshot(run, row.seq - 1) : undefined;
    }
  }
  return damage === undefined ? {} : { damage };
}

function prunedError(run: RunRow, seq: number, remains: number): CairnError {
  return new CairnError('CHECKPOINT_PRUNED', {
    checkpoint: checkpointId(run.key, seq),
    remains: checkpointId(run.key, remains),
  });
}

/**
 * Builds the state at a checkpoint, with values in their stored form. Everything read is verified, from the snapshot on.
 * @throws CHECKPOINT_NOT_FOUND, CHECKPOINT_PRUNED, CHECKPOINT_CORRUPT with the newest intact ancestor, CHECKPOINT_VERSION_UNKNOWN,
 * RUN_NOT_FOUND an ancestor is gone, BLOB_NOT_FOUND, BLOB_CORRUPT
 */
export async function foldStored(store: Store, blobs: BlobStore, run: RunRow, seq: number): Promise<FoldedState> {
  if (!Number.isSafeInteger(seq) || seq < 0 || seq > run.head) {
    throw new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint: checkpointId(run.key, seq) });
  }
  const plan = await planLoad(store, run, seq);
  try {
    return await foldPlan(store, blobs, run, plan);
  } catch (error) {
    if (!CairnError.is(error, 'CHECKPOINT_CORRUPT')) throw error;
    return foldAgain(store, blobs, run, seq);
  }
}

/** Reads a second time before damage is reported, because what is pruned or removed between two reads looks like damage. */
async function foldAgain(store: Store, blobs: BlobStore, known: RunRow, seq: number): Promise<FoldedState> {
  const run = await readAgain(store, known);
  const plan = await planLoad(store, run, seq);
  try {
    return await foldPlan(store, blobs, run, plan);
  } catch (error) {
    throw await nameLater(store, run, await nameIntact(store, blobs, run, error, plan));
  }
}

async function foldPlan(store: Store, blobs: BlobStore, run: RunRow, plan: LoadPlan): Promise<FoldedState> {
  const folded = new FoldedState(run, blobs, plan.base);
  for (const span of plan.spans) {
    for await (const rows of readRows(store, span.run, span.from, span.to)) await folded.apply(span.run, rows);
    if (folded.chain?.seq !== span.to) throw await explainMissing(store, span, folded.chain);
  }
  return folded;
}

/** Completes the report of a damaged checkpoint with the newest intact one before it, which the rows read so far may not show. */
async function nameIntact(
  store: Store,
  blobs: BlobStore,
  run: RunRow,
  error: unknown,
  plan: LoadPlan,
): Promise<unknown> {
  if (!CairnError.is(error, 'CHECKPOINT_CORRUPT') || error.data['intact'] !== undefined) return error;
  const first = plan.spans[0]!;
  if (plan.base === undefined) {
    // The earlier checkpoints were pruned, so the only start was the snapshot that could not be used: report its damage.
    return plan.damage !== undefined && first.run.prunedBelow > 0 ? plan.damage : error;
  }
  const before = plan.base.seq - 1;
  try {
    await foldStored(store, blobs, first.run, before);
    return withData(error, { intact: checkpointId((await readOwner(store, first.run, before)).key, before) });
  } catch (earlier) {
    const intact = CairnError.is(earlier) ? earlier.data['intact'] : undefined;
    return typeof intact === 'string' ? withData(error, { intact }) : error;
  }
}

/** Explains why the last row read is not the requested one: that was pruned, or it is lost. */
async function explainMissing(
  store: Store,
  { run, from, to }: LoadPlan['spans'][number],
  chain: Chain | undefined,
): Promise<CairnError> {
  const [next] = await store.readCheckpoints(run, { from: to, to: run.head, limit: 1 });
  const fold = next && decodeOrNothing(run, next)?.fold;
  if (next !== undefined && fold !== undefined && fold.after < to) return prunedError(run, to, next.seq);
  return missingError(run, Math.max(from, (chain?.seq ?? -1) + 1), chain?.intact);
}

// Writes snapshots, outside of commits (C4).

/**
 * Writes a snapshot of a checkpoint that is committed. A snapshot that exists already stays.
 * @param checksum - the checkpoint's link in the chain
 * @param root - the state at that checkpoint; it is encoded before the first await, so it may change afterwards
 * @returns the size of the encoded state in bytes
 * @throws RUN_NOT_FOUND, CHECKPOINT_NOT_FOUND
 */
export async function writeSnapshotOf(
  store: Store,
  key: RunKey,
  seq: number,
  checksum: Uint8Array,
  root: RunTree,
): Promise<number> {
  return writeSnapshotText(store, key, seq, checksum, encodeValue(root));
}

/** Writes a snapshot of a state that is encoded already. @param treeJson - the text made by `encodeValue` */
export async function writeSnapshotText(
  store: Store,
  key: RunKey,
  seq: number,
  checksum: Uint8Array,
  treeJson: string,
): Promise<number> {
  const run = await store.readRun(key);
  if (run === undefined) throw new CairnError('RUN_NOT_FOUND', { runId: key.runId });
  return writeRow(store, run, seq, checksum, treeJson);
}

/**
 * Writes a snapshot of a state that is first loaded from the store. Values stored as blobs stay blobs; a live tree no longer shows which
 * those are. Used for states large enough to hold one (C5).
 * @throws what loading the checkpoint throws
 */
export async function writeStoredSnapshot(store: Store, blobs: BlobStore, run: RunRow, seq: number): Promise<number> {
  const { state, link } = await foldStored(store, blobs, run, seq);
  return writeRow(store, run, seq, link, JSON.stringify(state.root));
}

/**
 * Writes a snapshot of the head where it pays off after a commit, so that reading the newest state costs about as much as its size.
 * @param cost - of reading the state before the commit
 * @param rowBytes - size of the body of the row that was committed
 * @returns whether it was written
 */
export async function writeDueSnapshot(
  { store, blobs }: { readonly store: Store; readonly blobs: BlobStore },
  run: RunRow,
  cost: LoadCost,
  rowBytes: number,
): Promise<boolean> {
  const policy = new SnapshotPolicy(cost);
  policy.onCommit(rowBytes);
  if (policy.isDue) await writeStoredSnapshot(store, blobs, run, run.head);
  return policy.isDue;
}

async function writeRow(store: Store, run: RunRow, seq: number, link: Uint8Array, treeJson: string): Promise<number> {
  const parent = await readLink(store, run, seq - 1);
  if (parent === undefined) {
    throw new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint: checkpointId(run.key, seq - 1) });
  }
  const hasTags = treeJson.includes(tagMarker);
  const snapshot = encodeSnapshot({ runKey: run.key, seq }, { link, parent }, treeJson, hasTags);
  await recordNamed(store, run, [snapshot]);
  await store.writeSnapshot(run, snapshot);
  return Buffer.byteLength(treeJson);
}
