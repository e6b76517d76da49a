/** Admits, removes and claims runs. */
import { isRunOver, isUnderWay } from '../../../state/tree.ts';
import {
  isUnplaced,
  type Prepare,
  type Statement,
  cancellingCode,
  waitingCode,
  asBytes,
  endedCodes,
  readText,
  reportedColumns,
  type CheckpointPlaces,
  statusCode,
} from './run-rows.ts';
import type {
  NextRequest,
  Admission,
  AdmissionReply,
  Claim,
  ClaimableQuery,
  ClaimReply,
  ClaimRequest,
  GrantedClaim,
  Renewal,
  RunKey,
  RunRow,
} from '../../../ports/store.ts';
import type { EndedRemoval, Remembrance } from '../../../ports/removals.ts';
import { blobsOfAdmission } from '../../../ports/blob-references.ts';
import { CairnError } from '../../../errors.ts';
import { heldBy } from '../../../ports/held-runs.ts';
import { scheduleOf } from '../../../ports/schedule.ts';
import type { CommitWrite, RunHead, RunHeads } from './history-writes.ts';
import type { RunReads } from './wait-reads.ts';
import { clockSlackMs, type HostClock, type HostTime } from '../../host-clock.ts';
import { checkOf, type CheckedColumns } from './row-check.ts';
import { tablesOfRun } from './schema.ts';
import type { ReferenceWrites } from './reference-rows.ts';
import type { RemovedRows } from './removals.ts';
import { codeValues, fitsCode, type WorkerRows } from './workers.ts';

// Checks that the newest checkpoints, which have no index entry yet, are all there (see checkpoint-places.ts).

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

// Finds the runs that `claimNext` claims, in order.

interface FoundRun {
  readonly run_id: Uint8Array;
  readonly no: number;
  readonly priority: number;
  /** Since when the run could go on, in epoch ms. */
  readonly due: number;
}

/** SQL condition for a list in one JSON value, so that one statement serves lists of any length. No list allows everything. */
const isAllowed = (column: string): string => `(? is null or ${column} in (select value from json_each(?)))`;
const filtersOfGraph = `${isAllowed('r.queue')} and r.run_id not in (select value from json_each(?)) and ${fitsCode}`;
const filters = `${isAllowed('r.graph_id')} and ${filtersOfGraph}`;

/** A run that was not put off is due from its admission on, whatever the clock says since. */
const isDue = '(r.due <= ? or r.due <= r.created_at)';

/** Whether nobody has the run: see {@link HostClock.leaseLeftMs}. {@link leaseValues} gives the values. */
const isFree = `(r.owner is null or r.lease_until + iif(r.lease_ms > ?, ?, 0) <= ?
  or (r.lease_ms > 0 and r.lease_until - r.lease_ms > ?))`;

const leaseValues = ({ now, forwardMs, forwardAgoMs }: HostTime): readonly number[] => [
  Math.floor(forwardAgoMs),
  Math.round(forwardMs),
  now,
  now + clockSlackMs,
];

/** Runs that were never claimed. They have an index in this order, so the first of a long queue cost no more than those of a short one. */
const fromQueue = `
  select ${asBytes('r.run_id')}, r.no, r.priority, r.due from runs r indexed by runs_to_take
  where r.tenant = ? and r.status = ${waitingCode} and ${isDue} and ${filters}
  order by r.priority desc, r.due, r.no limit ?`;

/** Those of one graph, which older ones of other graphs do not stand before. */
const fromQueueOfGraph = `
  select ${asBytes('r.run_id')}, r.no, r.priority, r.due from runs r indexed by runs_to_take_by_graph
  where r.tenant = ? and r.graph_id = ? and r.status = ${waitingCode} and ${isDue} and ${filtersOfGraph}
  order by r.priority desc, r.due, r.no limit ?`;

/** Runs that were abandoned, got a message, or are due, or opened a wait before the clock was set back. Each kind is found through an index, so that finished runs cost nothing. */
const fromOthers = `
  select ${asBytes('r.run_id')}, r.no, r.priority, min(coalesce(found.due, r.due)) as due from (
    select run_id, null as due from runs where tenant = ? and status in (0, ${cancellingCode})
    union all select run_id, at from messages indexed by messages_untaken where is_taken = 0 and tenant = ?
    union all select run_id, due from waits where tenant = ? and due <= ?
    union all select run_id, due from waits indexed by waits_by_opened where tenant = ? and opened > ?) as found
  cross join runs r on r.tenant = ? and r.run_id = found.run_id
  where r.status in (0, 1, ${cancellingCode}) and ${isFree} and ${isDue} and ${filters}
  group by r.no order by r.priority desc, due, r.no limit ?`;

const toList = (values: readonly string[] | undefined): string | null => (values ? JSON.stringify(values) : null);

export class NextRuns {
  readonly #fromQueue: Statement;
  readonly #fromQueueOfGraph: Statement;
  readonly #fromOthers: Statement;

  constructor(prepare: Prepare) {
    this.#fromQueue = prepare(fromQueue);
    this.#fromQueueOfGraph = prepare(fromQueueOfGraph);
    this.#fromOthers = prepare(fromOthers);
  }

  /** Ids of the runs that can go on. @param time - for leases */
  find(query: ClaimableQuery, time: HostTime): readonly string[] {
    const { tenant, at: due, graphs, queues, except = [], limit } = query;
    const { now } = time;
    const at = due ?? now;
    const [graphList, queueList] = [toList(graphs), toList(queues)];
    const restOfGraph = [queueList, queueList, JSON.stringify(except), ...codeValues(query, now), limit] as const;
    const rest = [graphList, graphList, ...restOfGraph] as const;
    const waiting =
      graphs === undefined
        ? this.#fromQueue().all(tenant, at, ...rest)
        : [...new Set(graphs)].flatMap((graph) => this.#fromQueueOfGraph().all(tenant, graph, at, ...restOfGraph));
    const kinds = [tenant, tenant, tenant, at, tenant, now + clockSlackMs, tenant];
    const others = this.#fromOthers().all(...kinds, ...leaseValues(time), at, ...rest);
    const found = [...waiting, ...others] as unknown as FoundRun[];
    return found
      .sort((a, b) => b.priority - a.priority || a.due - b.due || a.no - b.no)
      .slice(0, limit)
      .map(({ run_id }) => readText(run_id));
  }
}

/** A run that is over, and what its removal is decided by. */
interface EndedRow extends Pick<RunHead, 'no' | 'token'> {
  readonly is_owned: number;
  readonly lease_until: number;
  readonly lease_ms: number;
  readonly has_forks: number;
  readonly has_tags: number;
}

export interface WriteParts {
  readonly prepare: Prepare;
  readonly heads: RunHeads;
  readonly places: CheckpointPlaces;
  readonly runs: RunReads;
  readonly commits: CommitWrite;
  readonly workers: WorkerRows;
  readonly removed: RemovedRows;
  readonly references: ReferenceWrites;
  readonly clock: HostClock;
  /** Name of the store for messages. */
  readonly store: string;
}

export class RunWrites {
  readonly #parts: WriteParts;
  readonly #selectRun: Statement;
  readonly #insertRun: Statement;
  readonly #deleteRun: Statement;
  readonly #selectForks: Statement;
  readonly #next: NextRuns;
  readonly #grantClaim: Statement;
  readonly #leaveQueue: Statement;
  readonly #renewLease: Statement;
  readonly #newest: NewestCheckpoints;
  readonly #hasMessages: Statement;
  readonly #listsAgree: Statement;
  readonly #selectRemovedToken: Statement;
  readonly #keepRemovedToken: Statement;
  readonly #deletes: readonly Statement[];
  readonly #insertLabel: Statement;
  readonly #selectEnded: Statement;

  constructor(parts: WriteParts) {
    this.#parts = parts;
    const { prepare } = parts;
    this.#deleteRun = prepare('delete from runs where tenant = ? and run_id = ?');
    this.#selectRun = prepare('select 1 from runs where tenant = ? and run_id = ?');
    this.#insertRun =
      prepare(`insert into runs (no, tenant, run_id, key, graph_id, graph_hash, code, status, created_at, parent_run, parent_seq,
      meta, token, owner, lease_until, lease_ms, queue, queue_key, priority, due, head_seen, check_value, claims, read_claims, ended_at, pruned_below)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)`);
    this.#selectForks = prepare(
      `select ${asBytes('run_id')} from runs where tenant = ? and parent_run = ? order by no`,
    );
    this.#next = new NextRuns(prepare);
    this.#grantClaim = prepare(
      // Placeholders have no numbers: Node 22.18 takes `?1` for a name.
      `update runs set claims = claims + 1, read_claims = read_claims + (read_claims = claims), deaths = (case when deaths_head = ? then deaths else 0 end) + coalesce(owner <> ? and ? <> '${heldBy}', 0),
        deaths_head = ?, deaths_unreleased = (case when status = ${statusCode('paused')} then 0 else deaths_unreleased end) + coalesce(owner <> ? and ? <> '${heldBy}', 0),
        token = ?, owner = ?, lease_until = ?, lease_ms = ?, head_seen = ? where tenant = ? and run_id = ?`,
    );
    // Separate from the granting statement, which would otherwise write a page of an index without need.
    this.#leaveQueue = prepare(
      `update runs set status = 0 where tenant = ? and run_id = ? and status = ${waitingCode}`,
    );
    this.#renewLease = prepare('update runs set lease_until = ?, lease_ms = ? where tenant = ? and run_id = ?');
    this.#listsAgree = prepare(
      `select (select count(*) from messages indexed by messages_untaken where run = ? and is_taken = 0)
        = (select count(*) from messages indexed by messages_by_name where run = ? and is_taken = 0) as agree`,
    );
    this.#newest = new NewestCheckpoints(prepare);
    this.#hasMessages = prepare('select 1 from messages where run = ? and is_taken = 0 limit 1');
    this.#selectRemovedToken = prepare('select up_to from placed where one = 2');
    this.#keepRemovedToken = prepare(
      'insert into placed (one, up_to) values (2, ?) on conflict (one) do update set up_to = max(up_to, excluded.up_to)',
    );
    this.#insertLabel = prepare('insert into labels (tenant, name, value, run, run_id) values (?, ?, ?, ?, ?)');
    this.#selectEnded =
      prepare(`select r.no, r.token, r.owner is not null as is_owned, r.lease_until, r.lease_ms, ${reportedColumns}
      from runs r where r.tenant = ? and r.run_id = ? and r.status in (${endedCodes.join(', ')})
        and not exists (select 1 from waits where run = r.no and kind = 'delivery')`);
    this.#deletes = tablesOfRun.map((table) => prepare(`delete from ${table} where run = ?`));
  }

  admitRun(admission: Admission): AdmissionReply {
    const { commits, places, removed, references, clock } = this.#parts;
    const existing = this.#selectRun().get(admission.tenant, admission.runId);
    if (existing !== undefined) return { created: false, run: this.#requireRow(admission) };
    const {
      tenant,
      runId,
      key,
      graphId,
      graphHash,
      code = null,
      status,
      parent,
      meta,
      checkpoint,
      claim: requestedClaim,
    } = admission;
    removed.admit(admission, admission.revives);
    const { queue, key: queueKey = null, priority, dueAt } = scheduleOf(admission);
    if (parent !== undefined) this.#requireCheckpoint({ tenant, runId: parent.runId }, parent.seq);
    const claim = requestedClaim && {
      tenant,
      runId,
      workerId: requestedClaim.workerId,
      token: this.#nextToken(0),
      leaseMs: requestedClaim.leaseMs,
    };
    const no = places.takeRunNo();
    this.#insertRun().run(
      no,
      tenant,
      runId,
      key,
      graphId,
      graphHash,
      code,
      claim === undefined && status === 'running' ? waitingCode : statusCode(status),
      checkpoint.at,
      parent?.runId ?? null,
      parent?.seq ?? null,
      meta,
      claim?.token ?? 0,
      claim?.workerId ?? null,
      claim === undefined ? 0 : clock.now() + claim.leaseMs,
      claim?.leaseMs ?? 0,
      queue,
      queueKey,
      priority,
      dueAt,
      checkpoint.seq,
      checkOf(columnsOf(no, admission)),
      claim === undefined ? 0 : 1,
      admission.blobs === undefined ? -1 : claim === undefined ? 0 : 1,
      isRunOver(status) ? checkpoint.at : null,
    );
    places.append(no, checkpoint);
    for (const [name, value] of Object.entries(admission.labels ?? {}))
      this.#insertLabel().run(tenant, name, value, no, runId);
    commits.openWaits(no, admission, admission.waits);
    references.note(tenant, no, blobsOfAdmission(admission));
    references.define(tenant, graphId, admission.defines);
    return { created: true, run: describeRun(admission), ...(claim && { claim }) };
  }

  #requireCheckpoint(key: RunKey, seq: number): void {
    const run = this.#parts.heads.read(key);
    if (run === undefined || this.#parts.places.find(run.no, seq) === undefined) {
      throw new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint: `${key.runId}@${seq}` });
    }
  }

  #requireRow(key: RunKey): RunRow {
    const run = this.#parts.runs.readRun(key);
    if (run === undefined) throw new CairnError('RUN_NOT_FOUND', { runId: key.runId });
    return run;
  }

  /** The next token. A run's first token is larger than those of all removed runs, because the run may have been one of them. */
  #nextToken(newest: number): number {
    const before = newest > 0 ? newest : Number(this.#selectRemovedToken().get()?.['up_to'] ?? 0);
    return Math.max(before + 1, Math.floor(this.#parts.clock.now()));
  }

  removeRun(key: RunKey, leaves?: Remembrance): void {
    const { tenant, runId } = key;
    const { claim } = this.#requireRow(key);
    if (claim !== undefined) {
      throw new CairnError('CLAIM_TAKEN', { runId, owner: claim.workerId, remainingMs: claim.remainingMs });
    }
    const forks = this.#selectForks()
      .all(tenant, runId)
      .map((row) => readText(row['run_id'] as Uint8Array));
    if (forks.length > 0) throw new CairnError('HISTORY_HAS_FORKS', { runId, forks });
    const { no = 0, token = 0 } = this.#parts.heads.read(key) ?? {};
    this.#remove(key, { no, token }, leaves);
  }

  #remove(key: RunKey, { no, token }: Pick<RunHead, 'no' | 'token'>, leaves?: Remembrance): void {
    const { heads, places, removed } = this.#parts;
    if (leaves !== undefined) removed.remember(key, leaves);
    this.#keepRemovedToken().run(token);
    for (const remove of this.#deletes) remove().run(no);
    places.removeRun(no);
    this.#deleteRun().run(key.tenant, key.runId);
    heads.drop(key);
  }

  /** Removes those of the runs that are over and that nothing needs, as they are now. @returns their ids */
  removeEnded({ tenant, runIds, ...leaves }: EndedRemoval): readonly string[] {
    const { removed, clock } = this.#parts;
    removed.forgetOld();
    return runIds.filter((runId) => {
      const row = this.#selectEnded().get(tenant, runId) as unknown as EndedRow | undefined;
      if (row === undefined || row.has_forks === 1 || row.has_tags === 1) return false;
      if (row.is_owned === 1 && clock.leaseLeftMs(row.lease_until, row.lease_ms) > 0) return false;
      this.#remove({ tenant, runId }, row, leaves);
      return true;
    });
  }

  claimRun({ tenant, runId, workerId, leaseMs, takeFrom }: ClaimRequest): ClaimReply {
    const { heads, clock } = this.#parts;
    const key = { tenant, runId };
    const run = this.#requireRow(key);
    if (run.claim !== undefined && run.claim.workerId !== takeFrom) {
      return { owner: run.claim.workerId, remainingMs: run.claim.remainingMs };
    }
    const head = heads.read(key);
    if (head === undefined) throw new CairnError('RUN_NOT_FOUND', { runId });
    this.#requireWhole(run, head);
    head.token = this.#nextToken(head.token);
    const deaths = [head.head, workerId, workerId, head.head, workerId, workerId];
    this.#grantClaim().run(...deaths, head.token, workerId, clock.now() + leaseMs, leaseMs, head.head, tenant, runId);
    this.#leaveQueue().run(tenant, runId);
    return { claim: { ...key, workerId, token: head.token, leaseMs }, run: this.#requireRow(key) };
  }

  /**
   * Checks a run before it is claimed. It must not go on from an older state or miss a message, so what an index lost has to show
   * elsewhere.
   */
  #requireWhole({ runId, status }: RunRow, { no, head, token }: RunHead): void {
    const { store, places } = this.#parts;
    const { agree } = this.#listsAgree().get(no, no) as { readonly agree: number };
    if (agree !== 1) throw new CairnError('STORE_CORRUPT', { store, reason: `messages of run ${runId} are missing` });
    // The row of a run that ended or paused records its head, and a run that was never claimed has one checkpoint. Only abandoned runs need
    // this check.
    const wasAbandoned = isUnderWay(status) && token > 0;
    if (wasAbandoned && (!this.#newest.areWhole() || places.hasBehind(no, head)))
      throw new CairnError('STORE_CORRUPT', { store, reason: `newest checkpoints of run ${runId} may be missing` });
  }

  listClaimable(query: ClaimableQuery): readonly string[] {
    return this.#next.find(query, this.#parts.clock.read());
  }

  claimNext(request: NextRequest): readonly GrantedClaim[] {
    const { tenant, workerId, leaseMs, limit } = request;
    const except = [...(request.except ?? [])];
    const granted: GrantedClaim[] = [];
    let damage: unknown;
    for (let isAgain = true; isAgain && granted.length < limit;) {
      isAgain = false;
      for (const runId of this.#next.find(
        { ...request, except, limit: limit - granted.length },
        this.#parts.clock.read(),
      )) {
        except.push(runId);
        try {
          const reply = this.claimRun({ tenant, runId, workerId, leaseMs });
          if (reply.claim !== undefined) granted.push(reply);
        } catch (error) {
          // A damaged run keeps no others from going on: nothing of it was written, and the next in order takes its place.
          if (!CairnError.is(error, 'STORE_CORRUPT')) throw error;
          damage = error;
          isAgain = true;
        }
      }
    }
    if (granted.length === 0 && damage !== undefined) throw damage;
    return granted;
  }

  renewClaims(claims: readonly Claim[]): readonly Renewal[] {
    return claims.map((claim) => {
      const head = this.#parts.heads.read(claim);
      if (head?.token !== claim.token) return { isHeld: false, current: head?.token ?? 0 };
      this.#renewLease().run(this.#parts.clock.now() + claim.leaseMs, claim.leaseMs, claim.tenant, claim.runId);
      return { isHeld: true, hasMessages: this.#hasMessages().get(head.no) !== undefined };
    });
  }

  /** Gives a claim up, and notes whose code could not go on with the run. */
  releaseClaim(claim: Claim, refusedBy: string | undefined): void {
    const { heads, commits, workers } = this.#parts;
    const head = heads.read(claim);
    if (refusedBy !== undefined && head?.token === claim.token) workers.refuse(head.no, head.head, refusedBy);
    commits.release(claim);
  }
}

/** The columns of a new run that its check value is made of, as the database will have them. */
function columnsOf(no: number, admission: Admission): CheckedColumns {
  const { tenant, runId, key, graphId, parent, meta, checkpoint } = admission;
  const { queue, key: queueKey, priority, dueAt } = scheduleOf(admission);
  const encoded = (text: string | undefined): Uint8Array | null => (text === undefined ? null : Buffer.from(text));
  return {
    no,
    tenant: Buffer.from(tenant),
    run_id: Buffer.from(runId),
    key: Buffer.from(key),
    graph_id: Buffer.from(graphId),
    created_at: checkpoint.at,
    parent_run: encoded(parent?.runId),
    parent_seq: parent?.seq ?? null,
    priority,
    due: dueAt,
    queue: Buffer.from(queue),
    queue_key: encoded(queueKey),
    meta,
  };
}

/** The row of a newly admitted run. */
function describeRun({
  tenant,
  runId,
  key,
  graphId,
  graphHash,
  code,
  status,
  parent,
  meta,
  checkpoint,
  claim,
  schedule,
}: Admission): RunRow {
  return {
    tenant,
    runId,
    key,
    graphId,
    graphHash,
    ...(code !== undefined && { code }),
    status,
    head: checkpoint.seq,
    createdAt: checkpoint.at,
    updatedAt: checkpoint.at,
    ...(parent && { parent: { runId: parent.runId, seq: parent.seq } }),
    meta: new Uint8Array(meta),
    ...(claim && { claim: { workerId: claim.workerId, remainingMs: claim.leaseMs } }),
    claims: claim === undefined ? 0 : 1,
    deaths: 0,
    deathsSinceRest: 0,
    hasMessages: false,
    prunedBelow: 0,
    schedule: scheduleOf({ checkpoint, ...(schedule && { schedule }) }),
  };
}
