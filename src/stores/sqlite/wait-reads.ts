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

const allKinds: readonly WaitRow['kind'][] = ['question', 'timer', 'signal', 'doubt', 'retry'];

const columns = 'w.id, w.tenant, w.run_id, r.graph_id, w.wait_id, w.kind, w.due, w.body';
const after = 'w.due <= ? and (w.due, w.id) > (?, ?) order by w.due, w.id limit ?';

/** Walks an index of waits in order and looks up the run of each. */
const walk = (index: string): string =>
  `select ${columns} from waits w indexed by ${index} cross join runs r on r.tenant = w.tenant and r.run_id = w.run_id where`;

export class WaitReads {
  readonly #ofTenant: Statement;
  readonly #ofKind: Statement;
  readonly #ofRun: Statement;
  readonly #messages: Statement;

  constructor(prepare: Prepare) {
    this.#ofTenant = prepare(`${walk('waits_by_due')} w.tenant = ? and ${after}`);
    this.#ofKind = prepare(`${walk('waits_by_kind')} w.tenant = ? and w.kind = ? and ${after}`);
    // The waits of one run are few enough for those of other kinds to be passed over.
    this.#ofRun = prepare(
      `${walk('waits_by_run_due')} w.run = (select no from runs where tenant = ? and run_id = ?)
       and w.kind in (?, ?, ?, ?, ?) and ${after}`,
    );
    this.#messages = prepare(
      `select id, kind, name, body, at from messages
       where run = (select no from runs where tenant = ? and run_id = ?) and is_taken = 0 order by id`,
    );
  }

  listWaits(query: WaitQuery): Page<OpenWait> {
    const { limit = pageSize } = query;
    const found = this.#find(query, limit + 1);
    const page = found.slice(0, limit);
    const last = page.at(-1);
    return {
      rows: page.map(toOpenWait),
      ...(last !== undefined && found.length > limit ? { cursor: `${last.due}.${last.id}` } : {}),
    };
  }

  #find({ tenant, runId, kinds, dueBy = never, cursor }: WaitQuery, limit: number): StoredWait[] {
    const [due = Number.MIN_SAFE_INTEGER, id = 0] = cursor === undefined ? [] : readCursor(cursor, 2);
    const read = (statement: Statement, ...of: string[]): StoredWait[] =>
      statement().all(...of, dueBy, due, id, limit) as unknown as StoredWait[];
    if (runId !== undefined) {
      const chosen = allKinds.map((kind) => (kinds === undefined || kinds.includes(kind) ? kind : ''));
      return read(this.#ofRun, tenant, runId, ...chosen);
    }
    if (kinds === undefined) return read(this.#ofTenant, tenant);
    // One ordered listing a kind, merged.
    const found = [...new Set(kinds)].flatMap((kind) => read(this.#ofKind, tenant, kind));
    return found.sort((a, b) => a.due - b.due || a.id - b.id).slice(0, limit);
  }

  readMessages({ tenant, runId }: RunKey): MessageRow[] {
    const rows = this.#messages().all(tenant, runId) as unknown as MessageRow[];
    return rows.map(({ id, kind, name, body, at }) => ({ id, kind, name, body, at }));
  }
}
