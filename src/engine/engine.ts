/** The engine: starts, resumes, answers, forks and previews runs over a store (the contract is in api.ts). */
import { History } from '../history/history.ts';
import type { NamingOptions, CheckpointName } from '../history/read/references.ts';
import type { EngineEnvironment } from './live-run/run-core.ts';
import { CairnError } from '../errors.ts';
import type { Graph } from '../graph/graph.ts';
import type { FileAccess } from '../graph/contracts/access.ts';
import { toListedRun } from '../history/read/list-runs.ts';
import type { WorkerAbout } from '../history/read/list-workers.ts';
import type { Clock } from '../ports/clock.ts';
import type { Claim, ClaimableQuery, GrantedClaim, GraphCodes, RunRow } from '../ports/store.ts';
import { codeOf } from '../ports/graph-code.ts';
import { isUnderWay, nextDueOf, type RunTree } from '../state/tree.ts';
import { intakeOf, liveRulesOf } from '../state/secrecy/store-rules.ts';
import { ActiveRuns, type AdvanceWay, claimForResume, hasEnded, refusedBy } from './commands/active-runs.ts';
import { advanceRun } from './commands/advance-run.ts';
import { admitRun } from './commands/admit-run.ts';
import { accessFiles } from './calls/file-access.ts';
import { listOpenWaits, postAnswers } from './commands/answer.ts';
import { postSignal } from './commands/signal.ts';
import { postSignalWithStart } from './commands/signal-with-start.ts';
import { requireRun } from './live-run/require-run.ts';
import type {
  AdvanceOptions,
  AdvanceResult,
  Apart,
  CancelOptions,
  CheckpointRef,
  Engine,
  EngineOptions,
  EnginePorts,
  Isolation,
  RunWaker,
  OpenQuestion,
  ForkOptions,
  NamedCheckpoint,
  PreviewOptions,
  PreviewRow,
  ResumeApart,
  ResumeOptions,
  RunHandle,
  RunResult,
  SignalOptions,
  StartOptions,
  StreamEvent,
  Suspect,
  WholeCheckpoint,
  TakenRun,
  TakeUpOptions,
} from './api.ts';
import { cancelUnowned, postCancel } from './commands/cancel-run.ts';
import { cancelSuperseded, leaveIfEnded, isAwaitedInLine } from './commands/limited-runs.ts';
import { renewClaim } from '../history/access/claim-run.ts';
import { isSuspect, SuspectRuns } from './suspect-runs.ts';
import { findGraphOf } from './commands/find-graph.ts';
import { streamEvents, inspectRow, restingHandle, withPosted } from './watch/event-stream.ts';
import { forkRun } from './forks/fork.ts';
import { defaultLeaseMs, boundsOf } from './bounds.ts';
import { checkRun } from './preview/check-run.ts';
import type { CheckOptions, RunCheck } from './run-check.ts';
import { previewRun } from './preview/preview.ts';
import { loadState } from '../history/load/load.ts';
import { callOutsideScopes } from './live-run/attempt-scope.ts';
import { Pace } from './live-run/pace.ts';
import { momentOf, type Moment } from './live-run/standing.ts';
import { readWholeCheckpoint } from './watch/progress.ts';
import { Wakes } from './commands/wakes.ts';
import { ClaimRenewals } from './live-run/claim-keeper.ts';
import { createStoreClock, type StoreClock } from './live-run/store-clock.ts';
import { createMonitor, type Monitor } from './monitor.ts';
import { WorkerBeats } from './worker-beat.ts';
import { Limiter } from './places/limiter.ts';
import { Deliveries } from './webhooks/deliveries.ts';
import { deliveryGraphId, isPutOff } from '../history/stored/run-ids.ts';

function monitorOf({ log, metrics, telemetry, ids }: EngineOptions, clock: Clock): Monitor | undefined {
  return createMonitor({ log, metrics, telemetry, clock, workerId: ids.workerId });
}

/** Makes an engine. It does nothing until it is called, and its only state is the runs that it advances. */
export function createEngine(options: EngineOptions): Engine {
  return new CairnEngine(options);
}

class CairnEngine implements Engine {
  readonly #env: EngineEnvironment;
  readonly #options: EngineOptions;
  readonly #clock: StoreClock;
  readonly #runs: ActiveRuns;
  readonly #suspects: SuspectRuns;
  readonly #deliveries: Deliveries;
  /** Registered graphs by id. */
  readonly #known = new Map<string, Graph>();
  /** Undefined if others resume paused runs. */
  #wakes: Wakes | undefined;
  #host: RunWaker | undefined;
  /** Calls of the host in progress. */
  readonly #calls = new Set<Promise<void>>();

  constructor(options: EngineOptions) {
    this.#options = {
      ...options,
      findGraph: async (id, hash, meta, ...more) =>
        this.#deliveries.graphOf(id, meta) ??
        (await options.findGraph?.(id, hash, meta, ...more)) ??
        this.#known.get(id),
    };
    const { store, leaseMs = defaultLeaseMs, leaseGuard } = options;
    const clock = (this.#clock = createStoreClock(options.clock, store));
    const { tenant = 'default', webhooks } = options;
    this.#deliveries = new Deliveries({
      store,
      clock,
      tenant,
      webhooks,
      start: (graph, input, how) =>
        callOutsideScopes(() => this.start(graph, input, { ...how, detach: this.#host !== undefined })),
      onDeferred: (run, error) => this.#env.monitor?.owed(run, error),
    });
    const { ids, telemetry, version } = options;
    const monitor = monitorOf(options, clock);
    this.#env = {
      store,
      blobs: options.blobs,
      clock,
      ids,
      secrets: options.secrets,
      intake: intakeOf(options.redact?.store),
      liveRules: liveRulesOf(options.redact?.store),
      models: options.models,
      telemetry,
      monitor,
      beats: new WorkerBeats({ store, tenant, workerId: ids.workerId, clock, version, telemetry, monitor }),
      version,
      bounds: boundsOf({ ...options.limits, ...options.bounds }),
      deliveries: webhooks && this.#deliveries,
      tenant,
      leaseMs,
      renewals: new ClaimRenewals({ store, clock, leaseMs, onRenew: () => void clock.sync(), guard: leaseGuard }),
      leaseGuard,
      isolation: options.isolation,
      effectsInFlight: new Map(),
      pace: new Pace(clock),
      places: new Limiter({
        store,
        clock,
        tenant,
        workerId: ids.workerId,
        onLetIn: (runId) => this.#letIn(runId),
        onRedefined: (limit) => this.#env.monitor?.redefined(limit),
      }),
    };
    this.#suspects = new SuspectRuns(this.#env);
    leaseGuard?.tell((blocked) => this.#env.beats.blocked(blocked));
    this.#runs = new ActiveRuns(this.#env, (runId, root) => this.#rested(runId, root));
    this.#host = options.host;
    if (options.host === undefined && (options.wakes === true || options.wakes === 'due'))
      this.#wakes = new Wakes(clock, (runId) => this.#goOn(runId));
  }

  /** A run has left its line. Whoever sees it first takes it up; where no worker looks, it goes on here. */
  #letIn(runId: string): void {
    this.#wakeHost(runId);
    if (this.#wakes !== undefined) this.resume(runId, { retryFailed: false }).catch(() => undefined);
  }

  get ports(): EnginePorts {
    return this.#env;
  }

  dispatchBy(host: RunWaker | undefined): void {
    this.#wakes?.close();
    this.#wakes = undefined;
    this.#host = host;
  }

  know(graph: Graph): void {
    this.#known.set(graph.id, graph);
  }

  #codes(): GraphCodes {
    return Object.fromEntries([...this.#known].map(([id, graph]) => [id, codeOf(graph)]));
  }

  async tellAlive(about: WorkerAbout, aliveMs: number = this.#env.leaseMs): Promise<void> {
    // What a worker that stops knows is for others to take up.
    const graphs = about.isStopping === true ? {} : this.#codes();
    if (about.isStopping !== true) this.#env.places.sweep().catch(() => undefined);
    await this.#env.beats.tellAlive(about, graphs, aliveMs);
  }

  get files(): FileAccess {
    return accessFiles(this.#env, { tenant: this.#env.tenant });
  }

  get history(): History {
    return historyOf(this.#env);
  }

  async start(graph: Graph, input: unknown, options: StartOptions = {}): Promise<RunHandle> {
    this.#runs.checkOpen();
    const ready = this.#clock.ready();
    if (ready !== undefined) await ready;
    const known = options.runId === undefined ? undefined : await this.#runs.advancing(options.runId);
    const claimedAt = momentOf(this.#env.clock);
    const { created, run, claim, loaded } = await admitRun(this.#env, graph, input, options);
    if (known !== undefined) return this.#runs.handle(run.runId, known, false);
    if (created && run.schedule.key !== undefined)
      await cancelSuperseded(this.#env, run, (...args) => this.cancel(...args));
    if (options.detach === true) {
      this.#wakeHost(run.runId, run.schedule.dueAt);
      return restingHandle(this.#env, run, graph, created);
    }
    if (!created) return this.#join(run, graph);
    // A limit has put it off.
    if (claim === undefined)
      return { ...restingHandle(this.#env, run, graph, true), result: () => this.#resultOf(run.runId, graph) };
    const handle = await this.#runs.open(run.runId, () =>
      this.#runs.advance(run, claim, claimedAt, graph, { graph }, created, loaded),
    );
    return this.#inLine(handle, run, graph, { graph });
  }

  /** The handle of a program: its result waits while the run stands in line for a place. */
  #inLine(handle: RunHandle, run: RunRow, graph: Graph, options: AdvanceWay): RunHandle {
    if (run.schedule.key === undefined) return handle;
    const result = async (): Promise<RunResult> => {
      const rested = await handle.result();
      return rested.queued === undefined ? rested : this.#resultOf(run.runId, graph, options);
    };
    return { ...handle, result };
  }

  /** Goes on with a run that was started before. While another process does, the handle follows it (E2.2). */
  async #join(run: RunRow, graph: Graph): Promise<RunHandle> {
    try {
      return await this.#resume(run.runId, { graph, isFound: true });
    } catch (error) {
      if (!CairnError.is(error, 'CLAIM_TAKEN')) throw error;
      const result = (): Promise<RunResult> => this.#resultOf(run.runId, graph);
      return { ...restingHandle(this.#env, run, graph, false), result };
    }
  }

  /** The result of a run that another process advances; if that process dies, the run goes on here. */
  async #resultOf(runId: string, graph: Graph, options: AdvanceWay = { isFound: true }): Promise<RunResult> {
    const { clock, bounds } = this.#env;
    const leave = clock.stay?.();
    try {
      for (;;) {
        await new Promise((resolve) => void clock.setTimer(bounds.messagePollMs, () => resolve(undefined)));
        this.#runs.checkOpen();
        const run = await requireRun(this.#env, runId);
        if ((await isAwaitedInLine(this.#env, run)) || isPutOff(run, clock.now())) continue;
        if (!isUnderWay(run.status)) return await inspectRow(this.#env, run, graph);
        const handle = await this.#resume(runId, { ...options, graph, retryFailed: false }).catch((error: unknown) => {
          if (!CairnError.is(error, 'CLAIM_TAKEN', 'RUN_CANCELLED')) throw error;
        });
        const result = await handle?.result();
        if (result !== undefined && result.queued === undefined) return result;
      }
    } finally {
      leave?.();
    }
  }

  resume(runId: string, options: ResumeOptions = {}): Promise<RunHandle> {
    return this.#resume(runId, { ...options, isFound: options.graph === undefined });
  }

  async #resume(runId: string, options: AdvanceWay): Promise<RunHandle> {
    this.#runs.checkOpen();
    const known = await this.#runs.advancing(runId);
    if (known !== undefined) {
      known.runner.setBudget(options);
      if (options.retry === true) known.runner.retryEnded(options.by);
      return this.#runs.handle(runId, known, false);
    }
    const isPlain = options.budget === undefined && options.retry !== true;
    const suspect = this.#suspects.held(runId);
    if (suspect !== undefined)
      return isPlain ? this.#followHeld(runId, options, suspect) : suspect.then(() => this.#resume(runId, options));
    if (options.detach === true) return this.#resumeDetached(runId, options);
    const opening = this.#runs.opening(runId);
    if (opening !== undefined) {
      const opened = await opening;
      return isPlain ? { ...opened, created: false } : this.#resume(runId, options);
    }
    const handle = await this.#runs.open(runId, () => this.#takeUp(runId, options));
    const active = this.#runs.find(runId);
    if (active === undefined) return handle;
    return this.#inLine(handle, active.runner.core.run, active.graph, options);
  }

  /** Takes a run up, records that it goes on, and gives it back before anything starts. */
  async #resumeDetached(runId: string, options: ResumeOptions): Promise<RunHandle> {
    await this.#runs.open(runId, () => this.#takeUp(runId, { ...options, isSlice: true }));
    const active = this.#runs.find(runId);
    active?.runner.yieldRun();
    await active?.rested.catch((error: unknown) => {
      if (!CairnError.is(error, 'CLAIM_LOST', 'CLAIM_FENCED')) throw error;
    });
    const run = await requireRun(this.#env, runId);
    return restingHandle(this.#env, run, options.graph ?? (await findGraphOf(this.#options, run)), false);
  }

  async takeUp(options: TakeUpOptions): Promise<readonly TakenRun[]> {
    this.#runs.checkOpen();
    const { store, clock, ids, leaseMs } = this.#env;
    const ready = this.#clock.ready();
    if (ready !== undefined) await ready;
    const claimedAt = momentOf(clock);
    const { onSuspect, ...query } = options;
    const except = [...(query.except ?? []), ...this.#runs.ids];
    const request = { ...this.#claimable(query), workerId: ids.workerId, leaseMs, except };
    const look = store.claimNext(request).then((grants) =>
      grants.flatMap((granted) => {
        const { runId } = granted.run;
        if (onSuspect !== undefined && isSuspect(granted.run)) {
          onSuspect(this.#holdSuspect(granted, claimedAt));
          return [];
        }
        return { runId, handle: this.#runs.open(runId, () => this.#advanceGranted(granted, claimedAt)) };
      }),
    );
    return this.#runs.whileLooking(look);
  }

  readonly countAwaitingPlaces = (): number => this.#runs.countAwaitingPlaces();
  readonly letPause = (runId: string): void => this.#runs.letPause(runId);

  #holdSuspect(granted: GrantedClaim, claimedAt: Moment, resume?: ResumeApart): Suspect {
    const { runId } = granted.run;
    const advance = (): Promise<RunHandle> =>
      this.#runs.open(runId, () => this.#advanceGranted(granted, momentOf(this.#env.clock)));
    return this.#suspects.hold(granted, claimedAt, { advance, ...(resume && { resume }) });
  }

  /** The handle of a suspect that is advanced apart, whose result is read when somebody else of this engine has brought it to rest. */
  async #followHeld(runId: string, options: AdvanceWay, held: Promise<unknown>): Promise<RunHandle> {
    const run = await requireRun(this.#env, runId);
    const graph = options.graph ?? (await findGraphOf(this.#options, run));
    const result = (): Promise<RunResult> => held.then(() => this.#resultOf(runId, graph, options));
    return { ...restingHandle(this.#env, run, graph, false), result };
  }

  /** Advances a claimed suspect apart; while another one is, it is given back, and its turn is waited for. */
  async #advanceSuspect(
    granted: GrantedClaim,
    claimedAt: Moment,
    isolation: Isolation,
    { graph, ...options }: AdvanceWay & { readonly graph: Graph },
  ): Promise<RunHandle> {
    const { run } = granted;
    this.#env.monitor?.suspected(run);
    const { traceparent, retryFailed = true, retry, budget, leaveOutAdded, anyVersion, by } = options;
    const resume = { traceparent, retryFailed, retry, budget, leaveOutAdded, anyVersion, by } as ResumeApart;
    const suspect = this.#holdSuspect(granted, claimedAt, resume);
    const { busy } = isolation;
    if (busy !== undefined) {
      await suspect.release();
      return this.#followHeld(run.runId, { ...options, graph }, busy);
    }
    const rested = callOutsideScopes(() => this.#suspects.bringToRest(suspect, isolation)).then(async () => {
      const now = await requireRun(this.#env, run.runId);
      this.#rested(run.runId, (await loadState(this.#env.store, this.#env.blobs, now)).root);
      return inspectRow(this.#env, now, graph);
    });
    rested.catch(() => undefined);
    return { ...restingHandle(this.#env, run, graph, false), result: () => rested };
  }

  async advanceApart(claim: Claim, apart: Apart, options: ResumeApart = {}): Promise<RunHandle> {
    this.#runs.checkOpen();
    const ready = this.#clock.ready();
    if (ready !== undefined) await ready;
    const claimedAt = momentOf(this.#env.clock);
    // From this moment on the lease holds as long as this process thinks.
    await renewClaim(this.#env.store, claim);
    const run = await requireRun(this.#env, claim.runId);
    return this.#runs.open(claim.runId, () => this.#advanceGranted({ claim, run }, claimedAt, { ...options, apart }));
  }

  advance(runId: string, options: AdvanceOptions): Promise<AdvanceResult> {
    this.#runs.checkOpen();
    const way: AdvanceWay = { retryFailed: false, isSlice: true };
    return advanceRun(this.#env, this.#runs, runId, options, () =>
      this.#runs.open(runId, () => this.#takeUp(runId, way)),
    );
  }

  sweepWebhooks(): Promise<number> {
    this.#runs.checkOpen();
    return this.#deliveries.sweep();
  }

  async listClaimable(options: TakeUpOptions): Promise<readonly string[]> {
    // Where hosts advance runs there may be no worker that looks after lines.
    await this.#env.places.sweep().catch(() => undefined);
    return this.#env.store.listClaimable(this.#claimable(options));
  }

  /** What runs can go on with the code that is here. What is due is judged by the store's clock; one on this machine has the engine's. */
  #claimable(options: TakeUpOptions): ClaimableQuery {
    const { store, clock, tenant } = this.#env;
    const at = store.readTime === undefined ? { at: clock.now() } : {};
    // Who works for some graphs delivers for them, too.
    const graphs = options.graphs && { graphs: [...options.graphs, deliveryGraphId] };
    return { tenant, ...at, ...options, ...graphs, codes: this.#codes() };
  }

  async #advanceGranted({ claim, run }: GrantedClaim, claimedAt: Moment, way: AdvanceWay = {}): Promise<RunHandle> {
    const options: AdvanceWay = { retryFailed: false, ...way };
    let graph: Graph | undefined;
    try {
      graph = await findGraphOf(this.#options, run);
      return await this.#runs.advance(run, claim, claimedAt, graph, options, false);
    } catch (error) {
      await this.#env.store.releaseClaim(claim, refusedBy(error, this.#env, graph)).catch(() => {});
      if (!CairnError.is(error, 'STORE_CLOSED')) this.#env.beats.broken(run, error);
      throw error;
    }
  }

  async #takeUp(runId: string, options: AdvanceWay): Promise<RunHandle> {
    const ready = this.#clock.ready();
    if (ready !== undefined) await ready;
    const run = await requireRun(this.#env, runId);
    const graph = options.graph ?? (await findGraphOf(this.#options, run));
    const resting = this.#takeRest(run, graph, options);
    if (resting !== undefined) return resting;
    const claimedAt = momentOf(this.#env.clock);
    const { claim, run: claimed } = await claimForResume(this.#env, run);
    // The run may have ended between reading its row and claiming it. Then the claim is released and the run returned as it is.
    if (!hasEnded(claimed, options)) {
      const { isolation } = this.#env;
      // What is a function here cannot be told to another process.
      const isTold = options.isSlice !== true && options.isFound === true && options.migrate === undefined;
      if (isolation !== undefined && isTold && isSuspect(claimed))
        return this.#advanceSuspect({ claim, run: claimed }, claimedAt, isolation, { ...options, graph });
      return this.#runs.advance(claimed, claim, claimedAt, graph, options, false);
    }
    await this.#env.store.releaseClaim(claim).catch(() => {});
    return this.#takeRest(claimed, graph, options) as RunHandle;
  }

  /** The handle of a run that has ended; undefined if it has not. @throws RUN_CANCELLED */
  #takeRest(run: RunRow, graph: Graph, options: ResumeOptions): RunHandle | undefined {
    if (!hasEnded(run, options)) return undefined;
    if (run.status === 'cancelled') throw new CairnError('RUN_CANCELLED', { runId: run.runId });
    return restingHandle(this.#env, run, graph, false);
  }

  /** Resumes a paused run, if no other worker has it and its graph is known. */
  async #goOn(runId: string): Promise<void> {
    const run = await requireRun(this.#env, runId);
    if (run.status === 'paused') await this.resume(runId, { retryFailed: false });
  }

  async inspect(runId: string, seq?: number): Promise<RunResult> {
    const run = await requireRun(this.#env, runId);
    const standing = await inspectRow(this.#env, run, await findGraphOf(this.#options, run), seq);
    if (standing.seq !== run.head) return standing;
    const { isStopped, isQueued } = toListedRun(run, (workerId) => this.#env.ids.isWorkerDead(workerId));
    const queued = await this.#env.places.find(run);
    const isWaiting = isQueued || queued !== undefined;
    const found = {
      ...(isStopped && { isStopped }),
      ...(isWaiting && { isQueued: true as const }),
      ...(queued && { queued }),
    };
    // The same object, since what is completed is looked up by it.
    return withPosted(this.#env, run, Object.assign(standing, found));
  }

  async checkpoint(runId: string, seq?: number): Promise<WholeCheckpoint> {
    const run = await requireRun(this.#env, runId);
    return readWholeCheckpoint(this.#env, run, await findGraphOf(this.#options, run), seq);
  }

  async waits(runId: string): Promise<readonly OpenQuestion[]> {
    await requireRun(this.#env, runId);
    return listOpenWaits(this.#env, runId);
  }

  async answer(...[runId, waitId, value, options]: Parameters<Engine['answer']>): Promise<unknown> {
    return (await this.answerAll(runId, [[waitId, value]], options))[0];
  }

  async answerAll(...[runId, answers, options]: Parameters<Engine['answerAll']>): Promise<readonly unknown[]> {
    const recorded = await postAnswers(this.#env, runId, answers, options);
    this.#posted(runId, options?.stays);
    return recorded;
  }

  async signal(runId: string, name: string, value: unknown, options: SignalOptions = {}): Promise<void> {
    await postSignal(this.#env, runId, name, value, options);
    this.#posted(runId, options.stays);
  }

  async signalWithStart(
    ...[graph, runId, input, name, value, options = {}]: Parameters<Engine['signalWithStart']>
  ): Promise<RunHandle> {
    this.#runs.checkOpen();
    const ready = this.#clock.ready();
    if (ready !== undefined) await ready;
    const created = await postSignalWithStart(this.#env, graph, { runId, input, name, value }, options);
    const { detach = false, stays = false } = options;
    this.#posted(runId, stays);
    if (created && !detach) return { ...(await this.#join(await requireRun(this.#env, runId), graph)), created };
    const active = this.#runs.find(runId);
    if (active !== undefined) return this.#runs.handle(runId, active, false);
    return restingHandle(this.#env, await requireRun(this.#env, runId), graph, created);
  }

  /** Called when a message was posted: the run's runner, if it is here, reads it now; a paused run may go on. */
  #posted(runId: string, stays = false): void {
    const active = this.#runs.find(runId);
    active?.runner.poke();
    if (stays) return;
    if (this.#options.wakes === true) this.#wakes?.posted(runId);
    if (active === undefined) this.#wakeHost(runId);
  }

  /** Called when a run that a program followed here has ended or paused; of a slice the host hears by its result. */
  #rested(runId: string, root: RunTree): void {
    this.#wakes?.rested(runId, root);
    if (root.status !== 'paused' || this.#host === undefined) return;
    const dueTimes = Object.values(root.waits).map((wait) => nextDueOf(wait) ?? Infinity);
    const dueAt = dueTimes.reduce((least, time) => Math.min(least, time), Infinity);
    if (dueAt < Infinity) this.#wakeHost(runId, dueAt);
  }

  /** A hint: nothing waits for it but {@link close}, and its errors are ignored, since the host's sweep finds the run later. */
  #wakeHost(runId: string, at: number = this.#env.clock.now()): void {
    const call = this.#host?.wake(runId, at).catch(() => {});
    if (call === undefined) return;
    this.#calls.add(call);
    void call.finally(() => this.#calls.delete(call));
  }

  async cancel(runId: string, options: CancelOptions = {}): Promise<void> {
    const run = await postCancel(this.#env, runId, options);
    const active = await this.#runs.advancing(runId);
    if (active !== undefined) return active.runner.poke();
    const isCancelling = await cancelUnowned(this.#env, run);
    if (!isCancelling && run.schedule.key !== undefined) await leaveIfEnded(this.#env, runId);
    // Where the graph is not known, or may not run, the run stays as it is for who knows it: that it is cancelled is on record.
    if (isCancelling && this.#host === undefined)
      await this.resume(runId, { retryFailed: false }).catch(() => undefined);
    this.#wakeHost(runId);
  }

  async fork(from: CheckpointRef, options: ForkOptions = {}): Promise<CheckpointRef> {
    const run = await requireRun(this.#env, from.runId);
    // A fork needs no graph. If it is not found, the fork's resume reports that.
    const findGraph = (): Promise<Graph | undefined> => findGraphOf(this.#options, run).catch(() => undefined);
    return forkRun(this.#env, run, from.seq, options, findGraph);
  }

  async preview(from: CheckpointRef, options: PreviewOptions = {}): Promise<readonly PreviewRow[]> {
    const run = await requireRun(this.#env, from.runId);
    const graph = options.graph ?? (await findGraphOf(this.#options, run));
    return previewRun(this.#env, run, from.seq, graph, options);
  }

  async check(runId: string, { graph, ...options }: CheckOptions = {}): Promise<RunCheck> {
    const run = await requireRun(this.#env, runId);
    return checkRun(this.#env, run, graph ?? (await findGraphOf(this.#options, run)), options);
  }

  async locate(name: CheckpointName, naming?: { readonly byPrefix?: boolean }): Promise<NamedCheckpoint> {
    return historyOf(this.#env, { byPrefix: false, ...naming }).locate(name);
  }

  async *events(runId: string, options: { readonly after?: number } = {}): AsyncIterable<StreamEvent> {
    const run = await requireRun(this.#env, runId);
    const active = this.#runs.find(runId);
    const graph = active?.graph ?? (await findGraphOf(this.#options, run));
    yield* streamEvents(this.#env, runId, active?.feed, graph, options);
  }

  async close(): Promise<void> {
    this.#wakes?.close();
    await this.#deliveries.close();
    await Promise.all([this.#runs.close(), this.#suspects.close(), ...this.#calls]);
    this.#env.places.close();
    const { ids, effectsInFlight } = this.#env;
    ids.close?.(() => effectsInFlight.size === 0);
  }
}

// The histories that an engine keeps runs in.

function historyOf({ tenant, store, blobs, ids, clock }: EngineEnvironment, naming?: NamingOptions): History {
  const isWorkerDead = (workerId: string): boolean | undefined => ids.isWorkerDead(workerId);
  return new History({ tenant, store, blobs, ids, isWorkerDead, now: () => clock.now() }, naming);
}
