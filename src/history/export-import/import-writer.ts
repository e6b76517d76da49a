/** Writes the checkpoints of an imported run to a store, under a claim, so that an interrupted import can be repeated (H4). */
import { CairnError } from '../../errors.ts';
import type { CheckpointRow, Claim, Commit, RunRow, SnapshotRow, Store } from '../../ports/store.ts';
import { encodeCheckpoint, rootChecksum, runKeyOf } from '../stored/checkpoint.ts';
import type { HeaderLine, MessageLine, TagLine, Standing } from './export-masked.ts';
import { namedByMeta, recordNamed } from '../stored/named-blobs.ts';
import { makeKeySeed } from '../stored/key-seed.ts';
import { metaOf } from '../stored/stored-meta.ts';
import { renewClaim } from '../access/claim-run.ts';
import { postSealed } from '../stored/messages.ts';

export interface ImportWriterOptions {
  readonly tenant: string;
  readonly runId: string;
  readonly workerId: string;
  readonly isTrusted: boolean;
  readonly leaseMs: number;
  /** Whether a worker is known to be dead, so that an import which it began can be repeated at once. */
  readonly isWorkerDead?: ((workerId: string) => boolean | undefined) | undefined;
}

/** What the last commit adds. Until it is written, the run shows as cancelled. */
type LastWrite = Required<Pick<Commit, 'status' | 'graphHash' | 'openWaits'>>;

const renewEvery = 256;
/** Status of a run whose import is not complete. No worker advances a cancelled run. */
const unfinished = 'cancelled';

export class ImportWriter {
  readonly runKey: string;
  readonly #store: Store;
  readonly #header: HeaderLine;
  readonly #options: ImportWriterOptions;
  #claim: Claim | undefined;
  #oldest: SnapshotRow | undefined;
  #isAdmitted = false;
  #last = -1;
  readonly #placeholders: number[] = [];
  #isCreated = false;
  /** Seq up to which checkpoints were there before: from an interrupted import, or an earlier import of the same run. */
  #known = -1;

  constructor(store: Store, header: HeaderLine, options: ImportWriterOptions) {
    this.#store = store;
    this.#header = header;
    this.#options = options;
    this.runKey = runKeyOf(options.tenant, options.runId);
  }

  /** Sets the snapshot of the first checkpoint, if earlier ones were pruned. Call before writing any. */
  beginAt(oldest: SnapshotRow): void {
    this.#oldest = oldest;
  }

  /** Writes one checkpoint. @throws RUN_EXISTS, CLAIM_TAKEN */
  write(row: CheckpointRow): Promise<void> {
    return this.#write(row);
  }

  /** Writes the last checkpoint, together with the run's real status and its open waits. */
  async writeLast(row: CheckpointRow, { status, graphHash, waits }: Standing): Promise<void> {
    if (row.seq > this.#known) await this.#removePlaceholders();
    await this.#write(row, { status, graphHash, openWaits: waits });
  }

  /** Sets the tags, posts the messages, and releases the claim. */
  async finish(tags: readonly TagLine[], messages: readonly MessageLine[]): Promise<void> {
    for (const { tag, seq } of tags) await this.#store.tagCheckpoint(this.#runId, { name: tag, seq });
    for (const { message, name, body, at } of messages) {
      const imported = { ...this.#runId, kind: message, name, body: Buffer.from(body, 'base64'), at };
      await postSealed(this.#store, imported);
    }
    if (this.#claim !== undefined) await this.#store.releaseClaim(this.#claim);
  }

  /** Cleans up after a failure. If the store refuses that now, the next try of the import does it. */
  async abandon(): Promise<void> {
    try {
      if (this.#claim !== undefined) await this.#store.releaseClaim(this.#claim);
      if (this.#isCreated) await this.#store.removeRun(this.#runId);
    } catch (error) {
      if (!CairnError.is(error)) throw error;
    }
  }

  get #runId(): { readonly tenant: string; readonly runId: string } {
    return { tenant: this.#options.tenant, runId: this.#options.runId };
  }

  async #write(row: CheckpointRow, last?: LastWrite): Promise<void> {
    if (!this.#isAdmitted) return this.#admit(row, last);
    await this.#fillGap(row);
    this.#last = row.seq;
    if (row.seq <= this.#known) return this.#compare(row);
    const claim = await this.#renew(row.seq);
    await this.#store.commit({
      claim,
      checkpoint: row,
      ...(last ?? { status: unfinished }),
      durability: last === undefined ? 'none' : this.#store.capabilities.durability,
    });
  }

  /** Writes empty checkpoints for the seqs of a folded span. A store requires gapless seqs; the empty ones are removed at the end. */
  async #fillGap({ seq, at }: CheckpointRow): Promise<void> {
    for (let missing = this.#last + 1; missing < seq; missing++) {
      this.#placeholders.push(missing);
      if (missing <= this.#known) continue;
      const claim = await this.#renew(missing);
      const identity = { runKey: this.runKey, seq: missing };
      const empty = encodeCheckpoint(identity, rootChecksum, at, '[{"kind":"fold"}]', '[]');
      await this.#store.commit({ claim, checkpoint: { seq: missing, at, ...empty }, durability: 'none' });
    }
  }

  async #removePlaceholders(): Promise<void> {
    if (this.#placeholders.length === 0) return;
    const { token } = await this.#requireClaim();
    const prunedBelow = this.#oldest?.seq ?? 0;
    const nothing = { replace: [], snapshots: [], prunedBelow };
    await this.#store.pruneRun({ ...this.#runId, ...nothing, token, remove: this.#placeholders });
  }

  /**
   * The run's meta. A moved run keeps the seed of its idempotency keys, and so its birth. A copy gets its own, so that it never sends a key of
   * the original; an import that is repeated makes the same copy.
   * Whether the run is trusted is said here and not by the export, and what began it counts only of one that is.
   */
  async #metaOf(meta: string): Promise<Uint8Array> {
    const { tenant, runId, isTrusted } = this.#options;
    const {
      isImported: _,
      isRestored: __,
      origin,
      ...exported
    } = metaOf({ key: this.runKey, meta: Buffer.from(meta, 'base64') });
    const isCopy = runId !== this.#header.runId;
    const keepsOrigin = isTrusted && !isCopy && origin !== undefined;
    return Buffer.from(
      JSON.stringify({
        ...exported,
        ...(!isTrusted && { isImported: true }),
        ...(keepsOrigin && { origin }),
        ...(isCopy && { keySeed: await makeKeySeed(this.#store, tenant, runId, exported.keySeed ?? '') }),
      }),
    );
  }

  async #admit(row: CheckpointRow, last: LastWrite | undefined): Promise<void> {
    const { workerId, leaseMs } = this.#options;
    const { graphId, graphHash, code, meta, schedule } = this.#header;
    const { labels } = metaOf({ key: this.runKey, meta: Buffer.from(meta, 'base64') });
    const ownMeta = await this.#metaOf(meta);
    const reply = await this.#store.admitRun({
      ...this.#runId,
      ...namedByMeta(ownMeta),
      key: this.runKey,
      graphId,
      graphHash,
      ...(code !== undefined && { code }),
      status: last?.status ?? unfinished,
      meta: ownMeta,
      checkpoint: row,
      waits: last?.openWaits ?? [],
      ...(labels && { labels }),
      ...(schedule && { schedule }),
      claim: { workerId, leaseMs },
      revives: true,
      durability: this.#store.capabilities.durability,
    });
    this.#isAdmitted = true;
    this.#last = row.seq;
    this.#isCreated = reply.created;
    this.#claim = reply.claim;
    if (!reply.created) {
      this.#known = reply.run.head;
      await this.#compare(row);
      this.#compareTrust(reply.run);
    }
    if (this.#oldest !== undefined && reply.run.prunedBelow === 0) await this.#markPruned(this.#oldest);
  }

  async #markPruned(oldest: SnapshotRow): Promise<void> {
    const { token } = await this.#requireClaim();
    const nothing = { remove: [], replace: [] };
    await recordNamed(this.#store, this.#runId, [oldest]);
    await this.#store.pruneRun({ ...this.#runId, ...nothing, token, snapshots: [oldest], prunedBelow: oldest.seq });
  }

  /** Checks that a checkpoint that exists already is the same one. @throws RUN_EXISTS another history has this id */
  async #compare(row: CheckpointRow): Promise<void> {
    const [there] = await this.#store.readCheckpoints(this.#runId, { from: row.seq, to: row.seq, limit: 1 });
    if (there !== undefined && Buffer.compare(there.checksum, row.checksum) === 0) return;
    throw new CairnError('RUN_EXISTS', { runId: this.#options.runId, difference: `checkpoint ${row.seq}` });
  }

  /** What was imported keeps the trust that it was imported with. @throws RUN_EXISTS it is to get another */
  #compareTrust(there: RunRow): void {
    const isTrusted = metaOf(there).isImported !== true;
    if (isTrusted === this.#options.isTrusted) return;
    const difference = isTrusted ? 'it is trusted there' : 'it is not trusted there; remove it, and import it again';
    throw new CairnError('RUN_EXISTS', { runId: this.#options.runId, difference });
  }

  async #renew(seq: number): Promise<Claim> {
    const claim = await this.#requireClaim();
    if (seq % renewEvery === 0) await renewClaim(this.#store, claim);
    return claim;
  }

  /** Claims the run if this import has not yet. @throws CLAIM_TAKEN */
  async #requireClaim(): Promise<Claim> {
    if (this.#claim !== undefined) return this.#claim;
    const { workerId, leaseMs, isWorkerDead } = this.#options;
    const request = { ...this.#runId, workerId, leaseMs };
    let reply = await this.#store.claimRun(request);
    if (reply.claim === undefined && isWorkerDead?.(reply.owner) === true)
      reply = await this.#store.claimRun({ ...request, takeFrom: reply.owner });
    if (reply.claim === undefined) {
      const { owner, remainingMs } = reply;
      throw new CairnError('CLAIM_TAKEN', { runId: this.#options.runId, owner, remainingMs });
    }
    this.#claim = reply.claim;
    return reply.claim;
  }
}
