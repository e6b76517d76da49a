/** Admits, removes and claims runs. */

import { CairnError } from '../../../errors.ts';
import type {
  Admission,
  AdmissionReply,
  Claim,
  ClaimReply,
  ClaimRequest,
  GrantedClaim,
  NextRequest,
  RunKey,
  RunRow,
} from '../../../ports/store.ts';
import { scheduleOf } from '../../../ports/schedule.ts';
import type { CheckpointPlaces } from './checkpoint-places.ts';
import type { CommitWrite } from './commit-write.ts';
import { NewestCheckpoints } from './newest-checkpoints.ts';
import { NextRuns } from './next-runs.ts';
import type { Prepare, Statement } from './prepare.ts';
import type { RunHead, RunHeads } from './run-heads.ts';
import type { RunReads } from './run-reads.ts';
import { checkOf, type CheckedColumns } from './row-check.ts';
import { statusCode, waitingCode } from './run-rows.ts';
import { tablesOfRun } from './schema.ts';
import { asBytes, readText } from './text-columns.ts';

export interface WriteParts {
  readonly prepare: Prepare;
  readonly heads: RunHeads;
  readonly places: CheckpointPlaces;
  readonly runs: RunReads;
  readonly commits: CommitWrite;
  readonly now: () => number;
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

  constructor(parts: WriteParts) {
    this.#parts = parts;
    const { prepare } = parts;
    this.#deleteRun = prepare('delete from runs where tenant = ? and run_id = ?');
    this.#selectRun = prepare('select 1 from runs where tenant = ? and run_id = ?');
    this.#insertRun =
      prepare(`insert into runs (no, tenant, run_id, key, graph_id, graph_hash, status, created_at, parent_run, parent_seq,
      meta, token, owner, lease_until, queue, queue_key, priority, due, head_seen, check_value, pruned_below)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)`);
    this.#selectForks = prepare(
      `select ${asBytes('run_id')} from runs where tenant = ? and parent_run = ? order by no`,
    );
    this.#next = new NextRuns(prepare);
    this.#grantClaim = prepare(
      'update runs set token = ?, owner = ?, lease_until = ?, head_seen = ? where tenant = ? and run_id = ?',
    );
    // Separate from the granting statement, which would otherwise write a page of an index without need.
    this.#leaveQueue = prepare(
      `update runs set status = 0 where tenant = ? and run_id = ? and status = ${waitingCode}`,
    );
    this.#renewLease = prepare('update runs set lease_until = ? where tenant = ? and run_id = ?');
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
    this.#deletes = tablesOfRun.map((table) => prepare(`delete from ${table} where run = ?`));
  }

  admitRun(admission: Admission): AdmissionReply {
    const { commits, places, now } = this.#parts;
    const existing = this.#selectRun().get(admission.tenant, admission.runId);
    if (existing !== undefined) return { created: false, run: this.#requireRow(admission) };
    const { tenant, runId, key, graphId, graphHash, status, parent, meta, checkpoint, claim: asked } = admission;
    const { queue, key: queueKey = null, priority, dueAt } = scheduleOf(admission);
    if (parent !== undefined) this.#requireCheckpoint({ tenant, runId: parent.runId }, parent.seq);
    const claim = asked && {
      tenant,
      runId,
      workerId: asked.workerId,
      token: this.#nextToken(0),
      leaseMs: asked.leaseMs,
    };
    const no = places.takeRunNo();
    this.#insertRun().run(
      no,
      tenant,
      runId,
      key,
      graphId,
      graphHash,
      claim === undefined && status === 'running' ? waitingCode : statusCode(status),
      checkpoint.at,
      parent?.runId ?? null,
      parent?.seq ?? null,
      meta,
      claim?.token ?? 0,
      claim?.workerId ?? null,
      claim === undefined ? 0 : now() + claim.leaseMs,
      queue,
      queueKey,
      priority,
      dueAt,
      checkpoint.seq,
      checkOf(columnsOf(no, admission)),
    );
    places.append(no, checkpoint);
    for (const [name, value] of Object.entries(admission.labels ?? {}))
      this.#insertLabel().run(tenant, name, value, no, runId);
    commits.openWaits(no, admission, admission.waits);
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
    return Math.max(before + 1, Math.floor(this.#parts.now()));
  }

  removeRun(key: RunKey): void {
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
    this.#keepRemovedToken().run(token);
    for (const remove of this.#deletes) remove().run(no);
    this.#parts.places.removeRun(no);
    this.#deleteRun().run(tenant, runId);
    this.#parts.heads.drop(key);
  }

  claimRun({ tenant, runId, workerId, leaseMs, takeFrom }: ClaimRequest): ClaimReply {
    const { heads, now } = this.#parts;
    const key = { tenant, runId };
    const run = this.#requireRow(key);
    if (run.claim !== undefined && run.claim.workerId !== takeFrom) {
      return { owner: run.claim.workerId, remainingMs: run.claim.remainingMs };
    }
    const head = heads.read(key);
    if (head === undefined) throw new CairnError('RUN_NOT_FOUND', { runId });
    this.#requireWhole(run, head);
    head.token = this.#nextToken(head.token);
    this.#grantClaim().run(head.token, workerId, now() + leaseMs, head.head, tenant, runId);
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
    const wasLeft = status === 'running' && token > 0;
    if (wasLeft && (!this.#newest.areWhole() || places.hasBehind(no, head)))
      throw new CairnError('STORE_CORRUPT', { store, reason: `newest checkpoints of run ${runId} may be missing` });
  }

  claimNext(request: NextRequest): readonly GrantedClaim[] {
    const { tenant, workerId, leaseMs, limit } = request;
    const except = [...(request.except ?? [])];
    const granted: GrantedClaim[] = [];
    let damage: unknown;
    for (let isAgain = true; isAgain && granted.length < limit;) {
      isAgain = false;
      for (const runId of this.#next.find({ ...request, except, limit: limit - granted.length }, this.#parts.now())) {
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

  renewClaim(claim: Claim): { readonly hasMessages: boolean } {
    const head = this.#parts.heads.read(claim);
    if (head?.token !== claim.token) {
      throw new CairnError('CLAIM_FENCED', { runId: claim.runId, held: claim.token, current: head?.token ?? 0 });
    }
    this.#renewLease().run(this.#parts.now() + claim.leaseMs, claim.tenant, claim.runId);
    return { hasMessages: this.#hasMessages().get(head.no) !== undefined };
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
    status,
    head: checkpoint.seq,
    createdAt: checkpoint.at,
    updatedAt: checkpoint.at,
    ...(parent && { parent: { runId: parent.runId, seq: parent.seq } }),
    meta: new Uint8Array(meta),
    ...(claim && { claim: { workerId: claim.workerId, remainingMs: claim.leaseMs } }),
    hasMessages: false,
    prunedBelow: 0,
    schedule: scheduleOf({ checkpoint, ...(schedule && { schedule }) }),
  };
}
