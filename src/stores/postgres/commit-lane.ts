/** Writes commits. Those of one turn, of any number of runs, share a statement; each run is accepted or refused by itself. */
import { CairnError } from '../../errors.ts';
import { blobsOfCommit } from '../../ports/blob-references.ts';
import type { Commit, CommitReply, RunKey, StoredStatus, WaitRow } from '../../ports/store.ts';
import { noteReferences } from './references.ts';
import { isOfValues, type Query } from './database.ts';
import { keyOf, modeOf, modeTable, never, statusCode, toText, waitsTable, waitsToJson } from './tables.ts';

/** At these sizes a statement takes no more commits. */
const [batchCommitsMax, batchBytesMax] = [256, 1024 * 1024];

interface Pending {
  readonly commit: Commit;
  readonly resolve: (reply: CommitReply) => void;
  readonly reject: (error: unknown) => void;
}

/** Commits of one run with consecutive seqs. */
interface Group {
  readonly first: number;
  readonly items: Pending[];
  isClosed: boolean;
}

/** Runs that may be advanced: the token is the newest and the first seq follows the head. Their rows are locked, in one order. */
const accepted = `
  ok as materialized (
    select g.*, r.no from g join S.runs r on r.tenant = g.tenant and r.run_id = g.run_id
    where r.token = g.token and r.head = g.first - 1 order by r.no for no key update of r),
  written as (
    insert into S.checkpoints (run, seq, at, checksum, body)
    select ok.no, c.seq, c.at, c.checksum, c.body
    from ok join unnest($3::int[], $4::bigint[], $5::bigint[], $6::bytea[], $7::bytea[]) c(i, seq, at, checksum, body) on c.i = ok.i)`;

/** Commits that only append. They touch no index of the runs. */
const appendOnly = `
  with ${modeTable('$1')},
  g as (
    select * from json_to_recordset($2::text::json)
    as g(i int, tenant text, run_id text, token bigint, first bigint, last bigint, at bigint)),
  ${accepted},
  updated as (update S.runs r set head = ok.last, updated_at = ok.at from ok where r.no = ok.no)
  select i, set from ok, mode`;

/** Those of one run alone, which is what a chain of nodes with effects writes: the server reads and plans it in half the time. */
const appendToOne = (isPower: boolean): string => `
  with ${isPower ? '' : `${modeTable(`'off'`)},`}
  ok as (
    update S.runs set head = $4::bigint, updated_at = $5::bigint${isPower ? '' : ' from mode'}
    where tenant = $1 and run_id = $2 and token = $3::bigint and head = $6::bigint - 1${isPower ? '' : ` and set = 'off'`} returning no)
  insert into S.checkpoints (run, seq, at, checksum, body)
  select ok.no, c.* from ok, unnest($7::bigint[], $8::bigint[], $9::bytea[], $10::bytea[]) as c(seq, at, checksum, body)
  returning 0 as i`;
const [appendPower, appendQuick] = [appendToOne(true), appendToOne(false)];

/** Commits that also change the status, waits, messages or the claim, or that name blobs, as few do. */
const changing = (names: boolean): string => `
  with ${modeTable('$1')},
  g as (
    select * from json_to_recordset($2::text::json)
    as g(i int, tenant text, run_id text, token bigint, first bigint, last bigint, at bigint, status smallint,
      graph_hash text, code text, taken bigint[], closed text[], changes_waits boolean, releases boolean)),
  ${accepted},
  opened as materialized (select ok.no, ok.tenant, w.* from ok join ${waitsTable('$8')} on w.i = ok.i),
  removed as (delete from S.waits w using ok where w.run = ok.no and w.wait_id = any(ok.closed)),
  added as (
    insert into S.waits (run, wait_id, tenant, kind, due, checksum, body)
    select no, wait_id, tenant, kind, due, decode(checksum, 'hex'), decode(body, 'hex') from opened
    on conflict (run, wait_id) do update set id = nextval('S.orders'), kind = excluded.kind, due = excluded.due,
      checksum = excluded.checksum, body = excluded.body),${
        names
          ? `
  noted as (${noteReferences(noted)}),`
          : ''
      }
  took as (
    update S.messages m set taken = true from ok
    where m.run = ok.no and m.id = any(ok.taken) and not m.taken returning m.run),
  counts as (select run, count(*)::int as n from took group by run),
  updated as (
    update S.runs r set head = ok.last, updated_at = ok.at,
      status = coalesce(ok.status, r.status), graph_hash = coalesce(ok.graph_hash, r.graph_hash), code = coalesce(ok.code, r.code),
      ended_at = case when ok.status is null then r.ended_at when ok.status >= ${statusCode('completed')} then ok.at end,
      message_count = r.message_count - coalesce(counts.n, 0),
      message_at = case when r.message_count = coalesce(counts.n, 0) then null else r.message_at end,
      wait_at = case when not ok.changes_waits then r.wait_at else (
        select min(due) from (
          select w.due from S.waits w where w.run = ok.no and w.due < ${never} and not (w.wait_id = any(ok.closed))
            and not exists (select 1 from opened o where o.no = w.run and o.wait_id = w.wait_id)
          union all select o.due from opened o where o.no = ok.no and o.due < ${never}) as dues) end,
      token = case when ok.releases then nextval('S.tokens') else r.token end,
      owner = case when ok.releases then null else r.owner end,
      lease_until = case when ok.releases then 0 else r.lease_until end,
      deaths_unreleased = case when ok.releases then 0 else r.deaths_unreleased end
    from ok left join counts on counts.run = ok.no where r.no = ok.no)
  select i, set from ok, mode`;
const noted = `select ok.tenant, n.hash, ok.no, 1 from ok join json_to_recordset($9::text::json) as n(i int, hash text) on n.i = ok.i`;
const [withChanges, withNames] = [changing(false), changing(true)];

const copy = (bytes: Uint8Array): Uint8Array => Buffer.from(bytes);

/** A wait with its own bytes. */
export const copyWait = (wait: WaitRow): WaitRow => ({
  ...wait,
  body: copy(wait.body),
  ...(wait.checksum && { checksum: copy(wait.checksum) }),
});

function copyCommit(commit: Commit): Commit {
  const { claim, checkpoint, openWaits, closeWaits, takeMessages } = commit;
  return {
    ...commit,
    claim: { ...claim },
    checkpoint: { ...checkpoint, body: copy(checkpoint.body), checksum: copy(checkpoint.checksum) },
    ...(openWaits && { openWaits: openWaits.map(copyWait) }),
    ...(closeWaits && { closeWaits: [...closeWaits] }),
    ...(takeMessages && { takeMessages: [...takeMessages] }),
  };
}

export class CommitLane {
  readonly #query: Query;
  /** Called when a run's claim was released with a commit. */
  readonly #onRelease: (run: RunKey) => void;
  #pending: Pending[] = [];
  #running: Promise<void> | undefined;

  constructor(query: Query, onRelease: (run: RunKey) => void) {
    this.#query = query;
    this.#onRelease = onRelease;
  }

  commit(source: Commit): Promise<CommitReply> {
    const commit = copyCommit(source);
    return new Promise((resolve, reject) => {
      this.#pending.push({ commit, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when nothing is pending. */
  async drain(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    // Commits of the same turn come before this.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#pending.length > 0) await this.#flush(this.#takeGroups());
    this.#running = undefined;
  }

  /** Takes pending commits, at most one group a run. */
  #takeGroups(): readonly Group[] {
    const groups = new Map<string, Group>();
    const rest: Pending[] = [];
    let [count, bytes] = [0, 0];
    for (const item of this.#pending) {
      const { claim, checkpoint, releases } = item.commit;
      const key = JSON.stringify([claim.tenant, claim.runId]);
      const group = groups.get(key);
      // Once full, it takes nothing more, of no run: what is put off is overtaken by nothing.
      const isFull = count >= batchCommitsMax || bytes > batchBytesMax;
      if (!isFull && group === undefined) {
        groups.set(key, { first: checkpoint.seq, items: [item], isClosed: releases === true });
      } else if (!isFull && group !== undefined && follows(group, item.commit)) {
        group.items.push(item);
        group.isClosed = releases === true;
      } else {
        // Later commits of this run must not overtake this one.
        if (group !== undefined) group.isClosed = true;
        rest.push(item);
        continue;
      }
      count += 1;
      bytes += checkpoint.body.length;
    }
    this.#pending = rest;
    return [...groups.values()];
  }

  async #flush(groups: readonly Group[]): Promise<void> {
    try {
      const done = await this.#write(groups);
      for (const [i, group] of groups.entries())
        if (done.has(i)) group.items.forEach((item) => this.#succeed(item));
        else await this.#settle(group);
    } catch (error) {
      // Values of one run can be what the server refuses; then the others are written without it.
      if (groups.length > 1 && isOfValues(error)) for (const group of groups) await this.#flush([group]);
      else for (const { items } of groups) for (const item of items) item.reject(error);
    }
  }

  #succeed({ commit, resolve }: Pending): void {
    // A run that has ended is nobody's to take up.
    if (commit.releases === true && !hasEnded(commit.status)) this.#onRelease(commit.claim);
    resolve({ isHeld: commit.releases !== true });
  }

  /** Commits of a group that was not accepted as a whole, one by one and in order. */
  async #settle({ items }: Group): Promise<void> {
    for (const item of items) {
      const { claim, checkpoint } = item.commit;
      const { runId, token } = claim;
      const { seq } = checkpoint;
      // Ends: between two tries the run's head or token has moved, and neither goes back.
      for (;;) {
        const [row] = await this.#query<{ token: number; head: number; checksum: Uint8Array | null }>(
          `select r.token, r.head, c.checksum from S.runs r left join S.checkpoints c on c.run = r.no and c.seq = $3
          where r.tenant = $1 and r.run_id = $2`,
          [...keyOf(claim), seq],
        );
        if (row?.checksum != null && Buffer.compare(row.checksum, checkpoint.checksum) === 0)
          item.resolve({ isHeld: row.token === token });
        else if (row?.token !== token)
          item.reject(new CairnError('CLAIM_FENCED', { runId, token, current: row?.token ?? 0 }));
        else if (seq !== row.head + 1) item.reject(new CairnError('COMMIT_CONFLICT', { runId, seq, head: row.head }));
        else if ((await this.#write([{ first: seq, items: [item], isClosed: true }])).has(0)) this.#succeed(item);
        else continue;
        break;
      }
    }
  }

  /** @returns the indexes of the groups that were accepted */
  async #write(groups: readonly Group[]): Promise<ReadonlySet<number>> {
    const described = groups.map((group, i) => describe(group, i));
    const items = groups.flatMap((group, i) => group.items.map(({ commit }) => ({ i, ...commit })));
    const isPower = items.some(({ durability }) => durability === 'power');
    const hasChanges = described.some((one) => one.hasChanges);
    const [only] = described;
    if (only !== undefined && described.length === 1 && !hasChanges) {
      const { tenant, run_id, token, first, last, at } = only.row;
      const text = isPower ? appendPower : appendQuick;
      const rows = columnsOf(items);
      const done = await this.#query<{ i: number }>(text, [tenant, run_id, token, last, at, first, ...rows]);
      return new Set(done.map(({ i }) => i));
    }
    const values = [
      modeOf(isPower ? 'power' : 'process'),
      JSON.stringify(described.map(({ row }) => row)),
      items.map(({ i }) => i),
      ...columnsOf(items),
    ];
    const waits = described.flatMap(({ waits }) => waits);
    const names = described.flatMap(({ blobs }, i) => [...blobs].map((hash) => ({ i, hash })));
    const changes = [...values, JSON.stringify(waits)];
    const done = hasChanges
      ? await (names.length === 0
          ? this.#query<{ i: number }>(withChanges, changes)
          : this.#query<{ i: number }>(withNames, [...changes, JSON.stringify(names)]))
      : await this.#query<{ i: number }>(appendOnly, values);
    return new Set(done.map(({ i }) => i));
  }
}

const hasEnded = (status: StoredStatus | undefined): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled';

/** Seqs, times, checksums and bodies, as statements take them. */
const columnsOf = (items: readonly Pick<Commit, 'checkpoint'>[]): readonly (readonly unknown[])[] =>
  (['seq', 'at', 'checksum', 'body'] as const).map((name) => items.map(({ checkpoint }) => checkpoint[name]));

/** Whether a commit comes right after those of a group. */
function follows({ first, items, isClosed }: Group, { claim, checkpoint }: Commit): boolean {
  return !isClosed && items[0]?.commit.claim.token === claim.token && first + items.length === checkpoint.seq;
}

/** What changes in a run's row. */
interface RunChange {
  readonly i: number;
  readonly tenant: string;
  readonly run_id: string;
  readonly token: number;
  readonly first: number;
  readonly last: number;
  readonly at: number;
  readonly status: number | null;
  readonly releases: boolean;
  readonly graph_hash: string | null;
  readonly code: string | null;
  readonly taken: readonly number[];
  readonly closed: readonly string[];
  readonly changes_waits: boolean;
}

/** What the commits of a group come to together, as JSON for the statement. */
function describe(
  { first, items }: Group,
  i: number,
): {
  readonly row: RunChange;
  readonly waits: readonly object[];
  readonly blobs: ReadonlySet<string>;
  readonly hasChanges: boolean;
} {
  const opened = new Map<string, WaitRow>();
  const closed = new Set<string>();
  const taken: number[] = [];
  const blobs = new Set<string>();
  let [status, at, releases]: [number | null, number, boolean] = [null, 0, false];
  let [graphHash, code]: [string | null, string | null] = [null, null];
  for (const { commit } of items) {
    at = commit.checkpoint.at;
    if (commit.status !== undefined) status = statusCode(commit.status);
    if (commit.graphHash !== undefined) graphHash = toText(commit.graphHash);
    if (commit.code !== undefined) code = toText(commit.code);
    for (const id of commit.closeWaits ?? []) {
      opened.delete(id);
      closed.add(id);
    }
    for (const wait of commit.openWaits ?? []) {
      opened.delete(wait.waitId);
      opened.set(wait.waitId, wait);
      closed.delete(wait.waitId);
    }
    taken.push(...(commit.takeMessages ?? []));
    for (const hash of blobsOfCommit(commit) ?? []) blobs.add(hash);
    releases ||= commit.releases === true;
  }
  const claim = items[0]?.commit.claim ?? { tenant: '', runId: '', token: 0 };
  const [tenant, run_id] = keyOf(claim);
  const changesWaits = opened.size > 0 || closed.size > 0;
  return {
    row: {
      i,
      tenant,
      run_id,
      token: claim.token,
      first,
      last: first + items.length - 1,
      at,
      status,
      releases,
      graph_hash: graphHash,
      code,
      taken,
      closed: [...closed].map(toText),
      changes_waits: changesWaits,
    },
    waits: waitsToJson([...opened.values()], i),
    blobs,
    hasChanges:
      blobs.size > 0 ||
      changesWaits ||
      taken.length > 0 ||
      status !== null ||
      graphHash !== null ||
      code !== null ||
      releases,
  };
}
