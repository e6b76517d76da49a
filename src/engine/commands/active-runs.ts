/** The runs that an engine is advancing or opening. Everybody who asks for one gets the same (E2.5). */
import type { Graph } from '../../graph/graph.ts';
import { refusalOf, renewClaim } from '../../history/access/claim-run.ts';
import { loadState, type LoadedState } from '../../history/load/load.ts';
import type { Claim, RunRow } from '../../ports/store.ts';
import type { Apart, ResumeOptions, RunHandle } from '../api.ts';
import { requireSecrets } from '../calls/secret-access.ts';
import { requireRun } from '../live-run/require-run.ts';
import { openState } from './open-state.ts';
import { takeBackTimes } from './set-back.ts';
import { ReplaySource } from '../fork-replay/replay.ts';
import { originOf, parentTrace } from './admit-run.ts';
import { Draft } from '../live-run/draft.ts';
import { type Moment, momentOf } from '../live-run/standing.ts';
import { followUpOf, isUnderWay, type RunTree } from '../../state/tree.ts';
import type { EngineEnvironment } from '../live-run/run-core.ts';
import { RunFeed } from '../live-run/committer.ts';
import { ClaimKeeper } from '../live-run/claim-keeper.ts';
import { onlyAwaitsPlaces } from '../run-loop/awaits-places.ts';
import { Runner } from '../run-loop/runner.ts';
import { codeOf } from '../../ports/graph-code.ts';
import { VirtualTime } from '../waits/pass-time.ts';
import { CairnError } from '../../errors.ts';
import { streamEvents, resultOf, withFailures } from '../watch/event-stream.ts';
import { traceRun } from '../watch/trace-run.ts';

// Resumes a run: claims it, loads its state, checks its graph, and prepares retries of a failed run (G8, H3, O1).

/** Claims the run. @throws CLAIM_TAKEN another worker has it; RUN_HELD it is held until a person releases it */
export async function claimForResume(
  env: EngineEnvironment,
  run: RunRow,
): Promise<{ readonly claim: Claim; readonly run: RunRow }> {
  const { store, ids, leaseMs, tenant } = env;
  const owner = run.claim?.workerId;
  const takeFrom =
    owner !== undefined && (owner === ids.workerId || ids.isWorkerDead(owner) === true) ? owner : undefined;
  const reply = await store.claimRun({
    tenant,
    runId: run.runId,
    workerId: ids.workerId,
    leaseMs,
    ...(takeFrom === undefined ? {} : { takeFrom }),
  });
  if (reply.claim !== undefined) return reply;
  throw refusalOf(run.runId, reply.owner, reply.remainingMs);
}

/**
 * Whose code could not go on with a run, if that is why it failed: that of the graph here, or the worker's id if the graph is not known here.
 */
export function refusedBy(error: unknown, env: EngineEnvironment, graph: Graph | undefined): string | undefined {
  if (graph === undefined) return CairnError.is(error, 'CONFIG_INVALID') ? env.ids.workerId : undefined;
  return CairnError.is(error, 'RUN_GRAPH_CHANGED') ? codeOf(graph) : undefined;
}

/** A claimed run, and how to go on with it. */
export interface RunnerRequest {
  readonly env: EngineEnvironment;
  readonly run: RunRow;
  readonly claim: Claim;
  readonly claimedAt: Moment;
  readonly graph: Graph;
  readonly feed: RunFeed;
  readonly options: AdvanceWay;
  /** The run's state, if the caller has it. */
  readonly loaded?: LoadedState;
}

/** Loads a claimed run and makes the runner that advances it. */
async function prepareRunner(request: RunnerRequest): Promise<Runner> {
  const keeper = new ClaimKeeper(request.env.renewals, request.claim, request.claimedAt);
  try {
    return await openRunner(request, keeper);
  } catch (error) {
    keeper.stop();
    throw error;
  }
}

async function openRunner(request: RunnerRequest, keeper: ClaimKeeper): Promise<Runner> {
  const { env, run, claim, graph, feed, options } = request;
  await keeper.requireHeld(env);
  // If the request has the state, the run was started just now, and its start records where it came from.
  const origin = request.loaded === undefined ? originOf(env, graph, options.traceparent) : {};
  const loaded = request.loaded ?? (await loadTimed(env, run));
  const secrets = await requireSecrets(env.secrets, loaded.root.secrets);
  const { status } = loaded.root;
  const isGoing = isUnderWay(status) && options.isHandedOver !== true;
  const isTakenOver = request.loaded === undefined && isGoing && (run.deaths > 0 || loaded.root.left === true);
  const draft = new Draft(run, loaded.root);
  const clockSetBackMs = request.loaded === undefined ? takeBackTimes(env, run, draft) : 0;
  await openState(env, run, draft, graph, options, origin);
  const runner = new Runner({ env, run, claim, keeper, graph, loaded, draft, feed, secrets });
  runner.core.isTakenOver = isTakenOver;
  runner.core.apart = options.apart;
  runner.core.standIns = options.standIns;
  if (loaded.root.noEffects !== undefined) runner.core.virtual = new VirtualTime(runner.core);
  runner.core.clockSetBackMs = clockSetBackMs;
  if (options.retry === true) runner.retryEnded(options.by);
  if (run.parent !== undefined) runner.core.replay = await ReplaySource.load(runner.core, run);
  return runner;
}

async function loadTimed(env: EngineEnvironment, run: RunRow): Promise<LoadedState> {
  const since = env.clock.monotonic();
  const loaded = await loadState(env.store, env.blobs, run);
  env.monitor?.loaded(run.graphId, env.clock.monotonic() - since);
  return loaded;
}

/** Whether there is nothing for a resume to do. */
export function hasEnded({ status }: Pick<RunTree, 'status'>, { retryFailed = true }: ResumeOptions): boolean {
  return status === 'completed' || status === 'cancelled' || (status === 'failed' && !retryFailed);
}

/** How a run is taken up. */
export interface AdvanceWay extends ResumeOptions {
  /** It is advanced for a limited time, so nothing is waited for in this process (HO3). */
  readonly isSlice?: true;
  /** Others find the same graph for the run: it was not given by whoever resumes. */
  readonly isFound?: boolean;
  /** It is a suspect, and advanced apart from other runs. */
  readonly apart?: Apart;
  /** It was cancelled here a moment ago, or failed, and goes on under the same claim. */
  readonly isHandedOver?: true;
}

/** A run being advanced here. */
export interface ActiveRun {
  runner: Runner;
  readonly isSlice: boolean;
  readonly feed: RunFeed;
  readonly graph: Graph;
  /** Whether it pauses as soon as it waits for a time. */
  isLeaving: boolean;
  /** Whether the run goes on after its runner has ended; then it has another runner. */
  goesOn: Promise<boolean>;
  /** Resolves when the run has ended or paused. */
  rested: Promise<void>;
}

/** The environment of a run that waits for nothing in this process. */
function ofSlice(env: EngineEnvironment): EngineEnvironment {
  return { ...env, isSlice: true, bounds: { ...env.bounds, holdTimersMs: 0, holdQuestionsMs: 0 } };
}

/** Has a run pause as soon as it waits for a time, however near. */
function pauseSoon(runner: Runner): void {
  runner.core.isLeaving = true;
  runner.requestTurn();
}

export class ActiveRuns {
  readonly #env: EngineEnvironment;
  readonly #onRested: (runId: string, root: RunTree) => void;
  readonly #active = new Map<string, ActiveRun>();
  readonly #opening = new Map<string, Promise<RunHandle>>();
  /** Calls of `claimNext` in progress. Until they return, it is not known which runs this engine has claimed. */
  readonly #looks = new Set<Promise<unknown>>();
  #stopListening: (() => void) | undefined;
  #isClosed = false;

  /** @param onRested - called for each run that has ended or paused here, with its state */
  constructor(env: EngineEnvironment, onRested: (runId: string, root: RunTree) => void) {
    this.#env = env;
    this.#onRested = onRested;
  }

  /** @throws STORE_CLOSED */
  checkOpen(): void {
    if (this.#isClosed) throw new CairnError('STORE_CLOSED', { store: 'engine' });
  }

  /** Ids of the runs being advanced or opened. */
  get ids(): readonly string[] {
    return [...this.#active.keys(), ...this.#opening.keys()];
  }

  /** How many only wait for places of limits. */
  countAwaitingPlaces(): number {
    let count = 0;
    for (const { runner } of this.#active.values()) if (onlyAwaitsPlaces(runner.core)) count += 1;
    return count;
  }

  find(runId: string): ActiveRun | undefined {
    return this.#active.get(runId);
  }

  /** The run, if it is being opened now. */
  opening(runId: string): Promise<RunHandle> | undefined {
    return this.#opening.get(runId);
  }

  /** Hears from the store when another process posts to a run that is advanced here. */
  #listen(): void {
    const { store, tenant } = this.#env;
    if (this.#stopListening !== undefined || !store.capabilities.isShared || store.hearsOthers === undefined) return;
    this.#stopListening = store.watch?.(tenant, (runId) => {
      for (const [id, { runner }] of this.#active) if (runId === undefined || runId === id) runner.poke();
    });
  }

  /** Waits for a call that claims runs, so that {@link advancing} can take its result into account. */
  whileLooking<Found>(look: Promise<Found>): Promise<Found> {
    this.#looks.add(look);
    return look.finally(() => this.#looks.delete(look));
  }

  /**
   * The run, if it is being advanced here now. If it is about to end or pause, this waits until it has, because its runner takes nothing
   * more.
   */
  async advancing(runId: string): Promise<ActiveRun | undefined> {
    // Otherwise somebody could try to claim a run that this very engine has just claimed.
    while (this.#looks.size > 0) await Promise.allSettled(this.#looks);
    for (;;) {
      const active = this.#active.get(runId);
      if (active === undefined || !active.runner.isOver) return active;
      await active.goesOn.catch(() => {});
    }
  }

  /** Opens a run. Others who ask for it meanwhile wait for the same opening. */
  open(runId: string, open: () => Promise<RunHandle>): Promise<RunHandle> {
    const opening = open().finally(() => this.#opening.delete(runId));
    this.#opening.set(runId, opening);
    return opening;
  }

  /** Advances a claimed run until it ends or pauses. @param loaded - its state, if the caller has it */
  async advance(
    run: RunRow,
    claim: Claim,
    claimedAt: Moment,
    graph: Graph,
    options: AdvanceWay,
    created: boolean,
    loaded?: LoadedState,
  ): Promise<RunHandle> {
    const feed = new RunFeed(run);
    const runner = await this.#prepare({ run, claim, claimedAt, graph, feed, options }, loaded);
    const { telemetry } = this.#env;
    if (telemetry !== undefined)
      traceRun(telemetry, feed, run, graph, await parentTrace(this.#env, run, options.traceparent));
    const active: ActiveRun = {
      runner,
      isSlice: options.isSlice === true,
      feed,
      graph,
      isLeaving: false,
      goesOn: Promise.resolve(true),
      rested: Promise.resolve(),
    };
    this.#active.set(run.runId, active);
    this.#env.monitor?.claimed(run, created);
    this.#listen();
    // The process stays alive until the run ends or pauses; a delay before an attempt must not end it.
    const leave = this.#env.clock.stay?.();
    active.rested = this.#follow(active).finally(() => {
      leave?.();
      if (this.#active.get(run.runId) === active) this.#active.delete(run.runId);
    });
    active.rested.catch(() => {});
    return this.handle(run.runId, active, created);
  }

  /** Makes the runner for a claimed run. If that fails, the claim is released. */
  async #prepare(request: Omit<RunnerRequest, 'env' | 'loaded'>, loaded: LoadedState | undefined): Promise<Runner> {
    try {
      const runner = await prepareRunner({
        env: request.options.isSlice === true ? ofSlice(this.#env) : this.#env,
        ...request,
        ...(loaded === undefined ? {} : { loaded }),
      });
      if (this.#isClosed) await runner.close();
      this.checkOpen();
      return runner;
    } catch (error) {
      const { claim, graph } = request;
      await this.#env.store.releaseClaim(claim, refusedBy(error, this.#env, graph)).catch(() => {});
      throw error;
    }
  }

  /** Lets the run pause as soon as it waits for a time, also if it is still being opened. */
  letPause(runId: string): void {
    const leave = (): void => {
      const active = this.#active.get(runId);
      if (active === undefined) return;
      active.isLeaving = true;
      pauseSoon(active.runner);
    };
    leave();
    this.#opening.get(runId)?.then(leave, () => {});
  }

  /**
   * Resolves when the run has ended or paused. It starts in a later turn, so that whoever gets the handle now can listen from the
   * beginning.
   */
  async #follow(active: ActiveRun): Promise<void> {
    await new Promise<void>((resolve) => this.#env.clock.defer(resolve));
    do {
      const { runner } = active;
      runner.start().catch((error: unknown) => runner.core.loop.fail(error));
      active.goesOn = runner.ended.then(() => this.#takeUpAgain(active));
    } while (await active.goesOn);
    const { runId, root, run } = active.runner.core;
    // What it owes is on record; whoever gets its result may rely on its delivery.
    await this.#env.deliveries?.settled(runId);
    const isQueued = active.runner.queued !== undefined;
    if (!isQueued) this.#env.monitor?.rested(run, root.status, active.runner.failure);
    // The result of a slice says when the next one is due.
    if (!active.isSlice && !isQueued) this.#onRested(runId, root);
    active.feed.close();
  }

  /**
   * Takes a run up again if a message came while its claim was being released. Whoever posted it saw a claim, and expects its holder to
   * take the message (W4).
   */
  async #takeUpAgain(active: ActiveRun): Promise<boolean> {
    const { run: before, root } = active.runner.core;
    if (root.status === 'cancelling' || (followUpOf(root) !== undefined && root.status === 'running'))
      return this.#goOnFollowing(active);
    if (root.status !== 'paused' || this.#isClosed) return false;
    const { graph, feed } = active;
    try {
      const found = await this.#env.store.readRun(before);
      if (found?.status !== 'paused' || !found.hasMessages) return false;
      const claimedAt = momentOf(this.#env.clock);
      const { claim, run } = await claimForResume(this.#env, found);
      const options: AdvanceWay = { retryFailed: false, ...(active.isSlice && { isSlice: true }) };
      // The run may have ended between reading its row and claiming it.
      if (hasEnded(run, options)) {
        await this.#env.store.releaseClaim(claim).catch(() => {});
        return false;
      }
      await this.#replaceRunner(active, { run, claim, claimedAt, graph, feed, options });
      return true;
    } catch {
      // The run has paused and its messages are stored, so whoever resumes it takes them.
      return false;
    }
  }

  /** Goes on with a run that was cancelled or has failed here: with the node that follows that, under the same claim (E7.4, E7.5). */
  async #goOnFollowing(active: ActiveRun): Promise<boolean> {
    const { graph, feed, isSlice } = active;
    const { run: before, claim } = active.runner.core;
    const claimedAt = momentOf(this.#env.clock);
    try {
      await renewClaim(this.#env.store, claim);
      const run = await requireRun(this.#env, before.runId);
      const options: AdvanceWay = { retryFailed: false, isHandedOver: true, ...(isSlice && { isSlice: true }) };
      await this.#replaceRunner(active, { run, claim, claimedAt, graph, feed, options });
      return true;
    } catch {
      // That it is cancelled, or fails, is recorded, so whoever resumes it goes on.
      return false;
    }
  }

  async #replaceRunner(active: ActiveRun, request: Omit<RunnerRequest, 'env' | 'loaded'>): Promise<void> {
    active.runner = await this.#prepare(request, undefined);
    if (active.isLeaving) pauseSoon(active.runner);
  }

  /** The handle of a run being advanced here. */
  handle(runId: string, active: ActiveRun, created: boolean): RunHandle {
    const { feed, graph } = active;
    return {
      runId,
      created,
      result: async () => {
        await active.rested;
        const { committer, root, rootFrame, repeated, run } = active.runner.core;
        const result = await withFailures(this.#env, run, resultOf(runId, committer.seq, root, rootFrame, repeated));
        const { queued } = active.runner;
        return queued === undefined ? result : Object.assign(result, { isQueued: true as const, queued });
      },
      events: (options = {}) => streamEvents(this.#env, runId, feed, graph, options),
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopListening?.();
    const closing = [...this.#active.values()].map(async (active) => {
      await active.runner.close();
      await active.rested.catch(() => {});
    });
    // Runs being opened notice that the engine is closed, and release their claims.
    const opening = [...this.#opening.values()].map((handle) => handle.catch(() => {}));
    await Promise.all([...closing, ...opening]);
  }
}
