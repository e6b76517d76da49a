/** Checks that the newest checkpoints, which have no index entry yet, are all there (see checkpoint-places.ts). */

import { isUnplaced } from './checkpoint-places.ts';
import type { Prepare, Statement } from './prepare.ts';

interface NewRow {
  readonly run: number;
  readonly seq: number;
}

interface Tail {
  readonly up_to: number;
  /** The largest number of a run that has an index entry. */
  readonly runs: number;
  /** The largest id of a checkpoint. */
  readonly newest: number;
}

/**
 * Checks the newest checkpoints. Their ids must be consecutive, each must follow the one before it in its run, and a run that begins among
 * them must have the next number. Otherwise some are gone, and it cannot be known of which run.
 */
export class NewestCheckpoints {
  readonly #selectTail: Statement;
  readonly #selectRows: Statement;
  readonly #selectHead: Statement;

  constructor(prepare: Prepare) {
    this.#selectTail = prepare(
      `select up_to, coalesce((select max(run) from places), 0) as runs,
         coalesce((select id from checkpoints order by id desc limit 1), 0) as newest from placed where one = 1`,
    );
    this.#selectRows = prepare(`select run, seq from checkpoints where ${isUnplaced} order by id`);
    this.#selectHead = prepare('select max(seq) as seq from places where run = ?');
  }

  areWhole(): boolean {
    const tail = this.#selectTail().get() as Tail | undefined;
    const rows = this.#selectRows().all() as unknown as NewRow[];
    return tail?.newest === (tail?.up_to ?? -1) + rows.length && this.#followOn(rows, tail.runs);
  }

  #followOn(rows: readonly NewRow[], runsBefore: number): boolean {
    const heads = new Map<number, number>();
    let begun = 0;
    return rows.every(({ run, seq }) => {
      if (!Number.isSafeInteger(run) || !Number.isSafeInteger(seq)) return false;
      const before = heads.get(run) ?? (this.#selectHead().get(run)?.['seq'] as number | null);
      heads.set(run, seq);
      if (before !== null) return seq === before + 1;
      begun += 1;
      return run === runsBefore + begun;
    });
  }
}
