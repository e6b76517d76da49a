/** Moves one claimed run forward until it ends, pauses, or can go no further here (E1). */
import { CairnError } from '../../errors.ts';
import type { Graph } from '../../graph/graph.ts';
import type { LoadedState } from '../../history/load.ts';
import type { Claim, Durability, RunRow } from '../../ports/store.ts';
import { DeltaBuilder } from '../../state/delta.ts';
import type { RunStatus } from '../../state/tree.ts';
import { type Activation, rootFrameRun } from '../run/frame-run.ts';
import { launch } from './attempt.ts';
import { cancelActivation } from '../settle/cancel.ts';
import { ClaimKeeper } from './claim-keeper.ts';
import { Committer, type Landed } from '../run/committer.ts';
import { launchOrGate, retryNow } from '../effects/gate.ts';
import { judgeActivation } from '../effects/judge.ts';
import { MessageIntake } from './message-intake.ts';
import { takeHolds } from '../settle/open-effects.ts';
import { armDueTime, fireDueWait } from '../waits/open-wait.ts';
import { prepareStart } from './prepare.ts';
import { endingOf } from '../run/run-ending.ts';
import { RunCore, type EngineEnvironment } from '../run/run-core.ts';
import { liveEventOf, runningNow } from '../run/live-events.ts';
import type { RunFeed } from '../run/run-feed.ts';
import { settleCancelled } from '../settle/settle.ts';
import { SnapshotWriter } from './snapshot-writer.ts';
import { holdTimer } from '../run/timers.ts';
import { pendingOf } from '../record/pending.ts';

/** Launches between two rests of the loop: a chain that never waits must not starve everything else. */
const launchesPerTurn = 512;
/** Parts of steps that gather in one checkpoint at most. */
const partsPerCheckpoint = 128;

/** A claimed and loaded run. */
export interface RunnerOptions {
  readonly env: EngineEnvironment;
  readonly run: RunRow;
  readonly claim: Claim;
  /** Monotonic ms of the moment the claim was asked for. */
  readonly claimedAtMs: number;
  readonly graph: Graph;
  readonly loaded: LoadedState;
  readonly feed: RunFeed;
}

/** The loop of one run (E1.2): turns, launches, checkpoints, and the end. */
export class Runner {
  readonly core: RunCore;
  /** Resolves when the run has ended or is paused, and given back; rejects when it cannot be advanced here. */
  readonly ended: Promise<void>;
  readonly #feed: RunFeed;
  readonly #snapshots: SnapshotWriter;
  readonly #keeper: ClaimKeeper;
  readonly #intake: MessageIntake;
  readonly #resolve: () => void;
  readonly #reject: (error: unknown) => void;
  #isDriving = false;
  #needsTurn = false;
  #isTurnScheduled = false;
  #isFlushScheduled = false;
  #isResting = false;
  #wantsPower = false;
  #durable: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;
  #isOver = false;
  /** Until then messages may be taken in, but nothing is planned: the plan has not said what is open. */
  #isStarted = false;

  constructor(options: RunnerOptions) {
    const { env, run, claim, loaded, graph } = options;
    const delta = new DeltaBuilder();
    const core = new RunCore({ env, run, claim, root: loaded.root, delta });
    this.core = core;
    this.#feed = options.feed;
    this.#snapshots = new SnapshotWriter(core, loaded.cost);
    const ended = Promise.withResolvers<void>();
    this.ended = ended.promise;
    this.#resolve = ended.resolve;
    this.#reject = ended.reject;
    this.ended.catch(() => {});
    core.resumedSeq = loaded.seq;
    core.hasBlobs = loaded.seq > 0;
    core.leaseUntilMs = options.claimedAtMs + claim.leaseMs;
    core.readMessages = () => this.#intake.read();
    core.requestTurn = () => this.#requestTurn();
    core.seal = () => {
      core.mustCommit = true;
      this.#checkpoint();
    };
    core.requestFlush = () => this.#requestFlush();
    core.durable = () => this.#whenDurable();
    core.drained = () => new Promise((resolve) => core.committer.onDrained(resolve));
    core.fail = (error) => this.#fail(error);
    core.isWatched = () => this.#feed.isWatched;
    core.publishLive = (type, activation, detail) => {
      if (this.#feed.isWatched) this.#feed.publishLive(liveEventOf(core, type, activation, detail));
    };
    this.#feed.running = () => runningNow(core);
    core.committer = new Committer({
      store: env.store,
      claim,
      runKey: run.key,
      seq: loaded.seq,
      checksum: loaded.checksum,
      delta,
      clock: env.clock,
      limits: env.limits,
      countPending: () => pendingOf(core.root),
      onLanded: (landed, sizeBytes) => this.#onLanded(landed, sizeBytes),
      onBroken: (error) => this.#breakOff(error),
    });
    core.rootFrame = rootFrameRun(graph, core.root.frame, delta);
    this.#keeper = new ClaimKeeper(core, () => this.#intake.read());
    this.#intake = new MessageIntake(core, () => this.cancel());
  }

  /** Begins: takes messages that wait, fires what is due, starts what the plan says. */
  async start(): Promise<void> {
    const { core } = this;
    this.#keeper.start();
    this.#intake.start();
    if (core.run.hasMessages) await this.#intake.read();
    if (this.#isOver) return;
    const now = core.env.clock.now();
    for (const [waitId, wait] of Object.entries(core.root.waits)) {
      if (wait.dueAt !== undefined && wait.dueAt <= now) fireDueWait(core, waitId);
      else armDueTime(core, waitId);
    }
    const step = core.rootFrame.plan.initial();
    for (const start of step.start) core.queue.push({ frameRun: core.rootFrame, start });
    for (const index of step.cancel) cancelActivation(core, core.rootFrame, index);
    if (core.root.failures !== undefined && Object.keys(core.root.failures).length > 0) core.isFailing = true;
    this.#isStarted = true;
    this.#requestTurn();
  }

  /** Whether it moves no further: the run has ended or is paused, or could not be advanced. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Looks for messages now: somebody in this process posted one. */
  poke(): void {
    this.#intake.read().catch((error: unknown) => this.#fail(error));
  }

  /** E7: cooperative first, forced after a grace period. */
  cancel(): void {
    const { core } = this;
    if (core.isCancelling || this.#isOver) return;
    core.isCancelling = true;
    this.#abortAll(new CairnError('RUN_CANCELLED', { runId: core.runId }));
    core.env.clock.setTimer(core.env.limits.cancelGraceMs, () => {
      core.busyCount = 0;
      this.#requestTurn();
    });
    this.#requestTurn();
  }

  /** Stops here: what runs is aborted, intents not started are withdrawn, the claim is given back. */
  async close(): Promise<void> {
    const { core } = this;
    if (this.#isOver) return this.ended.catch(() => {});
    core.isClosing = true;
    this.#abortAll(new CairnError('CLAIM_LOST', { runId: core.runId }));
    for (;;) {
      this.#drive();
      await core.committer.settled();
      if (this.#isOver) return this.ended.catch(() => {});
      if (core.gatedCount + core.launches.length === 0 && !core.mustCommit) break;
      // Some of it goes on only in a later turn of the event loop: a loop that rests, a step that waits for its intent.
      await new Promise<void>((resolve) => core.env.clock.defer(resolve));
    }
    this.#isOver = true;
    this.#stopTimers();
    await core.env.store.releaseClaim(core.claim).catch(() => {});
    this.#feed.close();
    this.#reject(new CairnError('STORE_CLOSED', { store: 'engine' }));
  }

  #abortAll(reason: unknown): void {
    const { core } = this;
    for (const frameRun of core.frames())
      for (const activation of frameRun.activations.values()) activation.abort(reason);
    for (const cancel of core.heldTimers) cancel();
  }

  #requestTurn(): void {
    this.#needsTurn = true;
    if (this.#isDriving || this.#isTurnScheduled || this.#isOver) return;
    this.#isTurnScheduled = true;
    queueMicrotask(() => {
      this.#isTurnScheduled = false;
      this.#drive();
    });
  }

  #requestFlush(): void {
    if (this.core.committer.partCount >= partsPerCheckpoint) {
      this.core.mustCommit = true;
      return this.#requestTurn();
    }
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    this.core.env.clock.defer(() => {
      this.#isFlushScheduled = false;
      this.core.mustCommit = true;
      this.#requestTurn();
    });
  }

  /** Resolves when everything noted so far is durable against a power cut, if the store offers that. */
  #whenDurable(): Promise<void> {
    this.#durable ??= Promise.withResolvers<void>();
    this.#wantsPower = true;
    this.#requestFlush();
    return this.#durable.promise;
  }

  #drive(): void {
    if (this.#isDriving || this.#isOver || this.#isResting || !this.#isStarted) return;
    this.#isDriving = true;
    try {
      this.#loop();
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#isDriving = false;
    }
  }

  #loop(): void {
    const { core } = this;
    for (let count = 0; !this.#isOver; count += 1) {
      if (this.#needsTurn) {
        this.#needsTurn = false;
        this.#turn();
      }
      if (core.launches.length === 0) {
        if (this.#needsTurn) continue;
        return;
      }
      if (core.committer.isFull || count >= launchesPerTurn) return this.#rest();
      launch(core, core.launches.shift() as Activation);
    }
  }

  /** Lets commits land and other runs move before going on. */
  #rest(): void {
    this.#isResting = true;
    const goOn = (): void => {
      this.#isResting = false;
      this.#requestTurn();
    };
    if (this.core.committer.isFull) this.core.committer.onDrained(goOn);
    else this.core.env.clock.defer(goOn);
  }

  #turn(): void {
    const { core } = this;
    if (core.holds.size > 0) takeHolds(core);
    if (core.cancelled.length > 0) for (const activation of core.cancelled.splice(0)) this.#takeCancelled(activation);
    if (core.wakeUps.length > 0) for (const activation of core.wakeUps.splice(0)) this.#wakeUp(activation);
    core.replay?.pump();
    const { concurrency } = core.rootFrame.graph.policies;
    while (core.queue.length > 0 && (core.busyCount < concurrency || core.isStopping)) {
      const queued = core.queue.shift();
      if (queued !== undefined && !core.isStopping && !queued.frameRun.hasFailed) prepareStart(core, queued);
    }
    const status = endingOf(core);
    if (status !== undefined) return this.#end(status);
    this.#checkpoint();
  }

  #takeCancelled(activation: Activation): void {
    if (activation.isOver) return;
    if (activation.phase !== 'running') return settleCancelled(this.core, activation);
    // It may still end by itself; after the grace period it is settled without it.
    const { generation } = activation;
    holdTimer(this.core, this.core.env.limits.cancelGraceMs, () => {
      if (activation.generation !== generation || activation.phase !== 'running') return;
      settleCancelled(this.core, activation);
      this.#requestTurn();
    });
  }

  #wakeUp(activation: Activation): void {
    const { core } = this;
    if (activation.phase === 'retrying') return retryNow(core, activation);
    if (activation.phase !== 'left' || core.isStopping) return;
    core.setBusy(activation, true);
    activation.phase = 'prepared';
    activation.isResumed = true;
    const record = activation.frameRun.openRecordOf(activation.node);
    if (record?.intent !== undefined) judgeActivation(core, activation, record);
    else launchOrGate(core, activation);
  }

  #end(status: RunStatus): void {
    const { core } = this;
    if (core.root.status !== status) {
      core.setRootField('status', status, `"${status}"`);
      core.committer.setStatus(status);
      core.committer.note(status === 'paused' ? '{"kind":"pause"}' : `{"kind":"end","status":"${status}"}`);
    }
    if (status === 'failed' || status === 'cancelled')
      for (const waitId of Object.keys(core.root.waits)) core.committer.closeWait(waitId);
    this.#isOver = true;
    this.#stopTimers();
    if (core.committer.isPending) core.committer.commit('power');
    core.committer
      .settled()
      .then(() => this.#giveBack(status))
      .then(this.#resolve, this.#reject);
  }

  async #giveBack(status: RunStatus): Promise<void> {
    const { core } = this;
    if (core.committer.broken !== undefined) throw core.committer.broken;
    this.#durable?.resolve();
    if (status === 'paused') await this.#snapshots.atPause();
    // Its last commit is durable: a claim that cannot be given back runs out.
    await core.env.store.releaseClaim(core.claim).catch(() => {});
  }

  #checkpoint(): void {
    const { core } = this;
    const { committer } = core;
    if (!core.mustCommit && core.gates.length === 0) return;
    const starters = core.gates.splice(0);
    if (core.holdsEffect) starters.push(...core.launches.splice(0));
    const isPower = starters.length > 0 || core.holdsEffect || this.#wantsPower;
    const isLazy = core.rootFrame.graph.policies.durability === 'exit';
    const durability: Durability = isPower ? 'power' : isLazy ? 'none' : 'process';
    core.mustCommit = false;
    core.holdsEffect = false;
    this.#wantsPower = false;
    // A delta without a reason joins the next checkpoint that has one.
    const isPending = committer.isPending && (committer.partCount > 0 || this.#durable !== undefined);
    if (isPending && core.root.status !== 'running') {
      core.setRootField('status', 'running', '"running"');
      committer.setStatus('running');
    }
    if (isPending) {
      committer.commit(durability);
      this.#snapshots.afterCommit();
    }
    const waiting = this.#durable;
    this.#durable = undefined;
    if (starters.length === 0 && waiting === undefined) return;
    core.gatedCount += starters.length;
    void committer.settled().then(() => {
      // What was announced and did not become durable must not begin.
      if (committer.broken !== undefined) return;
      core.gatedCount -= starters.length;
      core.launches.push(...starters);
      waiting?.resolve();
      this.#requestTurn();
    });
  }

  #onLanded(landed: Landed, sizeBytes: number): void {
    this.#snapshots.onLanded(sizeBytes);
    this.#feed.publish(landed);
  }

  /** The last commits of a run may break when nothing is left to do but to wait for them: then it has not ended. */
  #breakOff(error: unknown): void {
    this.#isOver = false;
    this.#fail(error);
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { core } = this;
    core.isClosing = true;
    this.#stopTimers();
    this.#abortAll(error);
    for (const activation of core.rootFrame.activations.values()) core.forget(activation);
    this.#feed.close(error);
    core.env.store.releaseClaim(core.claim).then(
      () => this.#reject(error),
      () => this.#reject(error),
    );
  }

  #stopTimers(): void {
    this.#keeper.stop();
    this.#intake.stop();
    for (const cancel of this.core.heldTimers) cancel();
  }
}
