/** Verifies the chain of checksums that links each checkpoint to the one before it (C6). */
import { CairnError } from '../../errors.ts';
import type { CheckpointRow } from '../../ports/store.ts';
import { checkpointId, decodeCheckpoint, type DecodedCheckpoint } from './checkpoint.ts';
import type { DecodedSnapshot } from './snapshot.ts';

/** The part of a run's row that checksums depend on. */
export interface KeyedRun {
  readonly key: string;
}

/** Walks rows in order and verifies each against the one before it. */
export class Chain {
  #seq: number;
  #link: Uint8Array | undefined;
  #runKey: string | undefined;

  /** @param seq - the checkpoint before the first row. @param link - its link; if undefined, the first row cannot be verified */
  constructor(seq: number, link: Uint8Array | undefined) {
    this.#seq = seq;
    this.#link = link;
  }

  /** Seq of the last verified checkpoint. */
  get seq(): number {
    return this.#seq;
  }

  /** Link of the last verified checkpoint. */
  get link(): Uint8Array | undefined {
    return this.#link;
  }

  /** Id of the last verified checkpoint; undefined if there is none. */
  get intact(): string | undefined {
    return this.#runKey === undefined ? undefined : checkpointId(this.#runKey, this.#seq);
  }

  /**
   * Verifies the next row.
   * @throws CHECKPOINT_CORRUPT, CHECKPOINT_VERSION_UNKNOWN
   */
  verify(run: KeyedRun, row: CheckpointRow): DecodedCheckpoint {
    const checkpoint = this.#decode(run, row);
    const before = checkpoint.fold?.after ?? row.seq - 1;
    if (before !== this.#seq) throw missingError(run, this.#seq + 1, this.intact);
    this.#seq = row.seq;
    this.#link = checkpoint.link;
    this.#runKey = run.key;
    return checkpoint;
  }

  /**
   * Starts a chain at the checkpoint of a verified snapshot. The snapshot holds the link of that checkpoint's parent, so the row can be
   * verified without reading the parent. A folded row has another parent by now; of it, only its range is checked.
   * @throws CHECKPOINT_CORRUPT, CHECKPOINT_VERSION_UNKNOWN
   */
  static from(run: KeyedRun, row: CheckpointRow, snapshot: DecodedSnapshot): Chain {
    if (row.seq !== snapshot.seq) throw missingError(run, snapshot.seq, undefined);
    const identity = { runKey: run.key, seq: row.seq };
    const isFolded = decodeOrNothing(run, row)?.fold !== undefined;
    const { link } = decodeCheckpoint(identity, isFolded ? undefined : snapshot.parent, row);
    const chain = new Chain(row.seq, link);
    if (Buffer.compare(link, snapshot.link) !== 0) throw chain.#corrupt(run, row.seq, 'its snapshot is of another one');
    chain.#runKey = run.key;
    return chain;
  }

  #decode(run: KeyedRun, row: CheckpointRow): DecodedCheckpoint {
    try {
      return decodeCheckpoint({ runKey: run.key, seq: row.seq }, this.#link, row);
    } catch (error) {
      if (!CairnError.is(error, 'CHECKPOINT_CORRUPT')) throw error;
      // A row after a gap does not fit either. The missing checkpoint is then the better explanation.
      const isGap = row.seq > this.#seq + 1 && decodeOrNothing(run, row)?.fold?.after !== this.#seq;
      if (isGap) throw missingError(run, this.#seq + 1, this.intact);
      throw this.#corrupt(run, row.seq, String(error.data['reason']), error.cause);
    }
  }

  #corrupt(run: KeyedRun, seq: number, reason: string, cause?: unknown): CairnError {
    const data = { checkpoint: checkpointId(run.key, seq), reason };
    const { intact } = this;
    return new CairnError(
      'CHECKPOINT_CORRUPT',
      intact === undefined ? data : { ...data, intact },
      cause === undefined ? {} : { cause },
    );
  }
}

/** The error for a checkpoint that must exist but does not. */
export function missingError(run: KeyedRun, seq: number, intact: string | undefined): CairnError {
  const data = { checkpoint: checkpointId(run.key, seq), reason: 'it is missing' };
  return new CairnError('CHECKPOINT_CORRUPT', intact === undefined ? data : { ...data, intact });
}

/** Decodes a row without verifying it against its parent; undefined if it cannot be read. */
export function decodeOrNothing(run: KeyedRun, row: CheckpointRow): DecodedCheckpoint | undefined {
  try {
    return decodeCheckpoint({ runKey: run.key, seq: row.seq }, undefined, row);
  } catch {
    return undefined;
  }
}
