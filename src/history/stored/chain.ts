/** The chain of checksums that ties each checkpoint to the one before it (C6). */
import { CairnError } from '../../errors.ts';
import type { CheckpointRow } from '../../ports/store.ts';
import { checkpointId, decodeCheckpoint, type DecodedCheckpoint } from './checkpoint.ts';
import type { DecodedSnapshot } from './snapshot.ts';

/** The run a row belongs to, as far as its identity goes. */
export interface KeyedRun {
  readonly key: string;
}

/** Walks rows in order and verifies each against the one before it. */
export class Chain {
  #seq: number;
  #link: Uint8Array | undefined;
  #runKey: string | undefined;

  /** @param seq - the checkpoint before the first row; @param link - its link; undefined: the first row cannot be verified */
  constructor(seq: number, link: Uint8Array | undefined) {
    this.#seq = seq;
    this.#link = link;
  }

  /** The last checkpoint that passed. */
  get seq(): number {
    return this.#seq;
  }

  /** Its link. */
  get link(): Uint8Array | undefined {
    return this.#link;
  }

  /** The id of the newest checkpoint that passed; undefined: none did. */
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
   * Begins at the checkpoint a verified snapshot stands for, whose row is verified by what the snapshot remembers of its parent. A
   * folded row has another parent by now; that it covers what the snapshot stands for is all that is asked of it here.
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
      // A row that follows a gap cannot fit either; what is missing is the better news.
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

/** A checkpoint that must be there is not. */
export function missingError(run: KeyedRun, seq: number, intact: string | undefined): CairnError {
  const data = { checkpoint: checkpointId(run.key, seq), reason: 'it is missing' };
  return new CairnError('CHECKPOINT_CORRUPT', intact === undefined ? data : { ...data, intact });
}

/** A row as far as it can be read without its parent. */
export function decodeOrNothing(run: KeyedRun, row: CheckpointRow): DecodedCheckpoint | undefined {
  try {
    return decodeCheckpoint({ runKey: run.key, seq: row.seq }, undefined, row);
  } catch {
    return undefined;
  }
}
