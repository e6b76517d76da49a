/** Changes of the labels of a run, with the meta that tells of them. */
import { CairnError } from '../../../errors.ts';
import { damagedRun } from '../../../ports/intact-run.ts';
import type { Relabelling } from '../../../ports/store.ts';
import { bytesOf, checkOf, type CheckedColumns } from './row-check.ts';
import { asBytes, type Prepare, type Statement } from './run-rows.ts';

const texts = ['tenant', 'run_id', 'key', 'graph_id', 'parent_run', 'queue', 'queue_key'];

export class LabelWrites {
  readonly #store: string;
  readonly #selectRun: Statement;
  readonly #setMeta: Statement;
  readonly #deleteLabels: Statement;
  readonly #insertLabel: Statement;

  constructor(prepare: Prepare, store: string) {
    this.#store = store;
    this.#selectRun = prepare(
      `select no, created_at, parent_seq, priority, due, meta, check_value, ${texts.map(asBytes).join(', ')}
      from runs where tenant = ? and run_id = ?`,
    );
    this.#setMeta = prepare('update runs set meta = ?, check_value = ? where tenant = ? and run_id = ?');
    this.#deleteLabels = prepare('delete from labels where run = ?');
    this.#insertLabel = prepare('insert into labels (tenant, name, value, run, run_id) values (?, ?, ?, ?, ?)');
  }

  /** Must be called inside of a transaction. @returns whether the labels are these now @throws RUN_NOT_FOUND, STORE_CORRUPT */
  labelRun({ tenant, runId, labels, meta, oldMeta }: Relabelling): boolean {
    const row = this.#selectRun().get(tenant, runId) as
      | (CheckedColumns & { readonly check_value: number | null })
      | undefined;
    if (row === undefined) throw new CairnError('RUN_NOT_FOUND', { runId });
    // A new check value would hide that the row is damaged.
    if (row.check_value !== null && row.check_value !== checkOf(row)) throw damagedRun(this.#store, { runId });
    const stored = Buffer.from(bytesOf(row.meta));
    if (!stored.equals(oldMeta)) return stored.equals(meta);
    this.#setMeta().run(meta, checkOf({ ...row, meta }), tenant, runId);
    this.#deleteLabels().run(row.no);
    for (const [name, value] of Object.entries(labels)) this.#insertLabel().run(tenant, name, value, row.no, runId);
    return true;
  }
}
