/** The data of stores that keep it in memory, and every read and write of it. A write is checked completely before it changes anything. */

import { CairnError } from '../errors.ts';
import { isRunOver } from '../state/tree.ts';
import {
  blobsOfAdmission,
  blobsOfCommit,
  type DefinedGraph,
  type NamedBlob,
  type ReadTexts,
  type RunReferences,
} from '../ports/blob-references.ts';
import type { EndedRemoval, Remembrance, RemovedRun } from '../ports/removals.ts';
import { expiredError } from '../ports/removed-runs.ts';
import { scheduleOf } from '../ports/schedule.ts';
import { heldBy } from '../ports/held-runs.ts';
import type {
  Admission,
  AdmissionReply,
  CheckpointRow,
  Claim,
  ClaimableQuery,
  ClaimReply,
  ClaimRequest,
  Commit,
  GrantedClaim,
  Message,
  MessageReply,
  MessageRow,
  NextRequest,
  OpenWait,
  Page,
  Prune,
  Relabelling,
  RunKey,
  RunRow,
  SnapshotRow,
  TagRow,
  Renewal,
  WaitQuery,
  WaitRow,
  WorkerBeat,
  WorkerRow,
} from '../ports/store.ts';
import { isAhead, type HostClock } from './host-clock.ts';
import { isAllRead, pageOfUnread, ReferenceTables, referencesOf, unchanged } from './reference-tables.ts';
import {
  compareText,
  findNext,
  listWaits,
  copyBody,
  copyBytes,
  copyCheckpoint,
  copySnapshot,
  copyWait,
  deathsAt,
  findRow,
  handOut,
  hasMessages,
  claimLeftMs,
  toRunRow,
  type MemoryRun,
} from './run-queries.ts';

/** The most refusals of a run that are recorded. */
const refusalsMax = 32;
/** How long a worker is listed after it was last heard of. */
const workerListedMs = 24 * 3_600_000;

const isEqual = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

/** Tables and writes. A write is checked completely before it changes anything. */
export class MemoryTables {
  isClosed = false;
  identity: string;
  readonly clock: HostClock;
  readonly name: string;
  #tenants = new Map<string, Map<string, MemoryRun>>();
  #references = new ReferenceTables();
  /** Lines of removed runs, by tenant and id. */
  readonly #removed = new Map<string, RemovedRun>();
  readonly #duties = new Map<string, { readonly owner: string; readonly until: number }>();
  /** By tenant and id. */
  readonly #workers = new Map<string, WorkerBeat & { readonly seenAt: number }>();
  /**
   * The last number used for a run, a token, a message or a wait. All runs share it, so that a run that is removed and admitted again never
   * gets a token that it had before; and whoever does the same again from the same number gives the same ones.
   */
  lastNumber = 0;

  constructor(clock: HostClock, name: string, identity: string) {
    this.clock = clock;
    this.identity = identity;
    this.name = name;
  }

  /** Takes the runs of other tables, each under the claim that it had here. */
  replaceBy(other: MemoryTables): void {
    for (const runs of other.#tenants.values())
      for (const run of runs.values()) {
        const here = this.#tenants.get(run.admission.tenant)?.get(run.admission.runId) ?? run;
        const { token, owner, leaseUntil, leaseMs, claims, deaths, deathsHead, deathsSinceRest } = here;
        Object.assign(run, { token, owner, leaseUntil, leaseMs, claims, deaths, deathsHead, deathsSinceRest });
      }
    this.#tenants = other.#tenants;
    this.#references = other.#references.withGraphsOf(this.#references);
    this.lastNumber = Math.max(this.lastNumber, other.lastNumber);
  }

  /** Puts a run as it is, in place of what there is. */
  putRun(run: MemoryRun): void {
    const { tenant, runId } = run.admission;
    const runs = this.#tenants.get(tenant) ?? new Map<string, MemoryRun>();
    this.#tenants.set(tenant, runs.set(runId, run));
    this.#references.put(run);
  }

  requireOpen(): void {
    if (this.isClosed) throw new CairnError('STORE_CLOSED', { store: this.name });
  }

  runsOf(tenant: string): Iterable<MemoryRun> {
    return this.#tenants.get(tenant)?.values() ?? [];
  }

  /** The runs of all tenants. */
  protected allRuns(): readonly MemoryRun[] {
    return [...this.#tenants.values()].flatMap((runs) => [...runs.values()]);
  }

  setIdentity(identity: string): void {
    this.identity = identity;
  }

  /** @throws STORE_CORRUPT the run is known to be damaged */
  find(key: RunKey): MemoryRun | undefined {
    const run = this.#tenants.get(key.tenant)?.get(key.runId);
    if (run?.damage !== undefined) throw new CairnError('STORE_CORRUPT', { store: this.name, reason: run.damage });
    return run;
  }

  /** From now on only listings have the run, which say that it is damaged. */
  markDamaged(key: RunKey, damage: string): void {
    const run = this.#tenants.get(key.tenant)?.get(key.runId) ?? newRun(this.lastNumber, unknownAdmission(key));
    this.putRun(Object.assign(run, { damage }));
  }

  requireRun(key: RunKey): MemoryRun {
    const run = this.find(key);
    if (run === undefined) throw new CairnError('RUN_NOT_FOUND', { runId: key.runId });
    return run;
  }

  requireCheckpoint(key: RunKey, seq: number): MemoryRun {
    const run = this.find(key);
    if (run === undefined || findRow(run, seq) === undefined) {
      throw new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint: `${key.runId}@${seq}` });
    }
    return run;
  }

  findRuns(tenant: string, prefix: string, limit: number): RunRow[] {
    return [...this.runsOf(tenant)]
      .filter(({ admission }) => admission.runId.startsWith(prefix) || admission.key.startsWith(prefix))
      .sort((a, b) => compareText(a.admission.runId, b.admission.runId))
      .slice(0, limit)
      .map((run) => toRunRow(run, this.clock));
  }

  admitRun(admission: Admission): AdmissionReply {
    return this.#admit(admission);
  }

  #admit(admission: Admission): AdmissionReply {
    const { tenant, parent, waits, claim } = admission;
    const existing = this.find(admission);
    if (existing !== undefined) return { created: false, run: toRunRow(existing, this.clock) };
    const line = this.readRemoved(admission);
    if (line !== undefined && admission.revives !== true) throw expiredError(line);
    const forked = parent && this.requireCheckpoint({ tenant, runId: parent.runId }, parent.seq);
    if (line !== undefined) this.forgetRemoved(admission);
    const run = newRun(++this.lastNumber, admission);
    if (forked !== undefined) forked.forks += 1;
    this.#openWaits(run, waits);
    this.#references.add(run, blobsOfAdmission(admission));
    this.#references.define(tenant, admission.graphId, admission.defines ?? []);
    const granted = claim && { claim: this.#grant(run, claim.workerId, claim.leaseMs) };
    this.putRun(run);
    return { created: true, run: toRunRow(run, this.clock), ...granted };
  }

  removeRun(key: RunKey, leaves?: Remembrance): void {
    const run = this.requireRun(key);
    const remainingMs = claimLeftMs(run, this.clock);
    if (remainingMs > 0) throw new CairnError('CLAIM_TAKEN', { runId: key.runId, owner: run.owner, remainingMs });
    const forks = this.#forksOf(key).map(({ admission }) => admission.runId);
    if (forks.length > 0) throw new CairnError('HISTORY_HAS_FORKS', { runId: key.runId, forks });
    if (leaves !== undefined) this.remember(key, leaves);
    this.#tenants.get(key.tenant)?.delete(key.runId);
    this.#references.remove(run);
    const { parent } = run.admission;
    const forked = parent && this.find({ tenant: key.tenant, runId: parent.runId });
    if (forked !== undefined) forked.forks -= 1;
  }

  protected remember({ tenant, runId }: RunKey, { because, rememberMs }: Remembrance): RemovedRun {
    const removedAt = this.clock.now();
    const line = { runId, removedAt, because, until: removedAt + rememberMs };
    this.putRemoved(tenant, line);
    return line;
  }

  protected putRemoved(tenant: string, line: RemovedRun): void {
    this.#removed.set(JSON.stringify([tenant, line.runId]), line);
  }

  /** Removes those of the runs that are over and that nothing needs. @returns their ids */
  removeEnded({ tenant, runIds, ...leaves }: EndedRemoval): readonly string[] {
    const now = this.clock.now();
    for (const [key, { until }] of this.#removed) if (until <= now) this.#removed.delete(key);
    return runIds.filter((runId) => {
      const run = this.find({ tenant, runId });
      if (run === undefined || !isRunOver(run.status) || run.forks > 0 || run.tags.size > 0) return false;
      if ([...run.waits.values()].some(({ wait }) => wait.kind === 'delivery')) return false;
      if (claimLeftMs(run, this.clock) > 0) return false;
      this.removeRun({ tenant, runId }, leaves);
      return true;
    });
  }

  readRemoved({ tenant, runId }: RunKey): RemovedRun | undefined {
    const line = this.#removed.get(JSON.stringify([tenant, runId]));
    return line !== undefined && line.until > this.clock.now() ? line : undefined;
  }

  forgetRemoved({ tenant, runId }: RunKey): boolean {
    return this.#removed.delete(JSON.stringify([tenant, runId]));
  }

  namedBlobs(tenant: string, hashes: readonly string[]): readonly string[] {
    return this.#references.named(tenant, hashes);
  }

  referencesOf(tenant: string, runIds: readonly string[]): readonly RunReferences[] {
    return runIds.flatMap((runId) => {
      const run = this.find({ tenant, runId });
      return run === undefined ? [] : [referencesOf(run)];
    });
  }

  addReferences(key: RunKey, hashes: readonly string[], read?: ReadTexts): void {
    const run = this.find(key);
    if (run === undefined) return;
    this.#references.add(run, hashes);
    if (isAllRead(run, read)) run.isRead = true;
  }

  dropReferences(key: RunKey, named: readonly NamedBlob[]): void {
    const run = this.find(key);
    if (run !== undefined) this.#references.remove(run, unchanged(run, named));
  }

  listUnread(tenant: string, page: Parameters<typeof pageOfUnread>[1]): ReturnType<typeof pageOfUnread> {
    return pageOfUnread(this.runsOf(tenant), page);
  }

  define(tenant: string, graphId: string, hashes: readonly string[]): void {
    this.#references.define(tenant, graphId, hashes);
  }

  definedGraphs(tenant: string, hashes: readonly string[]): readonly DefinedGraph[] {
    return this.#references.defined(tenant, hashes);
  }

  takeDuty(name: string, owner: string, leaseMs: number): boolean {
    const now = this.clock.now();
    const duty = this.#duties.get(name);
    if (duty !== undefined && duty.owner !== owner && duty.until > now) return false;
    this.#duties.set(name, { owner, until: now + leaseMs });
    return true;
  }

  #forksOf(key: RunKey): MemoryRun[] {
    return [...this.runsOf(key.tenant)].filter(({ admission }) => admission.parent?.runId === key.runId);
  }

  claimRun(request: ClaimRequest): ClaimReply {
    const run = this.requireRun(request);
    const remainingMs = claimLeftMs(run, this.clock);
    if (run.owner !== undefined && remainingMs > 0 && run.owner !== request.takeFrom)
      return { owner: run.owner, remainingMs };
    const claim = this.#grant(run, request.workerId, request.leaseMs);
    return { claim, run: toRunRow(run, this.clock) };
  }

  claimNext(request: NextRequest): readonly GrantedClaim[] {
    return this.#findNext(request).map((run) => ({
      claim: this.#grant(run, request.workerId, request.leaseMs),
      run: toRunRow(run, this.clock),
    }));
  }

  listClaimable(query: ClaimableQuery): readonly string[] {
    return this.#findNext(query).map(({ admission }) => admission.runId);
  }

  #findNext(query: ClaimableQuery): readonly MemoryRun[] {
    const { tenant } = query;
    const live = [...this.#workers.values()].filter((one) => one.tenant === tenant && this.#aliveLeftMs(one) > 0);
    return findNext(this.runsOf(tenant), query, this.clock, live);
  }

  /** How long a worker still counts as alive. */
  #aliveLeftMs({ seenAt, aliveMs }: { readonly seenAt: number; readonly aliveMs: number }): number {
    const now = this.clock.now();
    return isAhead(seenAt, now) ? 0 : seenAt + aliveMs - now;
  }

  #grant(run: MemoryRun, workerId: string, leaseMs: number): Claim {
    const died = run.owner === undefined || run.owner === workerId || workerId === heldBy ? 0 : 1;
    run.deaths = deathsAt(run) + died;
    run.deathsHead = run.head;
    run.deathsSinceRest = (run.status === 'paused' ? 0 : run.deathsSinceRest) + died;
    run.claims += 1;
    run.token = ++this.lastNumber;
    run.owner = workerId;
    run.leaseUntil = this.clock.now() + leaseMs;
    run.leaseMs = leaseMs;
    const { tenant, runId } = run.admission;
    return { tenant, runId, workerId, token: run.token, leaseMs };
  }

  /** Finds the run if the token is its newest. */
  #requireToken(key: RunKey, token: number): MemoryRun {
    const run = this.find(key);
    if (run === undefined || run.token !== token) {
      throw new CairnError('CLAIM_FENCED', { runId: key.runId, token, current: run?.token ?? 0 });
    }
    return run;
  }

  renewClaim(claim: Claim): Renewal {
    const run = this.find(claim);
    if (run?.token !== claim.token) return { isHeld: false, current: run?.token ?? 0 };
    run.leaseUntil = this.clock.now() + claim.leaseMs;
    run.leaseMs = claim.leaseMs;
    return { isHeld: true, hasMessages: hasMessages(run) };
  }

  releaseClaim(claim: Claim, refusedBy?: string): void {
    const run = this.find(claim);
    if (run?.token !== claim.token) return;
    if (refusedBy !== undefined) {
      const others = run.refusals.filter(({ by, head }) => by !== refusedBy && head === run.head);
      run.refusals = [...others, { by: refusedBy, at: this.clock.now(), head: run.head }].slice(-refusalsMax);
    }
    this.#giveUp(run);
  }

  #giveUp(run: MemoryRun): void {
    run.token = ++this.lastNumber;
    run.owner = undefined;
    run.leaseUntil = 0;
    run.leaseMs = 0;
  }

  noteWorker(worker: WorkerBeat): void {
    const { tenant, workerId, graphs, aliveMs, body } = worker;
    const seenAt = this.clock.now();
    const beat = { tenant, workerId, graphs: { ...graphs }, aliveMs, body: copyBytes(body), seenAt };
    this.#workers.set(JSON.stringify([tenant, workerId]), beat);
    for (const [key, other] of this.#workers) if (other.seenAt + workerListedMs < seenAt) this.#workers.delete(key);
  }

  listWorkers(tenant: string): readonly WorkerRow[] {
    const now = this.clock.now();
    return [...this.#workers.values()]
      .filter((worker) => worker.tenant === tenant && worker.seenAt + workerListedMs >= now)
      .sort((a, b) => compareText(a.workerId, b.workerId))
      .map((worker) => ({
        tenant,
        workerId: worker.workerId,
        graphs: { ...worker.graphs },
        body: handOut(worker.body),
        seenAt: worker.seenAt,
        remainingMs: this.#aliveLeftMs(worker),
      }));
  }

  /** Commits. Returns whether the claim still holds. */
  commit(commit: Commit): boolean {
    this.requireOpen();
    const { claim, checkpoint } = commit;
    const landed = this.find(claim);
    const stored = landed && findRow(landed, checkpoint.seq);
    if (landed !== undefined && stored !== undefined && isEqual(stored.checksum, checkpoint.checksum)) {
      return landed.token === claim.token;
    }
    const run = this.#requireToken(claim, claim.token);
    if (checkpoint.seq !== run.head + 1) {
      throw new CairnError('COMMIT_CONFLICT', { runId: claim.runId, seq: checkpoint.seq, head: run.head });
    }
    run.rows.push(copyCheckpoint(checkpoint, copyBytes));
    run.head = checkpoint.seq;
    run.updatedAt = checkpoint.at;
    if (commit.status !== undefined) run.status = commit.status;
    if (commit.graphHash !== undefined) run.graphHash = commit.graphHash;
    if (commit.code !== undefined) run.code = commit.code;
    if (commit.closeWaits !== undefined) for (const waitId of commit.closeWaits) run.waits.delete(waitId);
    if (commit.openWaits !== undefined) this.#openWaits(run, commit.openWaits);
    const named = blobsOfCommit(commit);
    if (named !== undefined) this.#references.add(run, named);
    if (commit.takeMessages !== undefined) {
      for (const message of run.messages) if (commit.takeMessages.includes(message.id)) message.isTaken = true;
    }
    if (commit.releases === true) {
      this.#giveUp(run);
      run.deathsSinceRest = 0;
    }
    return commit.releases !== true;
  }

  #openWaits(run: MemoryRun, waits: readonly WaitRow[]): void {
    for (const wait of waits) {
      run.waits.set(wait.waitId, { order: ++this.lastNumber, wait: copyWait(wait, copyBytes) });
    }
  }

  writeSnapshot(key: RunKey, snapshot: SnapshotRow): void {
    putSnapshot(this.requireCheckpoint(key, snapshot.seq), snapshot);
  }

  postMessage(message: Message): MessageReply {
    const { admission } = message;
    const created = admission !== undefined && this.find(message) === undefined;
    if (created) this.#admit(admission);
    const reply = this.#post(this.requireRun(message), message);
    return created ? { status: 'accepted', created } : reply;
  }

  #post(run: MemoryRun, message: Message): MessageReply {
    const { kind, name, body, at } = message;
    const isOpen = kind === 'answer' && run.waits.has(name);
    const index = run.messages.findIndex((other) => other.kind === kind && other.name === name);
    const first = run.messages[index];
    // A wait that was opened again can be answered again, and after a cancel that was carried out another may follow.
    const isSpent = first?.isTaken === true && (isOpen || kind === 'cancel');
    if (first !== undefined && !isSpent) {
      return isEqual(first.body, body) ? { status: 'equal' } : { status: 'taken', first: handOut(first.body) };
    }
    if (message.isForOpen === true && isRunOver(run.status)) return { status: 'ended' };
    if (kind === 'answer' && !isOpen) return { status: 'closed' };
    const { seats = [] } = message;
    const seat = seats.find((one) => (run.seats.get(one) ?? name) !== name);
    if (seat !== undefined) return { status: 'seated', seat, holder: run.seats.get(seat) as string };
    for (const one of seats) run.seats.set(one, name);
    if (isSpent) run.messages.splice(index, 1);
    this.#references.add(run, message.blobs);
    run.messages.push({ id: ++this.lastNumber, kind, name, ...copyBody(message, copyBytes), at, isTaken: false });
    return { status: 'accepted' };
  }

  hasMessage(key: RunKey, { kind, name }: Pick<Message, 'kind' | 'name'>): boolean {
    return this.find(key)?.messages.some((other) => other.kind === kind && other.name === name) ?? false;
  }

  readRun(key: RunKey): RunRow | undefined {
    const run = this.find(key);
    return run && toRunRow(run, this.clock);
  }

  readCheckpoints(key: RunKey, { from, to, limit }: { from: number; to: number; limit?: number }): CheckpointRow[] {
    const run = this.find(key);
    if (run === undefined) return [];
    return run.rows
      .slice(Math.max(0, from - run.firstSeq), Math.max(0, to + 1 - run.firstSeq))
      .filter((row) => row !== undefined)
      .slice(0, limit)
      .map((row) => copyCheckpoint(row, handOut));
  }

  readSnapshot(key: RunKey, atOrBefore: number): SnapshotRow | undefined {
    const found = this.find(key)?.snapshots.findLast(({ seq }) => seq <= atOrBefore);
    return found && copySnapshot(found, handOut);
  }

  readMessages(key: RunKey): MessageRow[] {
    return (this.find(key)?.messages ?? [])
      .filter(({ isTaken }) => !isTaken)
      .map((message) => {
        const { id, kind, name, at } = message;
        return { id, kind, name, at, ...copyBody(message, handOut) };
      });
  }

  listWaits(query: WaitQuery): Page<OpenWait> {
    const runs = [...this.runsOf(query.tenant)].filter(({ damage }) => damage === undefined);
    const { runId } = query;
    return listWaits(runId === undefined ? runs : runs.filter((run) => run.admission.runId === runId), query);
  }

  clearDelivery(key: RunKey, waitId: string): void {
    const run = this.find(key);
    if (run?.waits.get(waitId)?.wait.kind === 'delivery') run.waits.delete(waitId);
  }

  tagCheckpoint(key: RunKey, tag: TagRow): void {
    this.requireCheckpoint(key, tag.seq).tags.set(tag.name, tag.seq);
  }

  removeTag(key: RunKey, name: string): void {
    this.find(key)?.tags.delete(name);
  }

  /** @returns whether the labels are these now */
  labelRun(change: Relabelling): boolean {
    const run = this.requireRun(change);
    const { meta } = run.admission;
    if (isEqual(meta, change.meta)) return true;
    if (!isEqual(meta, change.oldMeta)) return false;
    run.labels = { ...change.labels };
    run.admission = { ...run.admission, meta: copyBytes(change.meta) };
    return true;
  }

  readTags(key: RunKey): TagRow[] {
    return [...(this.find(key)?.tags ?? [])]
      .map(([name, seq]) => ({ name, seq }))
      .sort((a, b) => compareText(a.name, b.name));
  }

  pruneRun(prune: Prune): void {
    const run = this.#requireToken(prune, prune.token);
    const needed = new Set([run.head, ...run.tags.values()]);
    for (const fork of this.#forksOf(prune)) needed.add(fork.admission.parent?.seq ?? -1);
    const conflict =
      prune.remove.find((seq) => needed.has(seq)) ??
      prune.replace.find(({ seq }) => findRow(run, seq) === undefined)?.seq;
    if (conflict !== undefined) {
      throw new CairnError('COMMIT_CONFLICT', { runId: prune.runId, seq: conflict, head: run.head });
    }
    for (const seq of prune.remove) if (findRow(run, seq) !== undefined) run.rows[seq - run.firstSeq] = undefined;
    for (const row of prune.replace) run.rows[row.seq - run.firstSeq] = copyCheckpoint(row, copyBytes);
    const gone = run.snapshots.filter(({ seq }) => findRow(run, seq) === undefined);
    for (const snapshot of gone) run.snapshots.splice(run.snapshots.indexOf(snapshot), 1);
    for (const snapshot of prune.snapshots) putSnapshot(run, snapshot);
    run.prunedBelow = prune.prunedBelow;
  }
}

/** A run as it is admitted, without its waits and claims. */
function newRun(no: number, admission: Admission): MemoryRun {
  const { tenant, runId, key, graphId, graphHash, code, status, parent, meta, checkpoint } = admission;
  return {
    no,
    admission: { tenant, runId, key, graphId, meta: copyBytes(meta), ...(parent && { parent: { ...parent } }) },
    labels: { ...admission.labels },
    schedule: scheduleOf(admission),
    status,
    graphHash,
    code,
    createdAt: checkpoint.at,
    updatedAt: checkpoint.at,
    head: checkpoint.seq,
    firstSeq: checkpoint.seq,
    rows: [copyCheckpoint(checkpoint, copyBytes)],
    snapshots: [],
    waits: new Map(),
    messages: [],
    seats: new Map(),
    tags: new Map(),
    named: new Map(),
    isRead: admission.blobs !== undefined,
    forks: 0,
    token: 0,
    owner: undefined,
    leaseUntil: 0,
    leaseMs: 0,
    claims: 0,
    deaths: 0,
    deathsHead: 0,
    deathsSinceRest: 0,
    prunedBelow: 0,
    refusals: [],
  };
}

/** What stands for the admission of a run that cannot be read. */
function unknownAdmission(key: RunKey): Admission {
  const none = new Uint8Array();
  const checkpoint = { seq: 0, at: 0, body: none, checksum: none };
  const rest = { graphId: '', graphHash: '', status: 'failed', meta: none, waits: [], durability: 'none' } as const;
  return { ...key, key: '0'.repeat(16), checkpoint, ...rest };
}

function putSnapshot(run: MemoryRun, snapshot: SnapshotRow): void {
  if (run.snapshots.some(({ seq }) => seq === snapshot.seq)) return;
  run.snapshots.push(copySnapshot(snapshot, copyBytes));
  run.snapshots.sort((a, b) => a.seq - b.seq);
}
