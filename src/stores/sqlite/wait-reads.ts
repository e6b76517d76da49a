/** Open waits and untaken messages. */

import type { MessageRow, OpenWait, Page, RunKey, WaitQuery, WaitRow } from '../../ports/store.ts';
import type { Prepare, Statement } from './prepare.ts';
import { readCursor } from './run-reads.ts';
import { never } from './run-rows.ts';

const pageSize = 100;

interface StoredWait {
  readonly id: number;
  readonly tenant: string;
  readonly run_id: string;
  readonly graph_id: string;
  readonly wait_id: string;
  readonly kind: WaitRow['kind'];
  readonly due: number;
  readonly body: Uint8Array;
}

function toOpenWait({ tenant, run_id, graph_id, wait_id, kind, due, body }: StoredWait): OpenWait {
  return {
    tenant,
    runId: run_id,
    graphId: graph_id,
    waitId: wait_id,
    kind,
    ...(due === never ? {} : { dueAt: due }),
    body,
  };
}

const columns = 'w.id, w.tenant, w.run_id, r.graph_id, w.wait_id, w.kind, w.due, w.body';
const after = 'w.due <= ? and (w.due, w.id) > (?, ?) order by w.due, w.id limit ?';

export class WaitReads {
  readonly #ofTenant: Statement;
  readonly #ofKind: Statement;
  readonly #ofRun: Statement;
  readonly #messages: Statement;

  constructor(prepare: Prepare) {
    this.#ofTenant = prepare(
      `select ${columns} from waits w indexed by waits_by_due cross join runs r on r.tenant = w.tenant and r.run_id = w.run_id where w.tenant = ? and ${after}`,
    );
    this.#ofKind = prepare(
      `select ${columns} from waits w indexed by waits_by_kind cross join runs r on r.tenant = w.tenant and r.run_id = w.run_id where w.tenant = ? and w.kind = ? and ${after}`,
    );
    this.#ofRun = prepare(
      `select ${columns} from waits w indexed by waits_by_run_due cross join runs r on r.tenant = w.tenant and r.run_id = w.run_id
       where w.run = (select no from runs where tenant = ? and run_id = ?) and ${after}`,
    );
    this.#messages = prepare(
      `select id, kind, name, body, at from messages
       where run = (select no from runs where tenant = ? and run_id = ?) and is_taken = 0 order by id`,
    );
  }

  listWaits(query: WaitQuery): Page<OpenWait> {
    const { tenant, runId, kinds, dueBy = never, limit = pageSize, cursor } = query;
    const [due = Number.MIN_SAFE_INTEGER, id = 0] = cursor === undefined ? [] : readCursor(cursor, 2);
    const read = (statement: Statement, ...of: string[]): StoredWait[] =>
      statement().all(...of, dueBy, due, id, limit + 1) as unknown as StoredWait[];
    const found =
      runId !== undefined
        ? this.#ofRunAndKinds(query, dueBy, due, id, limit + 1)
        : kinds === undefined
          ? read(this.#ofTenant, tenant)
          : [...new Set(kinds)]
              .flatMap((kind) => read(this.#ofKind, tenant, kind))
              .sort((a, b) => a.due - b.due || a.id - b.id);
    const page = found.slice(0, limit);
    const last = page.at(-1);
    return {
      rows: page.map(toOpenWait),
      ...(last !== undefined && found.length > limit ? { cursor: `${last.due}.${last.id}` } : {}),
    };
  }

  /** The open waits of one run are few enough to be read through and chosen from. */
  #ofRunAndKinds(query: WaitQuery, dueBy: number, due: number, id: number, limit: number): StoredWait[] {
    const { tenant, runId = '', kinds } = query;
    const rows = this.#ofRun().iterate(tenant, runId, dueBy, due, id, -1) as unknown as Iterable<StoredWait>;
    const found: StoredWait[] = [];
    for (const row of rows) {
      if (kinds === undefined || kinds.includes(row.kind)) found.push(row);
      if (found.length === limit) break;
    }
    return found;
  }

  readMessages({ tenant, runId }: RunKey): MessageRow[] {
    const rows = this.#messages().all(tenant, runId) as unknown as MessageRow[];
    return rows.map(({ id, kind, name, body, at }) => ({ id, kind, name, body, at }));
  }
}
