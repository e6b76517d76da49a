/** The runs that an engine advances now, and those that it is opening: whoever asks for one meanwhile gets the same (E2.5). */
import { CairnError } from '../../errors.ts';
import type { Graph } from '../../graph/graph.ts';
import type { LoadedState } from '../../history/load/load.ts';
import type { Claim, RunRow } from '../../ports/store.ts';
import type { RunTree } from '../../state/tree.ts';
import type { ResumeOptions, RunHandle } from '../api.ts';
import type { Runner } from '../drive/runner.ts';
import type { EngineEnvironment } from '../run/run-core.ts';
import { RunFeed } from '../run/run-feed.ts';
import { momentOf, type Moment } from '../run/standing.ts';
import { streamEvents } from './event-stream.ts';
import { claimForResume, hasEnded, prepareRunner, type RunnerRequest } from './resume-run.ts';
import { resultOf } from './run-result.ts';
import { parentTrace } from './trace-origin.ts';
import { traceRun } from './trace-run.ts';

/** A run that is advanced here. */
export interface ActiveRun {
  runner: Runner;
  readonly feed: RunFeed;
  readonly graph: Graph;
  /** Whether the run goes on here after its runner has ended: with another, by then. */
  goesOn: Promise<boolean>;
  /** Resolves when it has come to rest. */
  rested: Promise<void>;
}

export class ActiveRuns {
  readonly #env: EngineEnvironment;
  readonly #onRested: (runId: string, root: RunTree) => void;
  readonly #active = new Map<string, ActiveRun>();
  readonly #opening = new Map<string, Promise<RunHandle>>();
  /** Looks for runs whose reply is under way: which of them this engine has claimed is not known until it comes. */
  readonly #looks = new Set<Promise<unknown>>();
  #isClosed = false;

  /** @param onRested - told of each run that has come to rest here, and how it stands */
  constructor(env: EngineEnvironment, onRested: (runId: string, root: RunTree) => void) {
    this.#env = env;
    this.#onRested = onRested;
  }

  /** @throws STORE_CLOSED */
  checkOpen(): void {
    if (this.#isClosed) throw new CairnError('STORE_CLOSED', { store: 'engine' });
  }

  /** Ids of the runs that are advanced or being opened. */
  get ids(): readonly string[] {
    return [...this.#active.keys(), ...this.#opening.keys()];
  }

  find(runId: string): ActiveRun | undefined {
    return this.#active.get(runId);
  }

  /** The run as it is being opened now. */
  opening(runId: string): Promise<RunHandle> | undefined {
    return this.#opening.get(runId);
  }

  /** Waits for a look that claims runs before it says whether one is advanced here. */
  whileLooking<Found>(look: Promise<Found>): Promise<Found> {
    this.#looks.add(look);
    return look.finally(() => this.#looks.delete(look));
  }

  /** The run as it is advanced here now; one that is just coming to rest is waited for, since its runner takes nothing more. */
  async advancing(runId: string): Promise<ActiveRun | undefined> {
    // Who claimed a run that such a look has just claimed would take it from its own engine.
    while (this.#looks.size > 0) await Promise.allSettled(this.#looks);
    for (;;) {
      const active = this.#active.get(runId);
      if (active === undefined || !active.runner.isOver) return active;
      await active.goesOn.catch(() => {});
    }
  }

  /** Lets a run be opened, and whoever asks for it meanwhile wait for the same. */
  open(runId: string, open: () => Promise<RunHandle>): Promise<RunHandle> {
    const opening = open().finally(() => this.#opening.delete(runId));
    this.#opening.set(runId, opening);
    return opening;
  }

  /** Moves a claimed run forward until it comes to rest. @param loaded - its state, where the caller has it */
  async advance(
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
    return this.handle(run.runId, active, created);
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
      this.checkOpen();
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
    this.#onRested(runId, root);
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

  /** The handle of a run that is advanced here. */
  handle(runId: string, active: ActiveRun, created: boolean): RunHandle {
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

  async close(): Promise<void> {
    this.#isClosed = true;
    const closing = [...this.#active.values()].map(async (active) => {
      await active.runner.close();
      await active.rested.catch(() => {});
    });
    // Those that are being opened find it closed, and give their claims back.
    const opening = [...this.#opening.values()].map((handle) => handle.catch(() => {}));
    await Promise.all([...closing, ...opening]);
  }
}
