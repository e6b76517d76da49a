/** The engine: admits, resumes, answers, forks and previews runs over a store (see api.ts for the contract). */
import { CairnError } from '../errors.ts';
import type { Graph } from '../graph/graph.ts';
import type { FileAccess } from '../graph/contracts/context-access.ts';
import type { History } from '../history/history.ts';
import { loadState, type LoadedState } from '../history/load/load.ts';
import type { CheckpointName } from '../history/read/references.ts';
import type { Claim, GrantedClaim, RunRow } from '../ports/store.ts';
import { intakeOf } from '../state/secrecy/store-rules.ts';
import { admitRun } from './runs/admit-run.ts';
import { accessFiles } from './calls/file-access.ts';
import { listOpenWaits, postAnswers } from './runs/answer.ts';
import type {
  CheckpointRef,
  Engine,
  EngineOptions,
  EnginePorts,
  OpenQuestion,
  ForkOptions,
  NamedCheckpoint,
  PreviewOptions,
  PreviewRow,
  ResumeOptions,
  RunHandle,
  RunResult,
  StartOptions,
  StreamEvent,
  TakenRun,
  TakeUpOptions,
} from './api.ts';
import { cancelUnowned, postCancel } from './runs/cancel-run.ts';
import { findGraphOf } from './runs/find-graph.ts';
import { streamEvents } from './runs/event-stream.ts';
import { historyOf } from './runs/history-of.ts';
import { forkRun } from './runs/fork.ts';
import { limitsOf } from './limits.ts';
import { previewRun } from './runs/preview.ts';
import { claimForResume, hasEnded, prepareRunner, type RunnerRequest } from './runs/resume-run.ts';
import type { EngineEnvironment } from './run/run-core.ts';
import { momentOf, type Moment } from './run/standing.ts';
import { RunFeed } from './run/run-feed.ts';
import { postSignal } from './runs/signal.ts';
import { requireRun } from './runs/require-run.ts';
import { restingFrame, resultOf } from './runs/run-result.ts';
import { parentTrace } from './runs/trace-origin.ts';
import { traceRun } from './runs/trace-run.ts';
import { Wakes } from './runs/wakes.ts';
import type { Runner } from './drive/runner.ts';

interface ActiveRun {
  runner: Runner;
  readonly feed: RunFeed;
  readonly graph: Graph;
  /** Whether the run goes on here after its runner has ended: with another, by then. */
  goesOn: Promise<boolean>;
  /** Resolves when it has come to rest. */
  rested: Promise<void>;
}

/** Makes an engine. Nothing happens until it is called; it keeps no state but the runs it advances now. */
export function createEngine(options: EngineOptions): Engine {
  return new CairnEngine(options);
}

class CairnEngine implements Engine {
  readonly #env: EngineEnvironment;
  readonly #options: EngineOptions;
  readonly #active = new Map<string, ActiveRun>();
  /** Runs that are being claimed and loaded: whoever asks for one meanwhile gets the same. */
  readonly #opening = new Map<string, Promise<RunHandle>>();
  /** Looks for runs whose reply is under way: which of them this engine has claimed is not known until it comes. */
  readonly #looks = new Set<Promise<unknown>>();
  /** Graphs that were told, by id. */
  readonly #known = new Map<string, Graph>();
  /** Undefined: paused runs are left to others. */
  readonly #wakes: Wakes | undefined;
  #isClosed = false;

  constructor(options: EngineOptions) {
    this.#options = {
      ...options,
      findGraph: async (id, ...more) => (await options.findGraph?.(id, ...more)) ?? this.#known.get(id),
    };
    this.#env = {
      store: options.store,
      blobs: options.blobs,
      clock: options.clock,
      ids: options.ids,
      secrets: options.secrets,
      intake: intakeOf(options.redact?.store),
      models: options.models,
      telemetry: options.telemetry,
      version: options.version,
      limits: limitsOf(options.limits),
      tenant: options.tenant ?? 'default',
      leaseMs: options.leaseMs ?? 30_000,
      effectsInFlight: new Map(),
    };
    if (options.wakes === true) this.#wakes = new Wakes(options.clock, (runId) => this.#goOn(runId));
  }

  get ports(): EnginePorts {
    return this.#env;
  }

  know(graph: Graph): void {
    this.#known.set(graph.id, graph);
  }

  get files(): FileAccess {
    return accessFiles(this.#env, { tenant: this.#env.tenant });
  }

  get history(): History {
    return historyOf(this.#env);
  }

  async start(graph: Graph, input: unknown, options: StartOptions = {}): Promise<RunHandle> {
    this.#checkOpen();
    const known = options.runId === undefined ? undefined : await this.#advancing(options.runId);
    const claimedAt = momentOf(this.#env.clock);
    const { created, run, claim, loaded } = await admitRun(this.#env, graph, input, options);
    if (known !== undefined) return this.#handle(run.runId, known, false);
    if (options.detach === true) return this.#restingHandle(run, graph, created);
    if (!created) return this.resume(run.runId, { graph });
    return this.#open(run.runId, () =>
      this.#advance(run, claim as Claim, claimedAt, graph, { graph }, created, loaded),
    );
  }

  async resume(runId: string, options: ResumeOptions = {}): Promise<RunHandle> {
    this.#checkOpen();
    const known = await this.#advancing(runId);
    known?.runner.setBudget(options.budget, options.by);
    if (known !== undefined) return this.#handle(runId, known, false);
    const opening = this.#opening.get(runId);
    if (opening !== undefined) {
      const opened = await opening;
      return options.budget === undefined ? { ...opened, created: false } : this.resume(runId, options);
    }
    return this.#open(runId, () => this.#takeUp(runId, options));
  }

  /** The run as it is advanced here now; one that is just coming to rest is waited for, since its runner takes nothing more. */
  async #advancing(runId: string): Promise<ActiveRun | undefined> {
    // Who claimed a run that such a look has just claimed would take it from its own engine.
    while (this.#looks.size > 0) await Promise.allSettled(this.#looks);
    for (;;) {
      const active = this.#active.get(runId);
      if (active === undefined || !active.runner.isOver) return active;
      await active.goesOn.catch(() => {});
    }
  }

  #open(runId: string, open: () => Promise<RunHandle>): Promise<RunHandle> {
    const opening = open().finally(() => this.#opening.delete(runId));
    this.#opening.set(runId, opening);
    return opening;
  }

  async takeUp(options: TakeUpOptions): Promise<readonly TakenRun[]> {
    this.#checkOpen();
    const { store, clock, ids, tenant, leaseMs } = this.#env;
    const claimedAt = momentOf(clock);
    const except = [...(options.except ?? []), ...this.#active.keys(), ...this.#opening.keys()];
    const asked = { tenant, workerId: ids.workerId, leaseMs, at: clock.now(), ...options, except };
    const look = store.claimNext(asked).then((grants) =>
      grants.map((granted) => {
        const { runId } = granted.run;
        return { runId, handle: this.#open(runId, () => this.#advanceGranted(granted, claimedAt)) };
      }),
    );
    this.#looks.add(look);
    return look.finally(() => this.#looks.delete(look));
  }

  async #advanceGranted({ claim, run }: GrantedClaim, claimedAt: Moment): Promise<RunHandle> {
    const options = { retryFailed: false };
    try {
      const graph = await findGraphOf(this.#options, run);
      return await this.#advance(run, claim, claimedAt, graph, options, false);
    } catch (error) {
      await this.#env.store.releaseClaim(claim).catch(() => {});
      throw error;
    }
  }

  async #takeUp(runId: string, options: ResumeOptions): Promise<RunHandle> {
    const run = await requireRun(this.#env, runId);
    const graph = options.graph ?? (await findGraphOf(this.#options, run));
    const resting = this.#takeRest(run, graph, options);
    if (resting !== undefined) return resting;
    const claimedAt = momentOf(this.#env.clock);
    const { claim, run: claimed } = await claimForResume(this.#env, run);
    // It may have ended between the look at it and the claim: then it is given back as it is.
    if (!hasEnded(claimed, options)) return this.#advance(claimed, claim, claimedAt, graph, options, false);
    await this.#env.store.releaseClaim(claim).catch(() => {});
    return this.#takeRest(claimed, graph, options) as RunHandle;
  }

  /** A run that has ended is returned as it is. @throws RUN_CANCELLED */
  #takeRest(run: RunRow, graph: Graph, options: ResumeOptions): RunHandle | undefined {
    if (!hasEnded(run, options)) return undefined;
    if (run.status === 'cancelled') throw new CairnError('RUN_CANCELLED', { runId: run.runId });
    return this.#restingHandle(run, graph, false);
  }

  async #advance(
    run: RunRow,
    claim: Claim,
    claimedAt: Moment,
    graph: Graph,
    options: ResumeOptions,
    created: boolean,
    loaded?: LoadedState,
  ): Promise<RunHandle> {
    const feed = new RunFeed(run);
    const runner = await this.#prepare({ run, claim, claimedAt, graph, feed, options }, loaded);
    const { telemetry } = this.#env;
    if (telemetry !== undefined)
      traceRun(telemetry, feed, run, graph, await parentTrace(this.#env, run, options.traceparent));
    const active: ActiveRun = { runner, feed, graph, goesOn: Promise.resolve(true), rested: Promise.resolve() };
    this.#active.set(run.runId, active);
    // Whoever advances a run is there until it ends or pauses: a delay before an attempt is no end of the process.
    const leave = this.#env.clock.stay?.();
    active.rested = this.#follow(active).finally(() => {
      leave?.();
      if (this.#active.get(run.runId) === active) this.#active.delete(run.runId);
    });
    active.rested.catch(() => {});
    return this.#handle(run.runId, active, created);
  }

  /** Makes the runner of a claimed run; if that cannot be, the claim is given back. */
  async #prepare(request: Omit<RunnerRequest, 'env'>, loaded: LoadedState | undefined): Promise<Runner> {
    try {
      const runner = await prepareRunner({
        env: this.#env,
        ...request,
        ...(loaded === undefined ? {} : { loaded }),
      });
      if (this.#isClosed) await runner.close();
      this.#checkOpen();
      return runner;
    } catch (error) {
      await this.#env.store.releaseClaim(request.claim).catch(() => {});
      throw error;
    }
  }

  /** Resolves when the run has come to rest. It begins in a later turn: who is handed it now, and listens, hears all of it. */
  async #follow(active: ActiveRun): Promise<void> {
    await new Promise<void>((resolve) => this.#env.clock.defer(resolve));
    do {
      const { runner } = active;
      runner.start().catch((error: unknown) => runner.core.loop.fail(error));
      active.goesOn = runner.ended.then(() => this.#takeUpAgain(active));
    } while (await active.goesOn);
    const { runId, root } = active.runner.core;
    this.#wakes?.rested(runId, root);
    active.feed.close();
  }

  /** A message that came while a run was being given back found nobody to take it: whoever posted it saw the claim (W4). */
  async #takeUpAgain(active: ActiveRun): Promise<boolean> {
    const { run: before, root } = active.runner.core;
    if (root.status !== 'paused' || this.#isClosed) return false;
    const { graph, feed } = active;
    try {
      const found = await this.#env.store.readRun(before);
      if (found?.status !== 'paused' || !found.hasMessages) return false;
      const claimedAt = momentOf(this.#env.clock);
      const { claim, run } = await claimForResume(this.#env, found);
      const options = { retryFailed: false };
      // Somebody may have ended it between the look at it and the claim.
      if (hasEnded(run, options)) {
        await this.#env.store.releaseClaim(claim).catch(() => {});
        return false;
      }
      active.runner = await this.#prepare({ run, claim, claimedAt, graph, feed, options }, undefined);
      return true;
    } catch {
      // It is at rest, and its messages are there: whoever resumes it takes them.
      return false;
    }
  }

  /** A paused run goes on here, if nobody advances it elsewhere and its graph is known. */
  async #goOn(runId: string): Promise<void> {
    const run = await requireRun(this.#env, runId);
    if (run.status === 'paused') await this.resume(runId, { retryFailed: false });
  }

  #handle(runId: string, active: ActiveRun, created: boolean): RunHandle {
    const { feed, graph } = active;
    return {
      runId,
      created,
      result: async () => {
        await active.rested;
        const { committer, root, rootFrame } = active.runner.core;
        return resultOf(runId, committer.seq, root, rootFrame);
      },
      events: (options = {}) => streamEvents(this.#env, runId, feed, graph, options),
    };
  }

  #restingHandle(run: RunRow, graph: Graph, created: boolean): RunHandle {
    return {
      runId: run.runId,
      created,
      result: async () => this.#inspectRow(run, graph),
      events: (options = {}) => streamEvents(this.#env, run.runId, undefined, graph, options),
    };
  }

  async inspect(runId: string, seq?: number): Promise<RunResult> {
    const run = await requireRun(this.#env, runId);
    return this.#inspectRow(run, await findGraphOf(this.#options, run), seq);
  }

  async #inspectRow(run: RunRow, graph: Graph, seq: number = run.head): Promise<RunResult> {
    const loaded = await loadState(this.#env.store, this.#env.blobs, run, seq);
    return resultOf(run.runId, loaded.seq, loaded.root, restingFrame(loaded.root, graph));
  }

  async waits(runId: string): Promise<readonly OpenQuestion[]> {
    await requireRun(this.#env, runId);
    return listOpenWaits(this.#env, runId);
  }

  async answer(...[runId, waitId, value, options]: Parameters<Engine['answer']>): Promise<unknown> {
    return (await this.answerAll(runId, [[waitId, value]], options))[0];
  }

  async answerAll(...[runId, answers, options]: Parameters<Engine['answerAll']>): Promise<readonly unknown[]> {
    const recorded = await postAnswers(this.#env, runId, answers, options?.by ?? 'person');
    this.#posted(runId, options?.stays);
    return recorded;
  }

  async signal(runId: string, name: string, value: unknown, options: { readonly id?: string } = {}): Promise<void> {
    await postSignal(this.#env, runId, name, value, options.id);
    this.#posted(runId);
  }

  /** A message is there: who advances the run here reads it now; a paused one may go on. */
  #posted(runId: string, stays = false): void {
    this.#active.get(runId)?.runner.poke();
    if (!stays) this.#wakes?.posted(runId);
  }

  async cancel(runId: string): Promise<void> {
    const run = await postCancel(this.#env, runId);
    const active = await this.#advancing(runId);
    if (active !== undefined) return active.runner.poke();
    await cancelUnowned(this.#env, run);
  }

  async fork(from: CheckpointRef, options: ForkOptions = {}): Promise<CheckpointRef> {
    const run = await requireRun(this.#env, from.runId);
    // A fork needs no graph: where it cannot be found, its resume says so.
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
    const active = this.#active.get(runId);
    const graph = active?.graph ?? (await findGraphOf(this.#options, run));
    yield* streamEvents(this.#env, runId, active?.feed, graph, options);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#wakes?.close();
    const closing = [...this.#active.values()].map(async (active) => {
      await active.runner.close();
      await active.rested.catch(() => {});
    });
    // Those that are being opened find it closed, and give their claims back.
    const opening = [...this.#opening.values()].map((handle) => handle.catch(() => {}));
    await Promise.all([...closing, ...opening]);
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new CairnError('STORE_CLOSED', { store: 'engine' });
  }
}
