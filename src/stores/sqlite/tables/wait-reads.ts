/** Reads open waits and messages that were not taken. */

import type { MessageRow, OpenWait, Page, RunKey, WaitQuery, WaitRow } from '../../../ports/store.ts';
import type { Prepare, Statement } from './prepare.ts';
import { readCursor } from './run-reads.ts';
import { never } from './run-rows.ts';
import { asBytes, readText } from './text-columns.ts';
import { bytesOf } from './byte-columns.ts';

const pageSize = 100;

interface StoredWait {
  readonly id: number;
  readonly tenant: Uint8Array;
  readonly run_id: Uint8Array;
  readonly graph_id: Uint8Array;
  readonly wait_id: Uint8Array;
  readonly kind: WaitRow['kind'];
  readonly due: number;
  readonly checksum: Uint8Array | null;
  readonly body: Uint8Array;
}

interface StoredMessage extends Omit<MessageRow, 'name' | 'checksum'> {
  readonly name: Uint8Array;
  readonly checksum: Uint8Array | null;
}

function toOpenWait({ tenant, run_id, graph_id, wait_id, kind, due, checksum, body }: StoredWait): OpenWait {
  return {
    tenant: readText(tenant),
    runId: readText(run_id),
    graphId: readText(graph_id),
    waitId: readText(wait_id),
    kind,
    ...(due === never ? {} : { dueAt: due }),
    body: bytesOf(body),
    ...(checksum === null ? {} : { checksum: bytesOf(checksum) }),
  };
}

const allKinds: readonly WaitRow['kind'][] = ['question', 'timer', 'signal', 'doubt', 'retry'];

const texts = ['w.tenant', 'w.run_id', 'w.wait_id', 'r.graph_id'];
const columns = `w.id, w.kind, w.due, w.body, ${texts.map(asBytes).join(', ')}`;

/** Rows of the first layouts have no checksum. */
const checksumOf = (layout: number): string => (layout < 3 ? 'null as checksum' : 'checksum');
/** An answer to a wait that no commit has taken yet. */
const answer =
  "exists (select 1 from messages m where m.run = w.run and m.kind = 'answer' and m.name = w.wait_id and m.is_taken = 0)";
/** 1 and 0 want waits with such an answer and without; anything else wants all, and nothing is looked up. */
const byAnswer = `case ? when 1 then ${answer} when 0 then not ${answer} else 1 end`;
const after = `${byAnswer} and w.due <= ? and (w.due, w.id) > (?, ?) order by w.due, w.id limit ?`;

/** SQL that walks through an index of waits in order and looks up the run of each. */
const walk = (index: string, layout: number): string =>
  `select ${columns}, ${checksumOf(layout)} from waits w indexed by ${index} cross join runs r on r.tenant = w.tenant and r.run_id = w.run_id where`;

export class WaitReads {
  readonly #ofTenant: Statement;
  readonly #ofKind: Statement;
  readonly #ofRun: Statement;
  readonly #messages: Statement;

  constructor(prepare: Prepare, layout: number) {
    this.#ofTenant = prepare(`${walk('waits_by_due', layout)} w.tenant = ? and ${after}`);
    this.#ofKind = prepare(`${walk('waits_by_kind', layout)} w.tenant = ? and w.kind = ? and ${after}`);
    // One run has few waits, so those of other kinds are simply skipped.
    this.#ofRun = prepare(
      `${walk('waits_by_run_due', layout)} w.run = (select no from runs where tenant = ? and run_id = ?)
       and w.kind in (?, ?, ?, ?, ?) and ${after}`,
    );
    this.#messages = prepare(
      `select id, kind, ${asBytes('name')}, body, at, ${checksumOf(layout)} from messages
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

  #find({ tenant, runId, kinds, dueBy = never, isAnswered, cursor }: WaitQuery, limit: number): StoredWait[] {
    const [due = Number.MIN_SAFE_INTEGER, id = 0] = cursor === undefined ? [] : readCursor(cursor, 2);
    const answered = isAnswered === undefined ? null : Number(isAnswered);
    const read = (statement: Statement, ...of: string[]): StoredWait[] =>
      statement().all(...of, answered, dueBy, due, id, limit) as unknown as StoredWait[];
    if (runId !== undefined) {
      const chosen = allKinds.map((kind) => (kinds === undefined || kinds.includes(kind) ? kind : ''));
      return read(this.#ofRun, tenant, runId, ...chosen);
    }
    if (kinds === undefined) return read(this.#ofTenant, tenant);
    // One sorted list for each kind, merged.
    const found = [...new Set(kinds)].flatMap((kind) => read(this.#ofKind, tenant, kind));
    return found.sort((a, b) => a.due - b.due || a.id - b.id).slice(0, limit);
  }

  readMessages({ tenant, runId }: RunKey): MessageRow[] {
    const rows = this.#messages().all(tenant, runId) as unknown as StoredMessage[];
    return rows.map(({ id, kind, name, body, at, checksum }) => ({
      id,
      kind,
      name: readText(name),
      body: bytesOf(body),
      at,
      ...(checksum === null ? {} : { checksum: bytesOf(checksum) }),
    }));
  }
}
