/** Advances one claimed run until it ends, pauses, or cannot go on in this process (E1). */
import { CairnError, type ErrorCode, readableThrown } from '../../errors.ts';
import type { Amounts } from '../../graph/amounts.ts';
import type { SpanParts, TraceSpan } from '../../graph/contracts/contracts.ts';
import type { Graph } from '../../graph/graph.ts';
import type { LoadedState } from '../../history/load/load.ts';
import type { Claim, RunRow } from '../../ports/store.ts';
import type { RunStatus } from '../../state/tree.ts';
import type { LiveEvent } from '../api.ts';
import { begin, beginLater, beginRetry } from '../effects/begin.ts';
import { judgeNode } from '../effects/judge.ts';
import { asError, errorSummary } from '../validate/admit-outcome.ts';
import { checkBudget } from '../validate/check-budget.ts';
import { bookAll, setRunBudget } from '../visit-records/account.ts';
import { exceptionOf } from '../visit-records/failure-note.ts';
import type { Activation, AttemptLabel, Loop, OwnerHold } from '../live-run/loop.ts';
import { type Draft, claimLost } from '../live-run/draft.ts';
import { isEffect, liveEventOf, runningNow, RunCore, type EngineEnvironment } from '../live-run/run-core.ts';
import { type CancelRequest, endingOf, isFailing, noteCancelled, noteCancelling } from '../live-run/run-ending.ts';
import type { RunFeed } from '../live-run/committer.ts';
import { holdTimer } from '../live-run/timers.ts';
import { startInitial } from '../settle/start-planned.ts';
import { takeHolds } from '../settle/cancel.ts';
import { settleCancelled } from '../settle/settle.ts';
import { againBy, endedDoubts } from '../waits/wait.ts';
import { answerHere, armDueTime, fireDueWait } from '../waits/open-wait.ts';
import { attemptFailed, launch } from './attempt.ts';
import { LiveWriter } from './live-writer.ts';
import { Checkpoints } from './checkpoints.ts';
import type { ClaimKeeper } from '../live-run/claim-keeper.ts';
import { MessageIntake } from './message-intake.ts';
import { prepareStart } from './prepare.ts';

// The error that stopped a run, as those who follow it get it.

/** What has to be done first, by the code of what a store refused. */
const remedies: Readonly<Partial<Record<ErrorCode, string>>> = {
  STORE_FULL: 'Free some disk space',
  STORE_UNAVAILABLE: 'See that it can be reached',
  STORE_BUSY: 'Wait until the other process is done',
  STORE_READ_ONLY: 'Mend the file permissions',
  STORE_DENIED: 'Give the role its rights',
};

/**
 * Elsewhere these errors say to do the same again. To start a run again that was recorded would begin another one, so that here they name
 * the run to resume.
 */
function stoppedBy(error: unknown, runId: string): unknown {
  if (!CairnError.is(error)) return error;
  const remedy = remedies[error.code];
  if (remedy === undefined) return error;
  const hint = `${remedy}, then resume run ${runId}: what was committed is kept.`;
  return new CairnError(error.code, { ...error.data, hint }, { cause: error });
}

/** A run that is claimed and loaded. */
interface RunnerOptions {
  readonly env: EngineEnvironment;
  readonly run: RunRow;
  readonly claim: Claim;
  /** Has renewed the claim since the run was claimed. */
  readonly keeper: ClaimKeeper;
  readonly graph: Graph;
  readonly loaded: LoadedState;
  readonly draft: Draft;
  readonly feed: RunFeed;
  /** Values of the secrets that the run used before, by name. */
  readonly secrets: ReadonlyMap<string, string>;
}

/** Whether a function is running that may be called again without a question where the run goes on, though nobody declared that it may. */
function leavesWork(core: RunCore): boolean {
  for (const { activations } of core.frames())
    for (const { phase, node, stepsInFlight } of activations.values())
      if (phase === 'running' && !isEffect(node) && (node.isDeclared === false || stepsInFlight > 0)) return true;
  return false;
}

/** The loop of one run (E1.2): turns, launches, checkpoints, and the end. */
export class Runner implements Loop {
  readonly core: RunCore;
  /**
   * Resolves when the run has ended or paused and its claim was released, or when it was cancelled and goes on under the same claim with
   * what follows a cancel; rejects when it cannot be advanced here.
   */
  readonly ended: Promise<void>;
  readonly #feed: RunFeed;
  /** Undefined if the store has no live feed. */
  readonly #live: LiveWriter | undefined;
  readonly #checkpoints: Checkpoints;
  readonly #keeper: ClaimKeeper;
  readonly #intake: MessageIntake;
  readonly #end: PromiseWithResolvers<void> = Promise.withResolvers<void>();
  #isDriving = false;
  #needsTurn = false;
  #isTurnScheduled = false;
  #isResting = false;
  #isOver = false;
  #ownerHold: OwnerHold | undefined;
  #cancelled: CancelRequest = {};
  /** Until this is set, messages may be taken but nothing is planned, because the plan has not listed the open activations yet. */
  #isStarted = false;

  constructor(options: RunnerOptions) {
    const { feed, loaded } = options;
    const core = new RunCore({
      ...options,
      claimedAt: options.keeper.leasedAt,
      loop: this,
      onLanded: (landed, sizeBytes) => {
        this.#checkpoints.onLanded(sizeBytes);
        feed.publish(landed);
        this.#live?.landed(landed.seq);
      },
      onBroken: (error) => this.#breakOff(error),
    });
    this.core = core;
    this.ended = this.#end.promise;
    this.ended.catch(() => {});
    this.#feed = feed;
    // A named function, as everywhere in the engine: see test/memory/finished-runs.test.ts.
    const running = (): readonly LiveEvent[] => runningNow(core);
    feed.running = running;
    const { store, clock, liveRules: rules } = core.env;
    if (store.live !== undefined)
      this.#live = new LiveWriter({ feed: store.live, claim: core.claim, clock, rules }, loaded.seq === 0);
    this.#checkpoints = new Checkpoints(core, loaded.cost);
    this.#keeper = options.keeper;
    this.#intake = new MessageIntake(core, (request) => this.cancel(request));
  }

  /** Starts the loop: takes waiting messages, fires due timers, starts what the plan lists. */
  async start(): Promise<void> {
    const { core } = this;
    if (this.#isOver) return;
    core.standing.elsewhere = this.#keeper;
    this.#keeper.attach({
      onRenewed: (requestedAt) => core.standing.renewLease(requestedAt),
      onMessages: () => this.#intake.read(),
      onLost: (error) => this.fail(error),
    });
    if (this.#isOver) return;
    this.#intake.start();
    if (core.run.hasMessages) await this.#intake.read();
    if (this.#isOver) return;
    const now = core.env.clock.now();
    for (const [waitId, wait] of Object.entries(core.root.waits)) {
      if (wait.dueAt !== undefined && wait.dueAt <= now) fireDueWait(core, waitId);
      else armDueTime(core, waitId);
    }
    startInitial(core, core.rootFrame, core.isTakenOver);
    if (core.root.left === true) core.draft.delete(['left']);
    if (isFailing(core.root)) core.standing.stop('failing');
    this.#isStarted = true;
    this.requestTurn();
  }

  /** Whether the run is not advanced any more: it has ended or paused, or could not be advanced. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Checks for messages now, because somebody in this process posted one. */
  poke(): void {
    if (this.#isOver) return;
    void this.#intake.tryRead();
  }

  /** Sets a new budget on behalf of somebody who resumes the run. @throws USAGE_INVALID */
  setBudget(budget: Amounts | undefined, by: string | undefined): void {
    if (budget === undefined) return;
    setRunBudget(this.core.draft, checkBudget(budget), by);
    this.core.ledger.change();
    this.requestTurn();
  }

  /** Answers `run again` to the questions about effects that ended by themselves, on behalf of somebody who resumes the run. */
  retryEnded(by: string | undefined): void {
    for (const waitId of endedDoubts(this.core.root)) answerHere(this.core, waitId, againBy(by));
  }

  /**
   * Cancels the run: signals of running work are aborted first, and it is ended by force after a grace period (E7). The work that follows
   * a cancel goes on, unless it is abandoned.
   */
  cancel(request: CancelRequest = {}): void {
    const { core } = this;
    if (this.#isOver) return;
    const isForced = request.force === true;
    if (core.standing.isCancelling) {
      if (isForced) this.#cancelled = { ...this.#cancelled, force: true };
      return;
    }
    if (core.root.cancel !== undefined && !isForced) return;
    this.#cancelled = request;
    core.standing.stop('cancelling');
    this.#abortAll(new CairnError('RUN_CANCELLED', { runId: core.runId }));
    core.env.clock.setTimer(core.env.limits.cancelGraceMs, () => {
      core.agenda.busyCount = 0;
      this.requestTurn();
    });
    this.requestTurn();
  }

  /** Starts nothing more. When what runs has ended and is recorded, the run is given back as it is (HO1). */
  yieldRun(): void {
    if (this.#isOver) return;
    this.core.standing.stop('yielding');
    this.requestTurn();
  }

  /** The first to be over of the effects that other processes may still be running, if that is all the run waited for. */
  get ownerHold(): OwnerHold | undefined {
    return this.#ownerHold;
  }

  /** Whether the run is to be given back now: nothing works here any more, and it has neither ended nor paused. */
  #isYielded(): boolean {
    const { agenda, env, standing } = this.core;
    if (!standing.isYielding && (env.isSlice !== true || agenda.busyCount === 0 || agenda.queue.length > 0))
      return false;
    if (this.#ownerHold !== undefined || agenda.isDue || agenda.openingCount > 0) return false;
    if (standing.isYielding && agenda.busyCount === 0) return true;
    const busy = this.core
      .frames()
      .flatMap(({ activations }) => [...activations.values()])
      .filter(({ isBusy }) => isBusy);
    const holds = busy.flatMap(({ ownerHold, stepsInFlight }) => (stepsInFlight > 1 ? [] : (ownerHold ?? [])));
    if (holds.length < agenda.busyCount) return false;
    this.#ownerHold = holds.reduce((first, hold) => (hold.until < first.until ? hold : first));
    return true;
  }

  /** Records what is pending, and gives the run back. */
  #handBack(): void {
    const { draft } = this.core;
    if (draft.isPending) {
      draft.mustCommit = true;
      this.#checkpoints.make(true);
    }
    queueMicrotask(() => void this.close('yielded'));
  }

  /** Stops advancing the run: running work is aborted, unstarted intents are withdrawn, and the claim is released. */
  async close(reason: 'closed' | 'yielded' = 'closed'): Promise<void> {
    const { core } = this;
    if (this.#isOver) return this.ended.catch(() => {});
    core.standing.stop('closing');
    core.committer.closeSoon();
    if (this.#isStarted && core.root.left !== true && leavesWork(core)) {
      core.draft.set(['left'], true);
      this.seal();
    }
    this.#abortAll(claimLost(core.runId, reason));
    // A run that was opened and did not begin stays as it was: what it would have recorded comes with the next resume.
    while (this.#isStarted) {
      this.#drive();
      await core.committer.settled();
      if (this.#isOver) return this.ended.catch(() => {});
      const isDone = core.agenda.gatedCount + core.agenda.launches.length === 0 && !core.draft.mustCommit;
      if (isDone && !this.#isResting) break;
      // Some work continues only in a later turn of the event loop: a resting loop, a step that waits for its intent.
      await new Promise<void>((resolve) => core.env.clock.defer(resolve));
    }
    this.#isOver = true;
    this.#stopTimers();
    core.own.handOver();
    await this.#live?.end(false);
    await core.env.store.releaseClaim(core.claim).catch(() => {});
    this.#feed.close();
    this.#end.reject(
      reason === 'closed' ? new CairnError('STORE_CLOSED', { store: 'engine' }) : claimLost(core.runId, 'yielded'),
    );
  }

  #abortAll(reason: unknown): void {
    const { core } = this;
    for (const frameRun of core.frames())
      for (const activation of frameRun.activations.values()) activation.abort(reason);
    for (const cancel of core.agenda.timers) cancel();
  }

  // The methods of {@link Loop}, which the other parts of the run call.

  requestTurn(): void {
    this.#needsTurn = true;
    if (this.#isDriving || this.#isTurnScheduled || this.#isOver) return;
    this.#isTurnScheduled = true;
    queueMicrotask(() => {
      this.#isTurnScheduled = false;
      this.#drive();
    });
  }

  begin(activation: Activation): void {
    begin(this.core, activation);
  }

  beginLater(activation: Activation, at: number): void {
    beginLater(this.core, activation, at);
  }

  attemptFailed(activation: Activation, error: unknown): void {
    attemptFailed(this.core, activation, error);
  }

  judge(activation: Activation): void {
    judgeNode(this.core, activation);
  }

  requestFlush(): void {
    this.#checkpoints.requestFlush();
  }

  seal(): void {
    this.core.draft.mustCommit = true;
    this.#checkpoints.make(true);
  }

  durable(): Promise<void> {
    return this.#checkpoints.whenDurable();
  }

  drained(): Promise<void> {
    return new Promise((resolve) => this.core.committer.onDrained(resolve));
  }

  readMessages(): Promise<void> {
    return this.#intake.read();
  }

  warn({ node, visit, step, attempt }: AttemptLabel, thrown: unknown): void {
    const { core } = this;
    if (this.#isOver || !this.#isStarted) return;
    const of = { node, ...(visit > 1 && { visit }), ...(step !== undefined && { step }) };
    core.draft.note({ kind: 'warning', ...of, attempt, error: errorSummary(core, readableThrown(thrown)) });
    this.requestFlush();
  }

  describe(thrown: unknown): string {
    const { message, stack = message } = asError(readableThrown(thrown));
    return this.core.secrets.mask?.text(stack) ?? stack;
  }

  get isWatched(): boolean {
    return this.#feed.isWatched || this.#live?.isEmpty === false;
  }

  publishLive(type: LiveEvent['type'], activation: Activation, detail: unknown): void {
    if (this.#feed.isWatched) this.#feed.publishLive(liveEventOf(this.core, type, activation, detail));
    if (type === 'emitted') this.#live?.take(activation.path, detail);
    else if (type !== 'waiting' && this.#live?.isEmpty === false)
      this.#live.attemptEnded(activation.path, this.core.nextSeq);
  }

  stepEnded(key: string): void {
    if (this.#live?.isEmpty === false) this.#live.stepEnded(key, this.core.nextSeq);
  }

  trace({ path }: Activation, name: string, parts: SpanParts): TraceSpan | undefined {
    return this.#feed.tracer?.trace(path, name, parts, this.core.secrets);
  }

  traceFailure({ path }: Activation, error: unknown, isOfFrame: boolean): void {
    this.#feed.tracer?.failed(path, exceptionOf(this.core, error), isOfFrame);
  }

  fail(thrown: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { core } = this;
    const error = stoppedBy(thrown, core.runId);
    core.standing.stop('broken');
    this.#stopTimers();
    core.own.handOver();
    this.#abortAll(error);
    for (const activation of core.rootFrame.activations.values()) core.agenda.forget(activation);
    this.#feed.close(error);
    void this.#live?.end(false);
    core.env.store.releaseClaim(core.claim).then(
      () => this.#end.reject(error),
      () => this.#end.reject(error),
    );
  }

  #drive(): void {
    if (this.#isDriving || this.#isOver || this.#isResting || !this.#isStarted) return;
    this.#isDriving = true;
    try {
      this.#loop();
    } catch (error) {
      this.fail(error);
    } finally {
      this.#isDriving = false;
    }
  }

  #loop(): void {
    const { core } = this;
    while (!this.#isOver) {
      if (!this.#needsTurn && core.agenda.launches.length === 0) return;
      if (core.env.pace.isOver()) return this.#rest();
      if (this.#needsTurn) {
        this.#needsTurn = false;
        this.#turn();
      }
      if (core.agenda.launches.length === 0) continue;
      if (core.committer.isFull) return this.#untilDrained();
      launch(core, core.agenda.launches.shift() as Activation);
    }
  }

  /** Lets timers, other runs and the rest of the process have their turn before going on. */
  #rest(): void {
    this.#isResting = true;
    this.core.env.pace.rest(() => {
      this.#isResting = false;
      this.#drive();
    });
  }

  /** Lets commits finish before going on. */
  #untilDrained(): void {
    this.#isResting = true;
    this.core.committer.onDrained(() => {
      this.#isResting = false;
      this.requestTurn();
    });
  }

  #turn(): void {
    const { core } = this;
    if (core.agenda.holds.size > 0) takeHolds(core);
    if (core.agenda.cancelled.length > 0)
      for (const activation of core.agenda.cancelled.splice(0)) this.#takeCancelled(activation);
    core.ledger.lookAgain();
    if (core.agenda.wakeUps.length > 0)
      for (const activation of core.agenda.wakeUps.splice(0)) this.#wakeUp(activation);
    core.replay?.pump();
    const concurrency = core.apart === undefined ? core.rootFrame.graph.policies.concurrency : 1;
    while (core.agenda.queue.length > 0 && (core.agenda.placesTaken < concurrency || core.standing.isStopping)) {
      const queued = core.agenda.queue.shift();
      if (queued !== undefined && !core.standing.isStopping && !queued.frameRun.hasFailed) prepareStart(core, queued);
    }
    const status = endingOf(core);
    if (status !== undefined) return this.#endWith(this.#onCancel(status) === undefined ? status : 'cancelling');
    if (this.#isYielded()) return this.#handBack();
    this.#checkpoints.make();
  }

  #takeCancelled(activation: Activation): void {
    if (activation.isOver) return;
    if (activation.phase !== 'running') return settleCancelled(this.core, activation);
    // It may still end by itself, which also ends the timer: the run need not wait for it then. Its own deadline holds until then.
    const { generation, cancelTimer } = activation;
    const cancelGrace = holdTimer(this.core, this.core.env.limits.cancelGraceMs, () => {
      if (activation.generation !== generation || activation.phase !== 'running') return;
      settleCancelled(this.core, activation);
      this.requestTurn();
    });
    const cancelBoth = (): void => {
      cancelTimer?.();
      cancelGrace();
    };
    activation.cancelTimer = cancelBoth;
  }

  #wakeUp(activation: Activation): void {
    const { core } = this;
    if (activation.phase === 'retrying') return beginRetry(core, activation);
    if (activation.phase !== 'waiting' || core.standing.isStopping) return;
    if (activation.isCancelled) return settleCancelled(core, activation);
    core.agenda.setBusy(activation, true);
    activation.phase = 'prepared';
    activation.isResumed = true;
    const record = activation.frameRun.openRecordOf(activation.node);
    if (record?.intent !== undefined) this.judge(activation);
    else this.begin(activation);
  }

  /** The node that runs now, if the run ends because it was cancelled and its graph has one. */
  #onCancel(status: RunStatus): string | undefined {
    const { root, rootFrame } = this.core;
    const isSkipped = status !== 'cancelled' || root.cancel !== undefined || this.#cancelled.force === true;
    return isSkipped ? undefined : rootFrame.graph.policies.onCancel;
  }

  #noteEnd(status: RunStatus): void {
    const { core } = this;
    const { draft, root, env, rootFrame } = core;
    // Nothing of a cancelled run is repeated, so the cost of unfinished work is recorded now.
    if (status === 'cancelled' || status === 'cancelling') bookAll(core);
    if (status === 'cancelled') return noteCancelled(draft, this.#cancelled);
    if (status === 'cancelling')
      return noteCancelling(draft, rootFrame.graph.policies.onCancel as string, this.#cancelled, env.clock.now());
    const isNew = root.status !== status;
    if (isNew) draft.setStatus(status);
    // A fork is paused from its first checkpoint on. If that it stops again is all that the next one has to tell, it tells that.
    if (isNew || (status === 'paused' && draft.isPending && draft.partCount === 0)) {
      draft.note(status === 'paused' ? { kind: 'pause' } : { kind: 'end', status });
    }
    // Nothing needs the answer to an open question about a budget any more.
    if (status === 'completed') for (const waitId of Object.keys(root.waits)) draft.closeWait(waitId);
    if (status === 'failed') for (const waitId of Object.keys(root.waits)) draft.closeWaitRow(waitId);
  }

  #endWith(status: RunStatus): void {
    const { core } = this;
    this.#noteEnd(status);
    this.#isOver = true;
    core.standing.stop('ended');
    // A function may be alive that only waits for a child run: nothing it does counts any more.
    for (const frameRun of core.frames())
      for (const activation of frameRun.activations.values()) activation.endSignal();
    this.#stopTimers();
    this.#checkpoints
      .makeLast(status)
      .then(async (isClaimHeld) => {
        await this.#live?.end(status !== 'paused');
        // The last commit is durable. If releasing the claim fails, it expires. A cancelled run whose `onCancel` node is next keeps it.
        if (isClaimHeld) await core.env.store.releaseClaim(core.claim).catch(() => {});
      })
      .then(this.#end.resolve, this.#end.reject);
  }

  /** Handles a commit that fails after everything else is done: then the run has not ended. */
  #breakOff(error: unknown): void {
    this.#isOver = false;
    this.fail(error);
  }

  #stopTimers(): void {
    this.#keeper.stop();
    this.#intake.stop();
    for (const { activations } of this.core.frames()) for (const { scope } of activations.values()) scope?.end();
    for (const cancel of this.core.agenda.timers) cancel();
  }
}
