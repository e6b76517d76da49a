/** Reads open waits and messages that were not taken. */
import { isUnderWay } from '../../../state/tree.ts';
import { CairnError } from '../../../errors.ts';
import { requireIntact } from '../../../ports/intact-run.ts';
import type { CodeCount, OpenCounts } from '../../../ports/run-counts.ts';
import type {
  CountQuery,
  Page,
  RunKey,
  RunQuery,
  RunRow,
  MessageRow,
  OpenWait,
  WaitQuery,
  WaitRow,
} from '../../../ports/store.ts';
import {
  behindMax,
  cancellingCode,
  waitingCode,
  joinHead,
  type Prepare,
  type Statement,
  codesOf,
  activeCodes,
  isAtRest,
  isDamagedRow,
  runColumns,
  reportedColumns,
  toRunRow,
  type StoredRun,
  readText,
  never,
  asBytes,
} from './run-rows.ts';
import type { HostClock } from '../../host-clock.ts';
import { bytesOf } from './row-check.ts';

// Reads runs by id and by prefix, and lists them.

const pageSize = 100;

/** The most damaged rows that are named. */
const reportedMax = 20;
/** No more open runs are counted by their code. */
const countedMax = 100_000;

interface CountedCode {
  readonly graph_id: Uint8Array;
  readonly code: Uint8Array;
  readonly runs: number;
}

/** Matches what a key may begin with. */
const keyPrefix = /^[0-9a-f]{0,16}$/;

/** Parses a cursor. @throws USAGE_INVALID */
function readCursor(cursor: string, parts: number): readonly number[] {
  const numbers = cursor.split('.').map(Number);
  if (numbers.length !== parts || numbers.some(Number.isNaN)) {
    throw new CairnError('USAGE_INVALID', { reason: `${cursor} is not a cursor of this store` });
  }
  return numbers;
}

type Value = string | number;

export class RunReads {
  readonly #prepare: Prepare;
  readonly #clock: HostClock;
  readonly #store: string;
  readonly #columns: string;
  readonly #hasGraphIndex: boolean;
  readonly #listings = new Map<string, Statement>();
  readonly #byId: Statement;
  readonly #all: Statement;
  readonly #byPrefix: Statement;
  readonly #byIdPrefix: Statement;
  readonly #newestNear: Statement;
  readonly #newestFar: Statement;
  readonly #isPlaceLost: Statement;
  /** Whether an entry was lost. Counted once, since a file is damaged while nobody has it open. */
  #hasLostPlace: boolean | undefined;
  readonly #hasForks: Statement;
  readonly #countRuns: Statement;
  readonly #countWaits: Statement;
  readonly #countCodes: Statement;

  /** @param store - its name, for messages */
  constructor(prepare: Prepare, clock: HostClock, layout: number, store: string) {
    this.#store = store;
    this.#hasGraphIndex = layout >= 12;
    this.#prepare = prepare;
    this.#clock = clock;
    const columns = (this.#columns = runColumns(layout));
    this.#byId = prepare(`select ${columns} from runs r ${joinHead} where r.tenant = ? and r.run_id = ?`);
    // By the order of the rows themselves: an index has ids of its own, and leads past a row whose id has changed.
    this.#all = prepare(`select ${columns} from runs r ${joinHead} order by r.tenant, r.run_id`);
    const behind = `select max(c.seq) as seq from runs r ${joinHead} join checkpoints c on c.run = r.no`;
    this.#newestNear = prepare(`${behind} and c.id between h.id + 1 and h.id + ${behindMax} where r.no = ?`);
    this.#newestFar = prepare(`${behind} and c.id > h.id + ${behindMax} where r.no = ?`);
    this.#isPlaceLost = prepare('select 1 from placed where one = 3 and up_to > (select count(*) from places)');
    this.#hasForks = prepare(
      'select 1 from runs indexed by runs_by_parent where tenant = ? and parent_run = ? limit 1',
    );
    this.#countRuns = prepare(
      `select status, count(*) as n from runs indexed by runs_by_status
       where tenant = ? and status in (0, 1, ${waitingCode}, ${cancellingCode}) group by status`,
    );
    this.#countWaits = prepare(
      `select count(*) as waits, (select count(*) from waits where tenant = ? and due <= ?) as overdue
       from waits where tenant = ? and kind <> 'delivery'`,
    );
    this.#countCodes = prepare(
      `select ${asBytes('graph_id')}, cast(under as blob) as code, count(*) as runs from (
         select graph_id, ${layout < 9 ? 'graph_hash' : 'coalesce(code, graph_hash)'} as under from runs indexed by runs_by_status
         where tenant = ? and status in (0, 1, ${waitingCode}, ${cancellingCode})
           and graph_id in (select value from json_each(?)) limit ${countedMax})
       group by graph_id, under order by graph_id, under`,
    );
    const first = 'select run_id from runs where tenant = ? and run_id between ? and ?';
    const second = 'select run_id from runs indexed by runs_by_status where tenant = ? and key between ? and ?';
    const among = (ids: string): string =>
      `select ${columns} from runs r ${joinHead} where r.tenant = ? and r.run_id in (${ids}) order by r.run_id limit ?`;
    this.#byIdPrefix = prepare(among(first));
    this.#byPrefix = prepare(among(`${first} union ${second}`));
  }

  readRun({ tenant, runId }: RunKey): RunRow | undefined {
    const row = this.#byId().get(tenant, runId) as StoredRun | undefined;
    if (row === undefined) return undefined;
    const run = requireIntact(this.#store, toRunRow(row, this.#clock));
    // One that was never claimed has the checkpoint that it was admitted with.
    const isAbandoned = isUnderWay(run.status) && run.claim === undefined && row.status !== waitingCode;
    return isAbandoned ? this.#withLostHead(run, row.no) : run;
  }

  /**
   * The row of a run whose process was killed does not say how far it came. If an index has lost where its newest checkpoints are, they
   * still stand behind the one that was found. The newest of them is the head, so that whoever reads the history gets an error for the
   * damage.
   */
  #withLostHead(run: RunRow, no: number): RunRow {
    const near = this.#newestNear().get(no) as { readonly seq: number | null };
    const isFar = near.seq === null && (this.#hasLostPlace ??= this.#isPlaceLost().get() !== undefined);
    const { seq } = isFar ? (this.#newestFar().get(no) as { readonly seq: number | null }) : near;
    return seq === null ? run : { ...run, head: Math.max(run.head, seq) };
  }

  /** Looks at the rows of all runs, of every tenant. Returns a line for each that is not as it was written. */
  findDamage(): readonly string[] {
    const lines: string[] = [];
    for (const row of this.#all().iterate() as unknown as Iterable<StoredRun>)
      if (lines.length < reportedMax && isDamagedRow(row))
        lines.push(`the row of run ${readText(row.run_id)} of tenant ${readText(row.tenant)} was changed`);
    return lines;
  }

  countCodes(tenant: string, graphs: readonly string[]): readonly CodeCount[] {
    const rows = this.#countCodes().all(tenant, JSON.stringify(graphs)) as unknown as readonly CountedCode[];
    return rows.map(({ graph_id, code, runs }) => ({ graphId: readText(graph_id), code: readText(code), runs }));
  }

  countOpen(tenant: string): OpenCounts {
    const rows = this.#countRuns().all(tenant) as unknown as readonly { readonly status: number; readonly n: number }[];
    const of = (...codes: readonly number[]): number =>
      rows.reduce((sum, { status, n }) => sum + (codes.includes(status) ? n : 0), 0);
    const waits = this.#countWaits().get(tenant, this.#clock.now(), tenant) as Pick<OpenCounts, 'waits' | 'overdue'>;
    return { runs: { running: of(0, waitingCode), cancelling: of(cancellingCode), paused: of(1) }, ...waits };
  }

  findRuns(tenant: string, prefix: string, limit: number): RunRow[] {
    // Every text that begins with the prefix sorts before the prefix followed by the last code point.
    const range = [tenant, prefix, `${prefix}\u{10ffff}`];
    // Keys are hexadecimal. They stand in no index of their own, where each admission would write a page of its own: the one of statuses,
    // which has them, is read whole.
    const rows = (keyPrefix.test(prefix)
      ? this.#byPrefix().all(tenant, ...range, ...range, limit)
      : this.#byIdPrefix().all(tenant, ...range, limit)) as unknown as StoredRun[];
    return rows.map((row) => requireIntact(this.#store, toRunRow(row, this.#clock)));
  }

  listRuns(query: RunQuery): Page<RunRow> {
    const { status, limit = pageSize } = query;
    const codes = codesOf(status);
    const labels = Object.entries(query.labels ?? {});
    const found =
      query.parentRunId !== undefined
        ? this.#listForks(query, codes, limit + 1)
        : labels.length > 0
          ? this.#listLabelled(query, labels, codes, limit + 1)
          : this.#listStatuses(query, codes, limit + 1);
    const page = found.sort((a, b) => b.no - a.no).slice(0, limit);
    const last = page.at(-1);
    return {
      rows: page.map((row) => toRunRow(row, this.#clock)),
      ...(last !== undefined && found.length > limit ? { cursor: String(last.no) } : {}),
    };
  }

  /** Counts runs in the index that {@link listRuns} walks, and reads none of them. */
  countRuns({ exceptIds = [], ...query }: CountQuery): number {
    const [label, ...others] = Object.entries(query.labels ?? {});
    const { conditions, values } = readFilters({ ...query, labels: Object.fromEntries(others) });
    const without = exceptIds.map(() => 'and not r.run_id between ? and ?').join(' ');
    const ranges = exceptIds.flatMap((prefix) => [prefix, `${prefix}\u{10ffff}`]);
    const where = `r.status in (${codesOf(query.status).join(', ')}) ${conditions} ${without}`;
    const index = query.parentRunId === undefined ? 'runs_by_status' : 'runs_by_parent';
    const from =
      label === undefined
        ? `runs r indexed by ${index} where r.tenant = ?`
        : `labels l cross join runs r on r.tenant = l.tenant and r.run_id = l.run_id where l.tenant = ? and l.name = ? and l.value = ?`;
    const sql = `select count(*) as n from ${from} and ${where}`;
    return Number(this.#listing(sql)().get(query.tenant, ...(label ?? []), ...values, ...ranges)?.['n'] ?? 0);
  }

  /** The runs of each status stand in order in an index, which SQLite merges: it would sort all rows for several statuses at once. */
  #listStatuses(query: RunQuery, codes: readonly number[], limit: number): StoredRun[] {
    if (codes.length === 0) return [];
    const { conditions, values } = readFilters(query);
    const ofCode = (code: number): string => {
      // Those that are advanced are in no index of their graph: they are few.
      const isByGraph = this.#hasGraphIndex && query.graphId !== undefined && !activeCodes.includes(code);
      return `select r.tenant, r.run_id, r.no from runs r indexed by ${isByGraph ? 'runs_by_graph' : 'runs_by_status'}
        where r.tenant = ? and r.status = ${code} ${isByGraph ? `and r.${isAtRest}` : ''} ${conditions}`;
    };
    return this.#readChosen(this.#columns, `${codes.map(ofCode).join(' union all ')} order by no desc`, [
      ...codes.flatMap(() => [query.tenant, ...values]),
      limit,
    ]);
  }

  /** Runs with a label stand in order whatever their status is, so one listing has them all. */
  #listLabelled(
    query: RunQuery,
    [first, ...others]: readonly (readonly [string, string])[],
    codes: readonly number[],
    limit: number,
  ): StoredRun[] {
    if (first === undefined) return [];
    const { conditions, values } = readFilters({ ...query, labels: Object.fromEntries(others) });
    const sql = `select ${this.#columns} from labels l cross join runs r on r.tenant = l.tenant and r.run_id = l.run_id and r.no = l.run
      ${joinHead} where l.tenant = ? and l.name = ? and l.value = ? and r.status in (${codes.join(', ')}) ${conditions}
      order by l.run desc limit ?`;
    return this.#readAll(sql, [query.tenant, ...first, ...values, limit]);
  }

  /**
   * The forks of a run stand in order whatever their status is, so one listing has them all. Most runs have no forks. To ask whether there
   * are any takes a tenth of an empty listing, which prepares to read every column.
   */
  #listForks(query: RunQuery, codes: readonly number[], limit: number): StoredRun[] {
    if (this.#hasForks().get(query.tenant, query.parentRunId ?? '') === undefined) return [];
    const { conditions, values } = readFilters(query);
    const chosen = `select r.tenant, r.run_id from runs r indexed by runs_by_parent
      where r.tenant = ? and r.status in (${codes.join(', ')}) ${conditions} order by r.no desc`;
    return this.#readChosen(`${this.#columns}, ${reportedColumns}`, chosen, [query.tenant, ...values, limit]);
  }

  /** The runs are chosen in the index alone: a table that is clustered by ids is otherwise read for each that is looked at. */
  #readChosen(columns: string, chosen: string, values: readonly Value[]): StoredRun[] {
    const page = `(${chosen} limit ?) c cross join runs r on r.tenant = c.tenant and r.run_id = c.run_id`;
    return this.#readAll(`select ${columns} from ${page} ${joinHead}`, values);
  }

  #readAll(sql: string, values: readonly Value[]): StoredRun[] {
    return this.#listing(sql)().all(...values) as unknown as StoredRun[];
  }

  #listing(sql: string): Statement {
    let listing = this.#listings.get(sql);
    if (listing === undefined) this.#listings.set(sql, (listing = this.#prepare(sql)));
    return listing;
  }
}

/** @throws USAGE_INVALID the cursor is not from this store */
function readFilters({ graphId, parentRunId, labels = {}, since, until, cursor }: RunQuery): {
  conditions: string;
  values: Value[];
} {
  const before = cursor === undefined ? undefined : readCursor(cursor, 1)[0];
  const filters: readonly (readonly [string, Value | undefined])[] = [
    ['and r.graph_id = ?', graphId],
    ['and r.parent_run = ?', parentRunId],
    ['and r.created_at >= ?', since],
    ['and r.created_at < ?', until],
    ['and r.no < ?', before],
  ];
  const present = filters.filter((filter): filter is readonly [string, Value] => filter[1] !== undefined);
  const pairs = Object.entries(labels);
  const hasLabel =
    'and exists (select 1 from labels o where o.tenant = r.tenant and o.name = ? and o.value = ? and o.run = r.no)';
  return {
    conditions: [...present.map(([condition]) => condition), ...pairs.map(() => hasLabel)].join(' '),
    values: [...present.map(([, value]) => value), ...pairs.flat()],
  };
}

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

/** The kinds that are listed where none is named. */
const waitKinds: readonly WaitRow['kind'][] = ['question', 'timer', 'signal', 'doubt', 'retry', 'refused'];

/** How many kinds a query of a run's waits names: each of its places is filled. */
const kindsMost = waitKinds.length + 1;

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
  readonly #hasMessage: Statement;

  constructor(prepare: Prepare, layout: number) {
    this.#ofTenant = prepare(`${walk('waits_by_due', layout)} w.tenant = ? and w.kind <> 'delivery' and ${after}`);
    this.#ofKind = prepare(`${walk('waits_by_kind', layout)} w.tenant = ? and w.kind = ? and ${after}`);
    // One run has few waits, so those of other kinds are simply skipped.
    this.#ofRun = prepare(
      `${walk('waits_by_run_due', layout)} w.run = (select no from runs where tenant = ? and run_id = ?)
       and w.kind in (${Array.from({ length: kindsMost }, () => '?').join(', ')}) and ${after}`,
    );
    this.#messages = prepare(
      `select id, kind, ${asBytes('name')}, body, at, ${checksumOf(layout)} from messages
       where run = (select no from runs where tenant = ? and run_id = ?) and is_taken = 0 order by id`,
    );
    this.#hasMessage = prepare(
      'select 1 from messages where run = (select no from runs where tenant = ? and run_id = ?) and kind = ? and name = ?',
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
      const chosen = [...waitKinds, 'delivery' as const].map((kind) =>
        (kinds ?? waitKinds).includes(kind) ? kind : '',
      );
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

  hasMessage({ tenant, runId }: RunKey, { kind, name }: Pick<MessageRow, 'kind' | 'name'>): boolean {
    return this.#hasMessage().get(tenant, runId, kind, name) !== undefined;
  }
}
