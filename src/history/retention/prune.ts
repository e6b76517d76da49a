/** Shortens a history without changing any state that remains (C8). */
import { CairnError } from '../../errors.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { CheckpointRow, Claim, RunRow, SnapshotRow, Store } from '../../ports/store.ts';
import { decodeOrNothing, encodeSnapshot } from '../stored/chain.ts';
import { checkpointId, encodeFold, rootChecksum, type DecodedCheckpoint, tagMarker } from '../stored/checkpoint.ts';
import { recordNamed } from '../stored/named-blobs.ts';
import { foldStored } from '../load/fold-stored.ts';
import { FoldedOps } from './folded-ops.ts';
import { firstSeqOf, readHistory, readLink } from '../load/lineage.ts';
import { removeMarks } from '../read/deleted-marks.ts';
import { readPruneNeeds, type PruneNeeds, type PruneOptions } from './prune-needs.ts';
import type { StoredState } from '../stored/stored-state.ts';

export type { PruneOptions } from './prune-needs.ts';

export interface PruneReport {
  /** Number of checkpoints removed. */
  readonly removed: number;
  /** First and last seq of each removed stretch, ascending. */
  readonly spans: readonly { readonly from: number; readonly to: number }[];
  /** Seq of the oldest checkpoint that remains. */
  readonly oldest: number;
}

const conflictRetries = 3;

/**
 * Removes the checkpoints before the oldest one needed, and combines each later span of unneeded ones with the checkpoint after it into one
 * row. It is one atomic write, under the caller's claim. If a fork is made meanwhile, it starts again.
 *
 * Needed are: the head, the newest `keepLast`, each `keepEvery`-th, tagged ones, fork points, those that opened waits or intents that are
 * still open, those whose state such open work sees, and those with outcomes of `write`, `external` and `human` work.
 * @throws CLAIM_FENCED, CHECKPOINT_CORRUPT: a damaged history stays as it is
 */
export async function pruneRun(
  store: Store,
  blobs: BlobStore,
  claim: Claim,
  run: RunRow,
  options: PruneOptions = {},
): Promise<PruneReport> {
  for (let attempt = 1; ; attempt++) {
    const needs = await readPruneNeeds(store, blobs, run, options);
    const { report, ...rows } = await foldSpans(store, blobs, run, needs);
    if (report.removed === 0) return report;
    try {
      await removeMarks(store, run, rows.remove);
      await recordNamed(store, run, [...rows.replace, ...rows.snapshots]);
      await store.pruneRun({ tenant: run.tenant, runId: run.runId, token: claim.token, ...rows });
      return report;
    } catch (error) {
      if (!CairnError.is(error, 'COMMIT_CONFLICT') || attempt >= conflictRetries) throw error;
    }
  }
}

/** Reports what pruning a run would do, without doing it. @throws CHECKPOINT_CORRUPT */
export async function planPrune(
  store: Store,
  blobs: BlobStore,
  run: RunRow,
  options: PruneOptions = {},
): Promise<PruneReport> {
  return (await foldSpans(store, blobs, run, await readPruneNeeds(store, blobs, run, options))).report;
}

interface PrunedRows {
  readonly remove: readonly number[];
  readonly replace: readonly CheckpointRow[];
  readonly snapshots: readonly SnapshotRow[];
  readonly prunedBelow: number;
  readonly report: PruneReport;
}

async function foldSpans(store: Store, blobs: BlobStore, run: RunRow, needs: PruneNeeds): Promise<PrunedRows> {
  const { oldest } = needs;
  const removed = await listSeqs(store, run, firstSeqOf(run), oldest - 1);
  const { state, link } = await foldStored(store, blobs, run, oldest);
  const isCut = removed.length > 0;
  const snapshots = isCut ? [await snapshotOldest(store, run, oldest, link, state)] : [];
  const walk = new SpanWalk(blobs, run, new Set(needs.retained), state, { seq: oldest, link });
  for await (const { checkpoint } of readHistory(store, run, { from: oldest + 1, to: run.head })) {
    await walk.pass(checkpoint);
  }
  const remove = [...removed, ...walk.removed];
  return {
    remove,
    replace: walk.folds,
    snapshots,
    prunedBelow: isCut ? oldest : run.prunedBelow,
    report: { removed: remove.length, spans: spansOf(remove), oldest },
  };
}

/** @param seqs - ascending */
function spansOf(seqs: readonly number[]): PruneReport['spans'] {
  const spans: { from: number; to: number }[] = [];
  for (const seq of seqs) {
    const last = spans.at(-1);
    if (last?.to === seq - 1) last.to = seq;
    else spans.push({ from: seq, to: seq });
  }
  return spans;
}

async function listSeqs(store: Store, run: RunRow, from: number, to: number): Promise<number[]> {
  const seqs: number[] = [];
  if (to < from) return seqs;
  for await (const { checkpoint } of readHistory(store, run, { from, to })) seqs.push(checkpoint.seq);
  return seqs;
}

async function snapshotOldest(
  store: Store,
  run: RunRow,
  seq: number,
  link: Uint8Array,
  state: StoredState,
): Promise<SnapshotRow> {
  const [row] = await store.readCheckpoints(run, { from: seq, to: seq, limit: 1 });
  const before = (row && decodeOrNothing(run, row)?.fold?.after) ?? seq - 1;
  const parent = (await readLink(store, run, before)) ?? rootChecksum;
  const treeJson = JSON.stringify(state.root);
  return encodeSnapshot({ runKey: run.key, seq }, { link, parent }, treeJson, treeJson.includes(tagMarker));
}

/** Walks through the checkpoints after the oldest one that remains, and collects spans of unneeded ones. */
class SpanWalk {
  readonly removed: number[] = [];
  readonly folds: CheckpointRow[] = [];
  readonly #blobs: BlobStore;
  readonly #run: RunRow;
  readonly #retained: ReadonlySet<number>;
  /** The state before the current span. */
  readonly #state: StoredState;
  /** The checkpoint before the current span. */
  #before: { readonly seq: number; readonly link: Uint8Array };
  #span: DecodedCheckpoint[] = [];

  constructor(
    blobs: BlobStore,
    run: RunRow,
    retained: ReadonlySet<number>,
    state: StoredState,
    before: { readonly seq: number; readonly link: Uint8Array },
  ) {
    this.#blobs = blobs;
    this.#run = run;
    this.#retained = retained;
    this.#state = state;
    this.#before = before;
  }

  async pass(checkpoint: DecodedCheckpoint): Promise<void> {
    if (!this.#retained.has(checkpoint.seq)) {
      this.#span.push(checkpoint);
      return;
    }
    await this.#closeSpan();
    await this.#state.apply(this.#blobs, this.#run, checkpoint);
    this.#before = checkpoint;
  }

  /** Ends the current span. The head always remains, so a checkpoint that remains ends every span. */
  async #closeSpan(): Promise<void> {
    const span = this.#span.splice(0);
    const last = span.at(-1);
    if (last === undefined) return;
    if (span.length > 1) {
      this.removed.push(...span.slice(0, -1).map(({ seq }) => seq));
      this.folds.push(await this.#fold(span, last));
    }
    for (const checkpoint of span) await this.#state.apply(this.#blobs, this.#run, checkpoint);
    this.#before = last;
  }

  async #fold(span: readonly DecodedCheckpoint[], last: DecodedCheckpoint): Promise<CheckpointRow> {
    const { key: runKey, tenant } = this.#run;
    const ops = new FoldedOps(this.#state.root, this.#blobs, tenant);
    for (const op of span.flatMap((checkpoint) => checkpoint.ops)) await ops.add(structuredClone(op));
    const detail = { from: checkpointId(runKey, this.#before.seq + 1), to: checkpointId(runKey, last.seq) };
    const encoded = encodeFold(
      { runKey, seq: last.seq },
      this.#before.link,
      { at: last.at, change: [{ kind: 'fold', detail }], delta: JSON.stringify(ops.take()) },
      { after: this.#before.seq, covers: last.link },
    );
    return { seq: last.seq, at: last.at, ...encoded };
  }
}
