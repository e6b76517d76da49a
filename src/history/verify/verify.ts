/** Verifies a whole history: every checksum, the chain, snapshots against deltas, and blobs (C6). */
import { isDeepStrictEqual } from 'node:util';
import type { BlobStore } from '../../ports/blobs.ts';
import type { OpenWait, RunRow, Store, CheckpointRow } from '../../ports/store.ts';
import type { RunTree } from '../../state/tree.ts';
import { decodeJson } from '../../state/values/revive.ts';
import { pause } from '../stored/pace.ts';
import {
  runKeyOf,
  resolveValues,
  checkpointId,
  rootChecksum,
  type DecodedCheckpoint,
  listBlobs,
} from '../stored/checkpoint.ts';
import { asBuffer } from '../stored/checksum.ts';
import { isIntactMessage } from '../stored/messages.ts';
import { isIntactWait, openWaitRows } from '../stored/wait-row.ts';
import { CairnError, type ErrorCode } from '../../errors.ts';
import { damagedRun } from '../../ports/intact-run.ts';
import { Chain, decodeOrNothing, missingError, decodeSnapshot, type DecodedSnapshot } from '../stored/chain.ts';
import { firstSeqOf, readLineage, readLink, readRows, type LineagePart } from '../load/lineage.ts';
import { listMetaBlobs } from '../stored/stored-meta.ts';
import { StoredState } from '../stored/stored-state.ts';

// Compares a run's index rows (the run, its open waits, its messages) with its history (C6).

/**
 * What is wrong with the index, one text each. The history itself is not affected by these faults.
 * @param stored - the state at the run's head, with values in stored form; undefined if not known
 */
async function findIndexFaults(
  store: Store,
  blobs: BlobStore,
  run: RunRow,
  stored: Readonly<Record<string, unknown>> | undefined,
): Promise<readonly string[]> {
  const waits = await readWaits(store, run);
  const messages = await store.readMessages(run);
  const damaged = messages.filter((message) => !isIntactMessage(run, message));
  const faults = damaged.map(({ kind, name }) => `its ${kind} ${name} does not fit its checksum`);
  if (run.key !== runKeyOf(run.tenant, run.runId)) faults.push(`its row has the key ${run.key}`);
  if (stored !== undefined) faults.push(...(await findRowFaults(blobs, run, waits, stored)));
  if (faults.length === 0) return faults;
  // If a worker has advanced the run meanwhile, rows and history were read at different moments.
  const now = await store.readRun(run);
  return now?.head !== run.head || now.status !== run.status ? [] : faults;
}

/** Compares a run's row and its open waits with the state at its head. */
async function findRowFaults(
  blobs: BlobStore,
  run: RunRow,
  waits: readonly OpenWait[],
  stored: Readonly<Record<string, unknown>>,
): Promise<readonly string[]> {
  const { status, graphHash, waits: open } = stored;
  const faults: string[] = [];
  const root = (await resolveValues(blobs, run.tenant, structuredClone({ status, graphHash, waits: open }))) as RunTree;
  if (run.status !== root.status) faults.push(`its row says ${run.status}, its history ${root.status}`);
  if (run.graphHash !== root.graphHash) faults.push('its row names another graph than its history');
  return [...faults, ...findWaitFaults(run, waits, root)];
}

function findWaitFaults(run: RunRow, rows: readonly OpenWait[], root: RunTree): readonly string[] {
  const found = new Map(rows.map((row) => [row.waitId, row]));
  const faults: string[] = [];
  for (const wait of openWaitRows(run, root)) {
    const { waitId, kind, dueAt, body } = wait;
    const row = found.get(waitId);
    found.delete(waitId);
    if (row === undefined) faults.push(`the row of its open wait ${waitId} is missing`);
    else if (!isIntactWait(row)) faults.push(`the row of its open wait ${waitId} does not fit its checksum`);
    else if (row.kind !== kind || row.dueAt !== dueAt || !isSameBody(row.body, body))
      faults.push(`the row of its open wait ${waitId} is not what its history has`);
  }
  return [
    ...faults,
    ...[...found.keys()].map((waitId) => `its history has no open wait ${waitId}, of which there is a row`),
  ];
}

/** Compares rows from before checksums existed by their content. */
function isSameBody(row: Uint8Array, expected: Uint8Array): boolean {
  const read = (body: Uint8Array): unknown => decodeJson(asBuffer(body).toString());
  try {
    return asBuffer(row).equals(expected) || isDeepStrictEqual(read(row), read(expected));
  } catch {
    return false;
  }
}

async function readWaits(store: Store, { tenant, runId }: RunRow): Promise<readonly OpenWait[]> {
  const rows: OpenWait[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.listWaits({ tenant, runId, ...(cursor === undefined ? {} : { cursor }) });
    rows.push(...page.rows);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return rows;
}

export interface Fault {
  /** Id of the damaged checkpoint, or the run's id if the run as a whole is at fault. */
  readonly checkpoint: string;
  readonly code: ErrorCode;
  readonly message: string;
}

export interface VerifyReport {
  readonly runId: string;
  /** Number of checkpoints verified, those of ancestors included; likewise for snapshots and blobs. */
  readonly checkpoints: number;
  readonly snapshots: number;
  readonly blobs: number;
  /** The faults in order; empty if the history is sound. */
  readonly faults: readonly Fault[];
  /**
   * Whether the run is half an import: whoever imported it died, or still does it. What is there is sound. Importing the same text again
   * completes it.
   */
  readonly isHalfImported?: true;
}

/**
 * Verifies everything that a run's history consists of, back through its fork points. It does not stop at damage.
 * @param sound - large values that were read before and need not be read again
 * @throws only the errors of the store itself
 */
export async function verifyRun(
  store: Store,
  blobs: BlobStore,
  run: RunRow,
  sound?: SoundBlobs,
): Promise<VerifyReport> {
  const report = run.isDamaged === true ? damagedRow(store, run) : await verifyOnce(store, blobs, run, sound);
  if (run.isDamaged === true || report.faults.length === 0) return report;
  // A pruning between two reads looks like damage, so it is damage only if it shows a second time.
  return verifyOnce(store, blobs, (await store.readRun(run)) ?? run);
}

/** Nothing that such a row says can be relied on, so that nothing else of the run is looked at. */
function damagedRow(store: Store, run: RunRow): VerifyReport {
  const { code, message } = damagedRun(store.name, run);
  return {
    runId: run.runId,
    checkpoints: 0,
    snapshots: 0,
    blobs: 0,
    faults: [{ checkpoint: run.runId, code, message }],
  };
}

async function verifyOnce(store: Store, blobs: BlobStore, run: RunRow, sound?: SoundBlobs): Promise<VerifyReport> {
  const verification = new Verification(store, blobs, run, sound);
  await verification.verify();
  return verification.report;
}

/** Most hashes that are remembered; then it begins anew. */
const soundMax = 10_000;

/** Large values that were found sound: the graph of many runs is one. */
export class SoundBlobs {
  readonly #hashes = new Set<string>();

  has(hash: string): boolean {
    return this.#hashes.has(hash);
  }

  add(hash: string): void {
    if (this.#hashes.size >= soundMax) this.#hashes.clear();
    this.#hashes.add(hash);
  }
}

class Verification {
  readonly #store: Store;
  readonly #blobs: BlobStore;
  readonly #run: RunRow;
  readonly #faults: Fault[] = [];
  readonly #blobHashes = new Set<string>();
  #isHalfImported = false;
  #checkpoints = 0;
  #snapshots = 0;
  #chain: Chain = new Chain(-1, rootChecksum);
  /** The state so far. Undefined after a damaged checkpoint, until the next sound snapshot. */
  #state: StoredState | undefined = new StoredState({}, false);

  readonly #sound: SoundBlobs | undefined;

  constructor(store: Store, blobs: BlobStore, run: RunRow, sound?: SoundBlobs) {
    this.#store = store;
    this.#blobs = blobs;
    this.#run = run;
    this.#sound = sound;
  }

  get report(): VerifyReport {
    return {
      runId: this.#run.runId,
      checkpoints: this.#checkpoints,
      snapshots: this.#snapshots,
      blobs: this.#blobHashes.size,
      faults: this.#faults,
      ...(this.#isHalfImported && { isHalfImported: true }),
    };
  }

  async verify(): Promise<void> {
    try {
      await this.#verifyBlobs(this.#run, this.#run.runId, listMetaBlobs(this.#run));
    } catch (error) {
      this.#note(this.#run.runId, error);
    }
    const parts = await this.#readLineage();
    for (const part of parts) await this.#verifyPart(part);
    await this.#verifyIndex();
  }

  /** Compares the index with the history. If the history is damaged, there is nothing to compare with. */
  async #verifyIndex(): Promise<void> {
    const run = this.#run;
    const isKnown = this.#faults.length === 0 && this.#chain.seq === run.head;
    const stored = isKnown ? this.#state?.root : undefined;
    // The row of an import that is not complete says cancelled, whatever its history says so far (N8).
    this.#isHalfImported = stored !== undefined && run.status === 'cancelled' && stored['status'] !== run.status;
    if (this.#isHalfImported) return;
    for (const fault of await findIndexFaults(this.#store, this.#blobs, run, stored)) {
      const data = { store: this.#store.name, reason: `run ${run.runId}: ${fault}` };
      const { code, message } = new CairnError('STORE_CORRUPT', data);
      this.#faults.push({ checkpoint: checkpointId(run.key, run.head), code, message });
    }
  }

  async #readLineage(): Promise<readonly LineagePart[]> {
    try {
      return await readLineage(this.#store, this.#run);
    } catch (error) {
      this.#note(this.#run.runId, error);
      return [];
    }
  }

  async #verifyPart({ run, upTo }: LineagePart): Promise<void> {
    const from = firstSeqOf(run);
    if (upTo < from) return;
    const snapshots = await this.#listSnapshots(run, upTo);
    for await (const rows of readRows(this.#store, run, from, upTo)) {
      for (const row of rows) {
        await pause();
        await this.#verifyRow(run, row, snapshots.has(row.seq));
      }
    }
    if (this.#chain.seq < upTo) this.#noteMissing(run, Math.max(from, this.#chain.seq + 1), upTo);
  }

  /** Seqs of a run's snapshots, searched backwards, as a load searches for them. */
  async #listSnapshots(run: RunRow, upTo: number): Promise<ReadonlySet<number>> {
    const seqs = new Set<number>();
    for (let seq = upTo; seq >= 0;) {
      const snapshot = await this.#store.readSnapshot(run, seq);
      if (snapshot === undefined) break;
      seqs.add(snapshot.seq);
      seq = snapshot.seq - 1;
    }
    return seqs;
  }

  /** Starts after the pruned part, whose state is in the snapshot of the oldest checkpoint that remains. */
  async #startAfterPruned(run: RunRow, row: CheckpointRow): Promise<void> {
    const before = decodeOrNothing(run, row)?.fold?.after ?? row.seq - 1;
    const link = await readLink(this.#store, run, before).catch(() => undefined);
    this.#chain = new Chain(before, link);
    this.#state = undefined;
  }

  async #verifyRow(run: RunRow, row: CheckpointRow, hasSnapshot: boolean): Promise<void> {
    this.#checkpoints += 1;
    const id = checkpointId(run.key, row.seq);
    const isOldestRow = row.seq === run.prunedBelow && row.seq > firstSeqOf(run);
    if (isOldestRow) await this.#startAfterPruned(run, row);
    try {
      const checkpoint = this.#chain.verify(run, row);
      await this.#verifyBlobs(run, id, blobsOf(checkpoint));
      await this.#state?.apply(this.#blobs, run, checkpoint);
    } catch (error) {
      this.#note(id, error);
      this.#state = undefined;
      this.#chain = new Chain(row.seq, decodeOrNothing(run, row)?.link ?? row.checksum);
    }
    if (hasSnapshot) await this.#verifySnapshot(run, row.seq, id);
    else if (isOldestRow) {
      const missing = { checkpoint: id, reason: 'its snapshot, which holds what was pruned, is missing' };
      this.#note(id, new CairnError('CHECKPOINT_CORRUPT', missing));
    }
  }

  async #verifyBlobs(run: RunRow, id: string, hashes: ReadonlySet<string>): Promise<void> {
    for (const hash of hashes) {
      if (this.#blobHashes.has(hash)) continue;
      this.#blobHashes.add(hash);
      if (this.#sound?.has(hash) === true) continue;
      await this.#blobs.get(run.tenant, hash).then(
        () => this.#sound?.add(hash),
        (error: unknown) => this.#note(id, error),
      );
    }
  }

  async #verifySnapshot(run: RunRow, seq: number, id: string): Promise<void> {
    this.#snapshots += 1;
    try {
      const row = await this.#store.readSnapshot(run, seq);
      if (row?.seq !== seq) return;
      const snapshot = decodeSnapshot(run.key, row);
      const state = new StoredState(snapshot.parseTree(), snapshot.hasTags);
      if (state.hasTags) await this.#verifyBlobs(run, id, listBlobs(state.root));
      const isSame = (await this.#isSameState(run, state)) && this.#isLinked(snapshot);
      if (!isSame) {
        const data = { checkpoint: id, reason: 'its snapshot is not what its deltas make' };
        throw new CairnError('CHECKPOINT_CORRUPT', data);
      }
      this.#state ??= state;
    } catch (error) {
      this.#note(id, error);
    }
  }

  #isLinked(snapshot: DecodedSnapshot): boolean {
    const { link } = this.#chain;
    return link !== undefined && Buffer.compare(link, snapshot.link) === 0;
  }

  async #isSameState(run: RunRow, snapshot: StoredState): Promise<boolean> {
    const folded = this.#state;
    if (folded === undefined) return true;
    if (!folded.hasTags && !snapshot.hasTags) return isDeepStrictEqual(folded.root, snapshot.root);
    const resolve = (stored: unknown): Promise<unknown> =>
      resolveValues(this.#blobs, run.tenant, structuredClone(stored));
    return isDeepStrictEqual(await resolve(folded.root), await resolve(snapshot.root));
  }

  #noteMissing(run: RunRow, seq: number, upTo: number): void {
    this.#note(checkpointId(run.key, seq), missingError(run, seq, undefined));
    this.#chain = new Chain(upTo, undefined);
    this.#state = undefined;
  }

  #note(checkpoint: string, error: unknown): void {
    if (!CairnError.is(error) || /^(?:STORE|CONFIG)_/u.test(error.code)) throw error;
    const named = error.data['checkpoint'];
    const place = typeof named === 'string' ? named : checkpoint;
    const fault = { checkpoint: place, code: error.code, message: error.message };
    if (!this.#faults.some((known) => isDeepStrictEqual(known, fault))) this.#faults.push(fault);
  }
}

function blobsOf({ hasTags, ops, nodeUpdates }: DecodedCheckpoint): ReadonlySet<string> {
  return hasTags ? listBlobs(nodeUpdates, listBlobs(ops)) : new Set();
}
