/** The engine: starts, resumes, answers, forks and previews runs over a store (the contract is in api.ts). */
import { History } from '../history/history.ts';
import type { NamingOptions, CheckpointName } from '../history/read/tag-checkpoint.ts';
import type { EngineEnvironment } from './live-run/run-core.ts';
import { CairnError } from '../errors.ts';
import type { Graph } from '../graph/graph.ts';
import type { FileAccess } from '../graph/contracts/contracts.ts';
import { toListedRun } from '../history/read/list-runs.ts';
import { noteWorker, readBacklog, type WorkerAbout } from '../history/read/list-workers.ts';
import type { Claim, ClaimableQuery, GrantedClaim, GraphHashes, RunRow } from '../ports/store.ts';
import { isUnderWay, type RunTree } from '../state/tree.ts';
import { intakeOf, liveRulesOf } from '../state/secrecy/store-rules.ts';
import { ActiveRuns, type AdvanceWay, claimForResume, hasEnded, refusedBy } from './commands/active-runs.ts';
import { advanceRun } from './commands/advance-run.ts';
import { admitRun } from './commands/admit-run.ts';
import { accessFiles } from './calls/file-access.ts';
import { listOpenWaits, postAnswers, postSignal, requireRun } from './commands/answer.ts';
import type {
  AdvanceOptions,
  AdvanceResult,
  Apart,
  CancelOptions,
  CheckpointRef,
  Engine,
  EngineOptions,
  EnginePorts,
  Host,
  OpenQuestion,
  ForkOptions,
  NamedCheckpoint,
  PreviewOptions,
  PreviewRow,
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
import { renewClaim } from '../history/access/place.ts';
import { holdSuspect, isSuspect } from './suspects.ts';
import { findGraphOf } from './commands/find-graph.ts';
import { streamEvents, inspectRow, restingHandle } from './watch/event-stream.ts';
import { forkRun } from './forks/fork.ts';
import { defaultLeaseMs, limitsOf } from './limits.ts';
import { previewRun } from './preview/preview.ts';
import { Pace, momentOf, type Moment } from './live-run/draft.ts';
import { readWholeCheckpoint } from './watch/progress.ts';
import { Wakes } from './commands/wakes.ts';
import { ClaimRenewals, createStoreClock, type StoreClock } from './live-run/claim-keeper.ts';

/** Makes an engine. It does nothing until it is called, and its only state is the runs that it advances. */
export function createEngine(options: EngineOptions): Engine {
  return new CairnEngine(options);
}

class CairnEngine implements Engine {
  readonly #env: EngineEnvironment;
  readonly #options: EngineOptions;
  readonly #clock: StoreClock;
  readonly #runs: ActiveRuns;
  /** Registered graphs by id. */
  readonly #known = new Map<string, Graph>();
  /** Undefined if others resume paused runs. */
  #wakes: Wakes | undefined;
  #host: Host | undefined;
  /** Calls of the host in progress. */
  readonly #calls = new Set<Promise<void>>();

  constructor(options: EngineOptions) {
    this.#options = {
      ...options,
      findGraph: async (id, ...more) => (await options.findGraph?.(id, ...more)) ?? this.#known.get(id),
    };
    const { store, leaseMs = defaultLeaseMs, leaseGuard } = options;
    const clock = (this.#clock = createStoreClock(options.clock, store));
    this.#env = {
      store,
      blobs: options.blobs,
      clock,
      ids: options.ids,
      secrets: options.secrets,
      intake: intakeOf(options.redact?.store),
      liveRules: liveRulesOf(options.redact?.store),
      models: options.models,
      telemetry: options.telemetry,
      version: options.version,
      limits: limitsOf(options.limits),
      tenant: options.tenant ?? 'default',
      leaseMs,
      renewals: new ClaimRenewals({ store, clock, leaseMs, onRenew: () => void clock.sync(), guard: leaseGuard }),
      leaseGuard,
      effectsInFlight: new Map(),
      pace: new Pace(clock),
    };
    this.#runs = new ActiveRuns(this.#env, (runId, root) => this.#rested(runId, root));
    this.#host = options.host;
    if (options.host === undefined && (options.wakes === true || options.wakes === 'due'))
      this.#wakes = new Wakes(clock, (runId) => this.#goOn(runId));
  }

  get ports(): EnginePorts {
    return this.#env;
  }

  dispatchBy(host: Host | undefined): void {
    this.#wakes?.close();
    this.#wakes = undefined;
    this.#host = host;
  }

  know(graph: Graph): void {
    this.#known.set(graph.id, graph);
  }

  #hashes(): GraphHashes {
    return Object.fromEntries([...this.#known].map(([id, { hash }]) => [id, hash]));
  }

  async tellAlive(about: WorkerAbout, aliveMs: number = this.#env.leaseMs): Promise<void> {
    const { store, tenant, ids, version, telemetry, clock } = this.#env;
    // What a worker that stops knows is for others to take up.
    const graphs = about.isStopping === true ? {} : this.#hashes();
    const worker = { tenant, workerId: ids.workerId, graphs, aliveMs };
    await noteWorker(store, worker, { ...about, ...(version !== undefined && { version }) });
    if (telemetry?.measure === undefined || aliveMs === 0) return;
    const { only, queues } = about;
    const query = { tenant, ...(only && { graphs: only }), ...(queues && { queues }) };
    const { ready, oldestMs = 0 } = await readBacklog(store, clock.now(), query);
    try {
      telemetry.measure('cairn.backlog', ready, {});
      telemetry.measure('cairn.backlog.age', oldestMs, {});
    } catch {
      // No worker may fail for being watched.
    }
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
    if (options.detach === true) {
      this.#wakeHost(run.runId, run.schedule.dueAt);
      return restingHandle(this.#env, run, graph, created);
    }
    if (!created) return this.#join(run, graph);
    return this.#runs.open(run.runId, () =>
      this.#runs.advance(run, claim as Claim, claimedAt, graph, { graph }, created, loaded),
    );
  }

  /** Goes on with a run that was started before. While another process does, the handle follows it (E2.2). */
  async #join(run: RunRow, graph: Graph): Promise<RunHandle> {
    try {
      return await this.resume(run.runId, { graph });
    } catch (error) {
      if (!CairnError.is(error, 'CLAIM_TAKEN')) throw error;
      const result = (): Promise<RunResult> => this.#resultOf(run.runId, graph);
      return { ...restingHandle(this.#env, run, graph, false), result };
    }
  }

  /** The result of a run that another process advances; if that process dies, the run goes on here. */
  async #resultOf(runId: string, graph: Graph): Promise<RunResult> {
    const { clock, limits } = this.#env;
    const leave = clock.stay?.();
    try {
      for (;;) {
        await new Promise((resolve) => void clock.setTimer(limits.messagePollMs, () => resolve(undefined)));
        this.#runs.checkOpen();
        const run = await requireRun(this.#env, runId);
        if (!isUnderWay(run.status)) return await inspectRow(this.#env, run, graph);
        const handle = await this.resume(runId, { graph, retryFailed: false }).catch((error: unknown) => {
          if (!CairnError.is(error, 'CLAIM_TAKEN', 'RUN_CANCELLED')) throw error;
        });
        if (handle !== undefined) return await handle.result();
      }
    } finally {
      leave?.();
    }
  }

  async resume(runId: string, options: ResumeOptions = {}): Promise<RunHandle> {
    this.#runs.checkOpen();
    const known = await this.#runs.advancing(runId);
    if (known !== undefined) {
      known.runner.setBudget(options.budget, options.by);
      if (options.retry === true) known.runner.retryEnded(options.by);
      return this.#runs.handle(runId, known, false);
    }
    if (options.detach === true) return this.#resumeDetached(runId, options);
    const opening = this.#runs.opening(runId);
    if (opening !== undefined) {
      const opened = await opening;
      const isPlain = options.budget === undefined && options.retry !== true;
      return isPlain ? { ...opened, created: false } : this.resume(runId, options);
    }
    return this.#runs.open(runId, () => this.#takeUp(runId, options));
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

  #holdSuspect(granted: GrantedClaim, claimedAt: Moment): Suspect {
    const { renewals, store, clock } = this.#env;
    const { runId } = granted.run;
    return holdSuspect(granted, claimedAt, {
      renewals,
      advance: () => this.#runs.open(runId, () => this.#advanceGranted(granted, momentOf(clock))),
      release: (claim) => store.releaseClaim(claim),
    });
  }

  async advanceApart(claim: Claim, apart: Apart): Promise<RunHandle> {
    this.#runs.checkOpen();
    const ready = this.#clock.ready();
    if (ready !== undefined) await ready;
    const claimedAt = momentOf(this.#env.clock);
    // From this moment on the lease holds as long as this process thinks.
    await renewClaim(this.#env.store, claim);
    const run = await requireRun(this.#env, claim.runId);
    return this.#runs.open(claim.runId, () => this.#advanceGranted({ claim, run }, claimedAt, apart));
  }

  advance(runId: string, options: AdvanceOptions): Promise<AdvanceResult> {
    this.#runs.checkOpen();
    const way: AdvanceWay = { retryFailed: false, isSlice: true };
    return advanceRun(this.#env, this.#runs, runId, options, () =>
      this.#runs.open(runId, () => this.#takeUp(runId, way)),
    );
  }

  listClaimable(options: TakeUpOptions): Promise<readonly string[]> {
    return this.#env.store.listClaimable(this.#claimable(options));
  }

  /** What runs can go on with the code that is here. What is due is judged by the store's clock; one on this machine has the engine's. */
  #claimable(options: TakeUpOptions): ClaimableQuery {
    const { store, clock, tenant } = this.#env;
    const at = store.readTime === undefined ? { at: clock.now() } : {};
    return { tenant, ...at, ...options, hashes: this.#hashes() };
  }

  async #advanceGranted({ claim, run }: GrantedClaim, claimedAt: Moment, apart?: Apart): Promise<RunHandle> {
    const options: AdvanceWay = { retryFailed: false, ...(apart && { apart }) };
    let graph: Graph | undefined;
    try {
      graph = await findGraphOf(this.#options, run);
      return await this.#runs.advance(run, claim, claimedAt, graph, options, false);
    } catch (error) {
      await this.#env.store.releaseClaim(claim, refusedBy(error, this.#env, graph)).catch(() => {});
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
    if (!hasEnded(claimed, options)) return this.#runs.advance(claimed, claim, claimedAt, graph, options, false);
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
    return { ...standing, ...(isStopped && { isStopped }), ...(isQueued && { isQueued }) };
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
    await postSignal(this.#env, runId, name, value, options.id);
    this.#posted(runId, options.stays);
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
    const dueTimes = Object.values(root.waits).flatMap(({ dueAt }) => dueAt ?? []);
    if (dueTimes.length > 0)
      this.#wakeHost(
        runId,
        dueTimes.reduce((least, dueAt) => Math.min(least, dueAt)),
      );
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
    await Promise.all([this.#runs.close(), ...this.#calls]);
    const { ids, effectsInFlight } = this.#env;
    ids.close?.(() => effectsInFlight.size === 0);
  }
}

// The histories that an engine keeps runs in.

export function historyOf({ tenant, store, blobs, ids, clock }: EngineEnvironment, naming?: NamingOptions): History {
  const isWorkerDead = (workerId: string): boolean | undefined => ids.isWorkerDead(workerId);
  return new History({ tenant, store, blobs, ids, isWorkerDead, now: () => clock.now() }, naming);
}
