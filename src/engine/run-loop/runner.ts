/** Advances one claimed run until it ends, pauses, or cannot go on in this process (E1). */
import { CairnError, readableThrown } from '../../errors.ts';
import type { SpanParts, TraceSpan } from '../../graph/contracts/trace-span.ts';
import type { Graph } from '../../graph/graph.ts';
import type { LoadedState } from '../../history/load/load.ts';
import type { Claim, RunRow } from '../../ports/store.ts';
import { followUpOf, isUnderWay, nextDueOf, type RunStatus } from '../../state/tree.ts';
import type { LiveEvent, ResumeOptions } from '../api.ts';
import { actorIn } from '../validate/whose-answer.ts';
import { begin, beginLater, beginRetry } from '../effects/begin.ts';
import { judgeNode } from '../effects/judge.ts';
import { asError, errorSummary } from '../validate/admit-error.ts';
import { checkBudget } from '../validate/check-budget.ts';
import { bookAll } from '../visit-records/account.ts';
import { setRunBudget } from '../visit-records/budget.ts';
import { exceptionOf } from '../visit-records/failure-note.ts';
import type { Activation, AttemptLabel, Loop, OwnerHold } from '../live-run/loop.ts';
import type { Draft } from '../live-run/draft.ts';
import { claimLost } from '../live-run/standing.ts';
import { liveEventOf, runningNow, RunCore, type EngineEnvironment } from '../live-run/run-core.ts';
import {
  type CancelRequest,
  endingOf,
  isFailing,
  noteCancelled,
  noteCancelling,
  noteFailing,
  putFailureBack,
  timeLimitWait,
} from '../live-run/run-ending.ts';
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
import type { FatalFailure } from '../monitor.ts';
import type { ClaimKeeper } from '../live-run/claim-keeper.ts';
import { MessageIntake } from './message-intake.ts';
import { prepareStart } from './prepare.ts';
import type { QueuedAt } from '../places/run-places.ts';
import { RunTimer } from './run-timer.ts';
import { isAround, leavesWork, stoppedBy } from './stopped-run.ts';

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

/** The loop of one run (E1.2): turns, launches, checkpoints, and the end. */
export class Runner implements Loop {
  readonly core: RunCore;
  /**
   * Resolves when the run has ended or paused and its claim was released, or when it was cancelled or failed and goes on under the same claim
   * with what follows that; rejects when it cannot be advanced here.
   */
  readonly ended: Promise<void>;
  /** What the run fails by, where that is logged: the innermost node of the last frames that failed. */
  failure: FatalFailure | undefined;
  /** Where the run stands in line, if it found no place. */
  queued: QueuedAt | undefined;
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
  readonly #time: RunTimer;
  /** Set when the time of the run is over. */
  #late: CairnError | undefined;
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
    this.#time = new RunTimer(core, (error) => this.#endTime(error));
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
    this.#time.start();
    const waits = Object.entries(core.root.waits).filter(([waitId]) => waitId !== timeLimitWait);
    const isDue = ([, wait]: (typeof waits)[number]): boolean => (nextDueOf(wait) ?? Infinity) <= now;
    const mustRecord = core.run.hasMessages || this.#late !== undefined || waits.some(isDue);
    for (const one of waits)
      if (isDue(one)) fireDueWait(core, one[0]);
      else armDueTime(core, one[0]);
    if (core.run.schedule.key !== undefined && !(await this.#findPlace(mustRecord))) return;
    startInitial(core, core.rootFrame, core.isTakenOver);
    if (core.root.left === true) core.draft.delete(['left']);
    if (isFailing(core.root)) core.standing.stop('failing');
    this.#isStarted = true;
    this.requestTurn();
  }

  /**
   * Takes the places of the limits that the run is under. Without room it is given back and stands in line; what it has taken in is recorded
   * first. @returns whether it may begin
   */
  async #findPlace(mustRecord: boolean): Promise<boolean> {
    const { core } = this;
    const { places } = core.env;
    // What follows a cancel or a failure needs no place, nor does a run that only stops.
    if (followUpOf(core.root) !== undefined || this.#late !== undefined) return true;
    if (mustRecord) {
      this.seal();
      await core.committer.settled();
    }
    if (this.#isOver) return false;
    const queued = await places.enter(core.claim, core.run);
    if (queued === undefined || this.#isOver) return !this.#isOver;
    this.queued = queued;
    this.#isOver = true;
    core.standing.stop('ended');
    this.#stopTimers();
    core.own.handOver();
    await this.#live?.end(false);
    core.env.monitor?.handedBack(core.run, true);
    this.#end.resolve();
    return false;
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
  setBudget({ budget, ...who }: ResumeOptions): void {
    if (budget === undefined) return;
    setRunBudget(this.core.draft, checkBudget(budget), actorIn(who));
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
      if (this.#late !== undefined) {
        this.#late = undefined;
        this.#cancelled = request;
      } else if (isForced) this.#cancelled = { ...this.#cancelled, force: true };
      return;
    }
    if (core.root.cancel !== undefined && !isForced) return;
    this.#cancelled = request;
    this.#stopWork(new CairnError('RUN_CANCELLED', { runId: core.runId }));
  }

  /** Aborts what runs, and ends it by force after a grace period. */
  #stopWork(reason: CairnError): void {
    const { core } = this;
    core.standing.stop('cancelling');
    this.#abortAll(reason);
    core.env.clock.setTimer(core.env.bounds.cancelGraceMs, () => {
      core.agenda.busyCount = 0;
      this.requestTurn();
    });
    this.requestTurn();
  }

  /** Fails the run because its time is over, as a cancel ends one (E6.10). */
  #endTime(error: CairnError): void {
    if (this.#isOver || this.core.standing.isCancelling) return;
    this.#late = error;
    this.#stopWork(error);
  }

  /** Starts nothing more. When what runs has ended and is recorded, the run is given back as it is (HO1). */
  yieldRun(): void {
    if (this.#isOver) return;
    this.core.standing.stop('yielding');
    for (const giveBack of this.core.agenda.placeWaits.keys()) giveBack();
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
    await core.env.places.leave(core.claim, core.run, false);
    this.#feed.close();
    core.env.monitor?.handedBack(core.run, reason === 'yielded');
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
    const { tracer } = this.#feed;
    const isLogged = isOfFrame && this.core.env.monitor?.hasLog === true && !isAround(path, this.failure?.node);
    if (tracer === undefined && !isLogged) return;
    const exception = exceptionOf(this.core, error);
    tracer?.failed(path, exception, isOfFrame);
    if (isLogged) this.failure = { node: path, exception };
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
    core.env.beats.broken(core.run, error);
    const { store, places } = core.env;
    void store
      .releaseClaim(core.claim)
      .catch(() => undefined)
      .then(() => places.leave(core.claim, core.run, false))
      .then(() => this.#end.reject(error));
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
    const status = this.#ending();
    if (status !== undefined) return this.#endWith(status);
    if (this.#isYielded()) return this.#handBack();
    this.#checkpoints.make();
  }

  #takeCancelled(activation: Activation): void {
    if (activation.isOver) return;
    if (activation.phase !== 'running') return settleCancelled(this.core, activation);
    // It may still end by itself, which also ends the timer: the run need not wait for it then. Its own deadline holds until then.
    const { generation, cancelTimer } = activation;
    const cancelGrace = holdTimer(this.core, this.core.env.bounds.cancelGraceMs, () => {
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

  /** How the run ends or pauses now: `cancelling` and `running` if a node follows its cancel or its failure. Undefined: it does not. */
  #ending(): RunStatus | undefined {
    const { root, rootFrame } = this.core;
    const { onCancel, onRunFailure } = rootFrame.graph.policies;
    const ending = endingOf(this.core);
    const status = ending === 'cancelled' && this.#late !== undefined ? 'failed' : ending;
    const isForced = this.#cancelled.force === true;
    if (status === 'cancelled' && onCancel !== undefined && root.cancel === undefined && !isForced) return 'cancelling';
    if (status === 'failed' && onRunFailure !== undefined && followUpOf(root) === undefined) return 'running';
    return status;
  }

  #noteEnd(status: RunStatus): void {
    const { core } = this;
    const { draft, root, env, rootFrame } = core;
    const { onCancel = '', onRunFailure = '' } = rootFrame.graph.policies;
    // Nothing of a cancelled run is repeated, so the cost of unfinished work is recorded now.
    if (status === 'cancelled' || status === 'cancelling') bookAll(core);
    if (status === 'cancelled') return noteCancelled(draft, this.#cancelled);
    if (status === 'cancelling') return noteCancelling(draft, onCancel, this.#cancelled, env.clock.now());
    if (this.#late !== undefined) draft.set(['failures', ''], this.#late);
    if (status === 'running') return noteFailing(draft, onRunFailure, env.clock.now());
    if (status === 'failed') putFailureBack(draft);
    if (status === 'paused') this.#time.pause();
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
        // The last commit is durable. If releasing the claim fails, it expires. A run whose `onCancel` or `onRunFailure` node is next keeps it.
        if (isClaimHeld) await core.env.store.releaseClaim(core.claim).catch(() => {});
        if (!isUnderWay(status)) await core.env.places.leave(core.claim, core.run, status !== 'paused');
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
    this.#time.stop();
    for (const { activations } of this.core.frames()) for (const { scope } of activations.values()) scope?.end();
    for (const cancel of this.core.agenda.timers) cancel();
  }
}
