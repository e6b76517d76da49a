/** A store as a user of the package would write one: from its public exports alone, and with as little as will do. */
import { CairnError, type ErrorCode } from '../../src/index.ts';
import type {
  Admission,
  CheckpointRow,
  Claim,
  ClaimableQuery,
  Commit,
  Message,
  MessageReply,
  MessageRow,
  NextRequest,
  OpenWait,
  Page,
  Renewal,
  RunKey,
  RunRow,
  RunSchedule,
  SnapshotRow,
  Store,
  WaitRow,
  WorkerBeat,
  WorkerMismatch,
  WorkerRow,
} from '../../src/store.ts';

interface Run {
  readonly no: number;
  readonly admission: Admission;
  readonly schedule: RunSchedule;
  readonly rows: CheckpointRow[];
  readonly snapshots: SnapshotRow[];
  readonly waits: { readonly no: number; readonly wait: WaitRow }[];
  readonly messages: (MessageRow & { isTaken: boolean })[];
  readonly seats: Map<string, string>;
  status: RunRow['status'];
  graphHash: string;
  code: string | undefined;
  token: number;
  owner: string | undefined;
  leaseUntil: number;
  claims: number;
  deaths: { count: number; head: number };
  deathsSinceRest: number;
  refusals: readonly (WorkerMismatch & { readonly head: number })[];
}

const fail = (code: ErrorCode, data: Readonly<Record<string, unknown>>): never => {
  throw new CairnError(code, data);
};
const isSame = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;
const hasEnded = ({ status }: Run): boolean => ['completed', 'failed', 'cancelled'].includes(status);
const isUntaken = ({ isTaken }: { readonly isTaken: boolean }): boolean => !isTaken;
const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
const never = Number.MAX_SAFE_INTEGER;
const dayMs = 24 * 3_600_000;

/** Rows in order, those behind the cursor, as many as fit. */
function pageOf<Row>(rows: readonly Row[], idOf: (row: Row) => number, limit = 100, cursor?: string): Page<Row> {
  const after = cursor === undefined ? -1 : rows.findIndex((row) => idOf(row) === Number(cursor));
  if (cursor !== undefined && after < 0 && !/^\d+$/.test(cursor)) fail('USAGE_INVALID', { reason: 'no such cursor' });
  const page = rows.slice(after + 1, after + 1 + limit);
  const last = page.at(-1);
  const hasMore = last !== undefined && rows.at(-1) !== last;
  return hasMore ? { rows: page, cursor: String(idOf(last)) } : { rows: page };
}

class SmallStore {
  readonly #now: () => number;
  readonly #runs = new Map<string, Run>();
  readonly #workers = new Map<string, WorkerBeat & { readonly seenAt: number }>();
  #count = 0;
  identity = 'small';
  isClosed = false;

  constructor(now: () => number) {
    this.#now = now;
  }

  #find = ({ tenant, runId }: RunKey): Run | undefined => this.#runs.get(JSON.stringify([tenant, runId]));

  #require(key: RunKey): Run {
    return this.#find(key) ?? fail('RUN_NOT_FOUND', { runId: key.runId });
  }

  #ofTenant(tenant: string): readonly Run[] {
    return [...this.#runs.values()].filter(({ admission }) => admission.tenant === tenant);
  }

  #isHeld = (run: Run): boolean => run.owner !== undefined && run.leaseUntil > this.#now();

  #row(run: Run): RunRow {
    const { tenant, runId, key, graphId, meta, parent, checkpoint } = run.admission;
    const { status, graphHash, code, schedule, owner } = run;
    const head = run.rows.at(-1) ?? checkpoint;
    const refusals = run.refusals.filter((one) => one.head === head.seq).map(({ by, at }) => ({ by, at }));
    return {
      tenant,
      runId,
      key,
      graphId,
      graphHash,
      status,
      meta,
      schedule,
      prunedBelow: 0,
      claims: run.claims,
      deaths: run.deaths.head === head.seq ? run.deaths.count : 0,
      deathsSinceRest: run.deathsSinceRest,
      head: head.seq,
      createdAt: checkpoint.at,
      updatedAt: head.at,
      hasMessages: run.messages.some(isUntaken),
      ...(code !== undefined && { code }),
      ...(parent && { parent }),
      ...(refusals.length > 0 && { refusals }),
      ...(owner !== undefined &&
        this.#isHeld(run) && { claim: { workerId: owner, remainingMs: run.leaseUntil - this.#now() } }),
    };
  }

  admitRun(admission: Admission) {
    const known = this.#find(admission);
    if (known) return { created: false, run: this.#row(known) };
    const { tenant, runId, parent, checkpoint, waits, claim, status, graphHash, code } = admission;
    const { queue = '', priority = 0, dueAt = checkpoint.at, key } = admission.schedule ?? {};
    if (parent && !this.#find({ tenant, runId: parent.runId })?.rows.some(({ seq }) => seq === parent.seq))
      fail('CHECKPOINT_NOT_FOUND', { checkpoint: `${parent.runId}@${parent.seq}` });
    const run: Run = {
      no: (this.#count += 1),
      admission,
      status,
      graphHash,
      code,
      rows: [checkpoint],
      snapshots: [],
      messages: [],
      seats: new Map(),
      schedule: { queue, priority, dueAt, ...(key !== undefined && { key }) },
      waits: waits.map((wait) => ({ no: (this.#count += 1), wait })),
      token: 0,
      owner: undefined,
      leaseUntil: 0,
      claims: 0,
      deaths: { count: 0, head: 0 },
      deathsSinceRest: 0,
      refusals: [],
    };
    this.#runs.set(JSON.stringify([tenant, runId]), run);
    const granted = claim && this.#grant(run, claim.workerId, claim.leaseMs);
    return { created: true, run: this.#row(run), ...(granted && { claim: granted }) };
  }

  #grant(run: Run, workerId: string, leaseMs: number): Claim {
    const died = run.owner !== undefined && run.owner !== workerId ? 1 : 0;
    const { head, deaths } = this.#row(run);
    run.deaths = { count: deaths + died, head };
    run.deathsSinceRest = (run.status === 'paused' ? 0 : run.deathsSinceRest) + died;
    run.claims += 1;
    run.token = this.#count += 1;
    run.owner = workerId;
    run.leaseUntil = this.#now() + leaseMs;
    const { tenant, runId } = run.admission;
    return { tenant, runId, workerId, token: run.token, leaseMs };
  }

  claimRun(asked: RunKey & { readonly workerId: string; readonly leaseMs: number; readonly takeFrom?: string }) {
    const run = this.#require(asked);
    if (run.owner !== undefined && this.#isHeld(run) && run.owner !== asked.takeFrom)
      return { owner: run.owner, remainingMs: run.leaseUntil - this.#now() };
    return { claim: this.#grant(run, asked.workerId, asked.leaseMs), run: this.#row(run) };
  }

  /** Whether the code of the asker may go on with a run: it has not refused it here, and is the run's own, or no live worker has that. */
  #fitsCode(run: Run, { codes = {}, isPinned = false }: ClaimableQuery): boolean {
    const { graphId, tenant } = run.admission;
    const own = Object.hasOwn(codes, graphId) ? codes[graphId] : undefined;
    if (own === undefined) return true;
    if (this.#row(run).refusals?.some(({ by }) => by === own)) return false;
    const code = run.code ?? run.graphHash;
    if (own === code || code === '') return true;
    return !isPinned && !this.listWorkers(tenant).some((one) => one.remainingMs > 0 && one.graphs[graphId] === code);
  }

  noteWorker(worker: WorkerBeat): void {
    this.#workers.set(JSON.stringify([worker.tenant, worker.workerId]), { ...worker, seenAt: this.#now() });
  }

  listWorkers(tenant: string): readonly WorkerRow[] {
    const now = this.#now();
    return [...this.#workers.values()]
      .filter((worker) => worker.tenant === tenant && worker.seenAt + dayMs >= now)
      .sort((a, b) => byBytes(a.workerId, b.workerId))
      .map(({ aliveMs, ...worker }) => ({ ...worker, remainingMs: worker.seenAt + aliveMs - now }));
  }

  #claimable(query: ClaimableQuery) {
    const { tenant, at = this.#now(), graphs, queues, except, limit } = query;
    const found = this.#ofTenant(tenant).flatMap((run) => {
      const { runId, graphId } = run.admission;
      const isWanted = (graphs?.includes(graphId) ?? true) && (queues?.includes(run.schedule.queue) ?? true);
      const isGoing = run.status === 'running' || run.status === 'cancelling';
      const isOpen = isGoing || run.status === 'paused';
      if (!this.#fitsCode(run, query)) return [];
      if (!isWanted || !isOpen || this.#isHeld(run) || except?.includes(runId) || run.schedule.dueAt > at) return [];
      const times = [
        ...(isGoing ? [run.schedule.dueAt] : []),
        ...run.messages.filter(isUntaken).map((message) => message.at),
        ...run.waits.map(({ wait }) => wait.dueAt ?? never).filter((due) => due <= at),
      ];
      return times.length === 0 ? [] : [{ run, due: Math.min(...times) }];
    });
    found.sort((a, b) => b.run.schedule.priority - a.run.schedule.priority || a.due - b.due || a.run.no - b.run.no);
    return found.slice(0, limit).map(({ run }) => run);
  }

  listClaimable(query: ClaimableQuery) {
    return this.#claimable(query).map(({ admission }) => admission.runId);
  }

  claimNext(request: NextRequest) {
    const { workerId, leaseMs } = request;
    return this.#claimable(request).map((run) => ({ claim: this.#grant(run, workerId, leaseMs), run: this.#row(run) }));
  }

  #requireToken(key: RunKey, token: number): Run {
    const run = this.#find(key);
    if (run?.token === token) return run;
    return fail('CLAIM_FENCED', { runId: key.runId, token, current: run?.token ?? 0 });
  }

  renewClaim = (claim: Claim): Renewal => {
    const run = this.#find(claim);
    if (run?.token !== claim.token) return { isHeld: false, current: run?.token ?? 0 };
    run.leaseUntil = this.#now() + claim.leaseMs;
    return { isHeld: true, hasMessages: run.messages.some(isUntaken) };
  };

  releaseClaim(claim: Claim, refusedBy?: string): void {
    const run = this.#find(claim);
    if (run?.token !== claim.token) return;
    if (refusedBy !== undefined) {
      const { head } = this.#row(run);
      const others = run.refusals.filter((refusal) => refusal.head === head && refusal.by !== refusedBy);
      run.refusals = [...others, { by: refusedBy, at: this.#now(), head }].slice(-32);
    }
    run.token = this.#count += 1;
    run.owner = undefined;
  }

  commit({
    claim,
    checkpoint,
    status,
    graphHash,
    code,
    openWaits = [],
    closeWaits = [],
    takeMessages = [],
    releases,
  }: Commit) {
    const known = this.#find(claim);
    const landed = known?.rows.find(({ seq }) => seq === checkpoint.seq);
    if (known && landed && isSame(landed.checksum, checkpoint.checksum)) return { isHeld: known.token === claim.token };
    const run = this.#requireToken(claim, claim.token);
    const { head } = this.#row(run);
    if (checkpoint.seq !== head + 1) fail('COMMIT_CONFLICT', { runId: claim.runId, seq: checkpoint.seq, head });
    run.rows.push(checkpoint);
    run.status = status ?? run.status;
    run.graphHash = graphHash ?? run.graphHash;
    run.code = code ?? run.code;
    const gone = new Set([...closeWaits, ...openWaits.map(({ waitId }) => waitId)]);
    const kept = run.waits.filter(({ wait }) => !gone.has(wait.waitId));
    run.waits.splice(0, Infinity, ...kept, ...openWaits.map((wait) => ({ no: (this.#count += 1), wait })));
    for (const message of run.messages) message.isTaken ||= takeMessages.includes(message.id);
    if (releases === true) {
      this.releaseClaim(claim);
      run.deathsSinceRest = 0;
    }
    return { isHeld: releases !== true };
  }

  postMessage(message: Message): MessageReply {
    const { admission } = message;
    const created = admission !== undefined && this.admitRun(admission).created;
    const reply = this.#post(this.#require(message), message);
    return created ? { status: 'accepted', created } : reply;
  }

  #post(run: Run, message: Message): MessageReply {
    const { kind, name, body, at, checksum, seats = [] } = message;
    const row = { kind, name, body, at, ...(checksum && { checksum }) };
    const isOpen = kind === 'answer' && run.waits.some(({ wait }) => wait.waitId === name);
    const first = run.messages.find((other) => other.kind === kind && other.name === name);
    if (first && !(first.isTaken && (isOpen || kind === 'cancel')))
      return isSame(first.body, body) ? { status: 'equal' } : { status: 'taken', first: first.body };
    if (message.isForOpen === true && hasEnded(run)) return { status: 'ended' };
    if (kind === 'answer' && !isOpen) return { status: 'closed' };
    const seat = seats.find((one) => (run.seats.get(one) ?? name) !== name);
    if (seat !== undefined) return { status: 'seated', seat, holder: run.seats.get(seat) as string };
    for (const one of seats) run.seats.set(one, name);
    if (first) run.messages.splice(run.messages.indexOf(first), 1);
    run.messages.push({ ...row, id: (this.#count += 1), isTaken: false });
    return { status: 'accepted' };
  }

  readRun = (key: RunKey): RunRow | undefined => {
    const run = this.#find(key);
    return run && this.#row(run);
  };

  findRuns = (tenant: string, prefix: string, limit: number): readonly RunRow[] =>
    this.#ofTenant(tenant)
      .filter(({ admission: { runId, key } }) => runId.startsWith(prefix) || key.startsWith(prefix))
      .sort((a, b) => byBytes(a.admission.runId, b.admission.runId))
      .slice(0, limit)
      .map((run) => this.#row(run));

  listRuns: Store['listRuns'] = async (query) => {
    const { tenant, status, graphId, parentRunId, labels = {}, since = 0, until = never, limit, cursor } = query;
    const all = this.#ofTenant(tenant).toSorted((a, b) => b.no - a.no);
    const wanted = all.filter(
      (run) =>
        (status?.includes(run.status) ?? true) &&
        (graphId === undefined || run.admission.graphId === graphId) &&
        (parentRunId === undefined || run.admission.parent?.runId === parentRunId) &&
        run.admission.checkpoint.at >= since &&
        run.admission.checkpoint.at < until &&
        Object.entries(labels).every(([name, value]) => run.admission.labels?.[name] === value),
    );
    if (cursor !== undefined && !/^\d+$/.test(cursor)) fail('USAGE_INVALID', { reason: 'no such cursor' });
    const page = pageOf(
      cursor === undefined ? wanted : wanted.filter(({ no }) => no < Number(cursor)),
      ({ no }) => no,
      limit,
    );
    return { ...page, rows: page.rows.map((run) => this.#row(run)) };
  };

  listWaits: Store['listWaits'] = async ({ tenant, runId, kinds, dueBy = never, isAnswered, limit, cursor }) => {
    const isWanted = ({ messages }: Run, { kind, waitId, dueAt = never }: WaitRow): boolean =>
      (kinds?.includes(kind) ?? kind !== 'delivery') &&
      dueAt <= dueBy &&
      (isAnswered === undefined ||
        isAnswered === messages.some((one) => isUntaken(one) && one.kind === 'answer' && one.name === waitId));
    const found = this.#ofTenant(tenant)
      .filter(({ admission }) => runId === undefined || admission.runId === runId)
      .flatMap((run) => run.waits.map(({ no, wait }) => ({ no, wait, run })))
      .filter(({ wait, run }) => isWanted(run, wait))
      .map(({ no, wait, run }) => ({ no, wait, admission: run.admission }))
      .sort((a, b) => (a.wait.dueAt ?? never) - (b.wait.dueAt ?? never) || a.no - b.no);
    const { rows, ...rest } = pageOf(found, ({ no }) => no, limit, cursor);
    const toOpenWait = ({ wait, admission }: (typeof found)[number]): OpenWait => ({
      ...wait,
      tenant,
      runId: admission.runId,
      graphId: admission.graphId,
    });
    return { ...rest, rows: rows.map(toOpenWait) };
  };

  clearDelivery(key: RunKey, waitId: string): void {
    const { waits = [] } = this.#find(key) ?? {};
    const index = waits.findIndex(({ wait }) => wait.waitId === waitId && wait.kind === 'delivery');
    if (index >= 0) waits.splice(index, 1);
  }

  readCheckpoints = (key: RunKey, { from, to, limit }: Parameters<Store['readCheckpoints']>[1]) =>
    (this.#find(key)?.rows ?? []).filter(({ seq }) => seq >= from && seq <= to).slice(0, limit);

  readMessages = (key: RunKey): readonly MessageRow[] =>
    (this.#find(key)?.messages ?? [])
      .filter(isUntaken)
      .map(({ id, kind, name, body, at, checksum }) => ({ id, kind, name, body, at, ...(checksum && { checksum }) }));

  hasMessage = (key: RunKey, message: Pick<Message, 'kind' | 'name'>): boolean =>
    this.#find(key)?.messages.some(({ kind, name }) => kind === message.kind && name === message.name) ?? false;

  readSnapshot = (key: RunKey, atOrBefore: number): SnapshotRow | undefined =>
    this.#find(key)
      ?.snapshots.filter(({ seq }) => seq <= atOrBefore)
      .sort((a, b) => b.seq - a.seq)[0];

  writeSnapshot(key: RunKey, snapshot: SnapshotRow): void {
    const run = this.#find(key);
    if (!run?.rows.some(({ seq }) => seq === snapshot.seq))
      fail('CHECKPOINT_NOT_FOUND', { checkpoint: `${key.runId}@${snapshot.seq}` });
    else if (!run.snapshots.some(({ seq }) => seq === snapshot.seq)) run.snapshots.push(snapshot);
  }
}

/** Makes an empty one. What goes in and out is copied, so that nobody shares anything with it. */
export function createSmallStore(now: () => number): Store {
  const small = new SmallStore(now);
  const call =
    <Given extends readonly unknown[], Reply>(work: (...given: Given) => Reply) =>
    async (...given: Given): Promise<Awaited<Reply>> => {
      if (small.isClosed) fail('STORE_CLOSED', { store: 'small:' });
      return structuredClone(await work(...structuredClone(given)));
    };
  const refuse = (capability: string) => call(() => fail('STORE_UNSUPPORTED', { capability }));
  return {
    name: 'small:',
    capabilities: { durability: 'none', isShared: false },
    readIdentity: call(() => small.identity),
    setIdentity: call((identity: string) => void (small.identity = identity)),
    admitRun: call((admission: Admission) => small.admitRun(admission)),
    readRun: call(small.readRun),
    findRuns: call(small.findRuns),
    listRuns: call(small.listRuns),
    claimRun: call((request: Parameters<Store['claimRun']>[0]) => small.claimRun(request)),
    claimNext: call((request: NextRequest) => small.claimNext(request)),
    listClaimable: call((query: ClaimableQuery) => small.listClaimable(query)),
    renewClaims: call((claims: readonly Claim[]) => claims.map(small.renewClaim)),
    releaseClaim: call((claim: Claim, refusedBy?: string) => small.releaseClaim(claim, refusedBy)),
    noteWorker: call((worker: WorkerBeat) => small.noteWorker(worker)),
    listWorkers: call((tenant: string) => small.listWorkers(tenant)),
    commit: call((commit: Commit) => small.commit(commit)),
    readCheckpoints: call(small.readCheckpoints),
    readSnapshot: call(small.readSnapshot),
    writeSnapshot: call((key: RunKey, snapshot: SnapshotRow) => small.writeSnapshot(key, snapshot)),
    postMessage: call((message: Message) => small.postMessage(message)),
    readMessages: call(small.readMessages),
    hasMessage: call(small.hasMessage),
    listWaits: call(small.listWaits),
    clearDelivery: call((key: RunKey, waitId: string) => small.clearDelivery(key, waitId)),
    removeRun: refuse('remove runs'),
    tagCheckpoint: refuse('tag checkpoints'),
    removeTag: call(() => undefined),
    readTags: call(() => []),
    pruneRun: refuse('prune'),
    close: async () => void (small.isClosed = true),
  };
}
