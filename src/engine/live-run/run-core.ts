/** The central object of a run that is being advanced: its data, and its parts. */
import type { Amounts } from '../../graph/amounts.ts';
import type { BegunAgain, ChangePart } from '../../history/stored/change.ts';
import type { RunRow, Claim, Store } from '../../ports/store.ts';
import type { DrawnKind, DrawnValue, Intent, RunTree, StepRecord, NodeRecord, WaitRecord } from '../../state/tree.ts';
import { type Activation, rootFrameRun, type FrameRun, type Loop, type ScopedRun } from './loop.ts';
import { Agenda, Ledger } from './agenda.ts';
import { type Payer, isInsideStepOf } from './attempt-scope.ts';
import type { Graph, GraphStructure } from '../../graph/graph.ts';
import { keySeedOf } from '../../history/stored/key-seed.ts';
import type { LoadedState } from '../../history/load/load.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { LeaseGuard } from '../../ports/lease-guard.ts';
import type { Models } from '../../ports/model.ts';
import type { Telemetry } from '../../ports/telemetry.ts';
import type { Monitor } from '../monitor.ts';
import type { WorkerBeats } from '../worker-beat.ts';
import type { Deliveries } from '../webhooks/deliveries.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { Intake } from '../../state/values/admit.ts';
import type { LiveRules } from '../../state/secrecy/store-rules.ts';
import type { Bounds } from '../bounds.ts';
import type { ClaimRenewals } from './claim-keeper.ts';
import { Committer, type Landed, RunSecrets } from './committer.ts';
import type { Draft } from './draft.ts';
import type { Pace } from './pace.ts';
import { Standing, type Moment } from './standing.ts';
import { type EffectsInFlight, OwnEffects } from './own-effects.ts';
import type { Apart, Isolation, LiveEvent, StandIns } from '../api.ts';
import { CairnError } from '../../errors.ts';
import type { Limiter } from '../places/limiter.ts';

// The interface through which a run's parts take over what a fork's ancestors recorded (X2).

/** The last record taken over of a node, or of steps with one name. */
export type TakenRecord = NonNullable<RunTree['replayed']>[string];

/** Something that may have a record in an ancestor: a node's visit, a step of it, or a question. */
export interface Due {
  readonly activation: Activation;
  /** Undefined if it is the node's own visit. */
  readonly stepKey: string | undefined;
  readonly effect: string;
  /** Hash of the step's own input; undefined if its input is that of its activation. */
  readonly ownInputHash: string | undefined;
  /** Of a question: its hash, and that under which an older version recorded it, if that is another. */
  readonly questionHashes?: readonly string[];
  /** Whether it asks a model and changes nothing outside. */
  readonly isModelCall?: boolean;
  /** Its idempotency key, with the key seed of its run or of an ancestor (X1). */
  keyIn(keySeed: string): string;
}

/** Where something was recorded. */
export interface Recorded {
  readonly run: RunRow;
  readonly seq: number;
  /** Which of the records of its node, or of steps with its name, in that checkpoint, counted from 0. */
  readonly nth: number;
  /** Index among all parts of that checkpoint's change. What settled in one turn shares a checkpoint, and settled in this order. */
  readonly index: number;
  readonly part: ChangePart;
}

/** What an ancestor has for something due: a record of its end or announcement, or records that cannot be read. */
export type Offer = { readonly recorded: Recorded } | { readonly unread: RunRow };

/** What a fork takes over for a step. */
export interface TakenStep {
  /** Key in `replayed` under which it is noted. */
  readonly place: string;
  readonly from: TakenRecord;
  /** The step as it ended there. Or `started` with the original's intent: it may have happened there, and is in doubt here (X3). */
  readonly step: StepRecord;
  /** What the visit that it belongs to had read there. */
  readonly reads?: readonly string[];
}

/** What a fork's original has recorded meanwhile about an effect that was open at the fork point. */
export type OriginalEnd =
  | { readonly kind: 'node'; readonly offer: Offer }
  | { readonly kind: 'step'; readonly taken: TakenStep }
  /** A worker has the original and may still record the end, so the fork stops here. */
  | { readonly kind: 'refused' };

/** What ended a wait in an ancestor. */
export interface RecordedEnd extends Pick<Recorded, 'seq' | 'index'> {
  readonly read: () => Promise<StepRecord | undefined>;
  /** Notes that it was taken over. Call it together with closing the wait. */
  readonly note: () => void;
}

/** The ancestors' records of one run. A run that is not a fork has none. */
export interface RecordedPast {
  /** Whether something is being taken over. */
  readonly isBusy: boolean;
  /** Whether any ancestor recorded this place. */
  hasRecord(path: readonly string[]): boolean;
  /** What a visit cost where it was last recorded. */
  costOf(path: readonly string[], visit: number): Amounts | undefined;
  /** Keys of the visit's recorded steps and answers that a function gets that makes those calls again alike. */
  callsOf(activation: Activation): readonly string[];
  /** Whether an ancestor recorded the end of this step. */
  hasCall(activation: Activation, stepKey: string): boolean;
  /** Whether an answer is recorded that a question of this visit would get without being asked. */
  hasAnswer(activation: Activation): boolean;
  /** Whether pure work of this visit is run again although it is on record, since its code has changed or that was requested. */
  rerunsPure(activation: Activation): boolean;
  /**
   * The record of something with equal input, if its class lets a fork take it over. `announced`: it was open at the fork point. Then only
   * whether the original started it again counts, because earlier decisions about it are used up there.
   */
  offer(due: Due, what: 'any' | 'announced'): Offer | undefined;
  /** Whether an ancestor recorded calls of this node: steps, questions, nodes of child runs. */
  madeCalls(path: readonly string[]): boolean;
  /** The values of this kind that the visit drew where it was recorded. */
  drawnBy(activation: Activation, kind: DrawnKind): readonly DrawnValue[];
  /**
   * What ended this wait, if that was not taken over yet.
   * @param asked - of a question: its hash, which must be equal
   * @param exceptBy - who may not have ended it
   */
  endOfWait(
    activation: Activation,
    wait: WaitRecord,
    asked: string | undefined,
    exceptBy: string,
  ): RecordedEnd | undefined;
  /** Takes over an offer for a node's visit, in recorded order, in a later turn. */
  take(activation: Activation, offer: Offer): void;
  /** Takes over the earliest recorded one that does not have to wait for another. */
  pump(): void;
  /** Reads an offer for a step; undefined if it cannot be taken over after all. */
  readStep(due: Due, offer: Offer): Promise<TakenStep | undefined>;
  /**
   * Notes that a step was taken over, and what it cost there, so that it is taken over only once, also after a crash. Call it together with
   * recording the step.
   */
  noteStep(activation: Activation, payer: Payer | undefined, taken: TakenStep): void;
  /**
   * What the original has recorded meanwhile about an effect that was open at the fork point; undefined if there is nothing and no worker
   * has it.
   */
  originalEnd(due: Due, intent: Intent): Promise<OriginalEnd | undefined>;
}

/** The engine's ports and settings, as one value. */
export interface EngineEnvironment {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly secrets: Secrets | undefined;
  /** What is applied to every value taken in; undefined if the store may contain everything. */
  readonly intake: Intake | undefined;
  /** What `redact.store` keeps out of live feeds; undefined if there are no rules. */
  readonly liveRules: LiveRules | undefined;
  readonly models: Models | undefined;
  readonly telemetry: Telemetry | undefined;
  /** Tells the log and the counters; undefined if there are none. */
  readonly monitor: Monitor | undefined;
  /** What this process reports of itself as a worker. */
  readonly beats: WorkerBeats;
  /** Delivers what commits owe to webhooks; undefined if none is told. */
  readonly deliveries?: Deliveries | undefined;
  readonly version: string | undefined;
  /** Structures that were read, by the hash of their blob or their text: set where many runs are only looked at. */
  readonly structures?: Map<string, GraphStructure>;
  readonly bounds: Bounds;
  readonly tenant: string;
  readonly leaseMs: number;
  /** Renews the claims of all its runs. */
  readonly renewals: ClaimRenewals;
  /** Renews them while the event loop is blocked. */
  readonly leaseGuard?: LeaseGuard | undefined;
  /** Advances suspects apart. */
  readonly isolation?: Isolation | undefined;
  /** Keys of effects that are running in this process, for whatever run. */
  readonly effectsInFlight: EffectsInFlight;
  /** When its runs leave the event loop to others. */
  readonly pace: Pace;
  /** Grants the places of limits. It costs nothing where none is named. */
  readonly places: Limiter;
  /** Set for a run that is advanced for a limited time: it waits for no timer, and for no other owner of an effect (HO3). */
  readonly isSlice?: true;
}

/** What a run core is made of. */
export interface RunCoreOptions {
  readonly env: EngineEnvironment;
  readonly run: RunRow;
  readonly claim: Claim;
  readonly graph: Graph;
  readonly loaded: LoadedState;
  /** Over the loaded state, including what the resume itself has changed. */
  readonly draft: Draft;
  readonly loop: Loop;
  /** Values of the secrets that the run used before, by name. */
  readonly secrets: ReadonlyMap<string, string>;
  /** When the claim was requested. */
  readonly claimedAt: Moment;
  readonly onLanded: (landed: Landed, deltaBytes: number) => void;
  readonly onBroken: (error: unknown) => void;
}

/** One for each run being advanced. It makes no decisions; its parts do. */
export class RunCore {
  readonly env: EngineEnvironment;
  readonly run: RunRow;
  readonly claim: Claim;
  readonly loop: Loop;
  /** For scopes, which may outlive the run here. */
  readonly weakLoop: WeakRef<ScopedRun>;
  readonly agenda: Agenda = new Agenda();
  readonly ledger: Ledger = new Ledger();
  readonly draft: Draft;
  /** The run's whole state. Change it only through {@link draft} and the frames. */
  readonly root: RunTree;
  readonly committer: Committer;
  /** What is known here of the effects that it announced. */
  readonly own: OwnEffects;
  /** Callbacks of those who wait for word of an effect that another process announced, by its key. */
  readonly whenTold: Map<string, () => void> = new Map();
  readonly standing: Standing;
  readonly rootFrame: FrameRun;
  /** The head that this process loaded. Views at or after it show the current state. */
  readonly resumedSeq: number;
  /** Whether another process was at work on the run when it ended, lost it, or gave it back, so that what was due may have begun there. */
  isTakenOver = false;
  /** Whether this process is done with the run as soon as it waits for a time. */
  isLeaving = false;
  /** Set for a run that is advanced apart from others, since it is suspected of ending its process (O7). */
  apart: Apart | undefined;
  /** By how much the clock was set back before the run was taken up: what is recorded of times to come is too late by that. */
  clockSetBackMs = 0;
  /** What was begun again without a declared effect class: paths of nodes and steps. */
  readonly repeated: Set<string> = new Set();
  /** Why efforts are begun again that may have begun before, by their names: part of their record if they fail. */
  readonly begunAgain: Map<string, BegunAgain> = new Map();
  /** The checkpoints that have the frames of stacks, by the stack's id (K1d). */
  readonly stacks: Map<string, number> = new Map();
  /** Older states that activations saw, as they were loaded, by seq. */
  readonly pinnedRoots: Map<number, Promise<RunTree>> = new Map();
  /** Seed of the run's idempotency keys (X1). */
  readonly keySeed: string;
  /** The secrets that the run has used. They are masked in everything it takes in. */
  readonly secrets: RunSecrets;
  /** What a fork may take over of its ancestors. Set once, before the loop starts; undefined if the run is not a fork. */
  replay: RecordedPast | undefined;
  /** What stands in for what a fork that cannot act would refuse (X7). */
  standIns: StandIns | undefined;
  /** The time of a fork that cannot act. */
  virtual: { readonly passes: () => boolean } | undefined;

  constructor(options: RunCoreOptions) {
    const { env, run, claim, graph, loaded } = options;
    this.env = env;
    this.run = run;
    this.claim = claim;
    this.loop = options.loop;
    this.weakLoop = new WeakRef(options.loop);
    this.draft = options.draft;
    this.root = options.draft.root;
    this.draft.hasBlobs = loaded.seq > 0;
    this.standing = new Standing(claim.leaseMs, options.claimedAt);
    this.resumedSeq = loaded.seq;
    this.keySeed = keySeedOf(run);
    this.secrets = new RunSecrets(env.intake, options.secrets);
    this.rootFrame = rootFrameRun(graph, loaded.root, this.draft.delta);
    this.own = new OwnEffects(env.effectsInFlight);
    this.committer = new Committer({
      store: env.store,
      claim,
      runKey: run.key,
      seq: loaded.seq,
      checksum: loaded.checksum,
      draft: this.draft,
      clock: env.clock,
      bounds: env.bounds,
      onSaved: env.monitor?.measures === true ? (tookMs) => env.monitor?.saved(run, tookMs) : undefined,
      // What would have happened is no news for those outside.
      owedBy: this.root.noEffects === undefined ? env.deliveries?.counter(run, graph) : undefined,
      onMade: (seq) => this.own.checkpointMade(seq),
      onLanded: (landed, deltaBytes) => {
        this.own.landed(landed.seq);
        if (landed.owed !== undefined) env.deliveries?.settle(run, landed.owed);
        env.monitor?.landed(graph.id, deltaBytes);
        options.onLanded(landed, deltaBytes);
      },
      onBroken: options.onBroken,
    });
  }

  get runId(): string {
    return this.run.runId;
  }

  /** The seq of the checkpoint that will hold what happens now. */
  get nextSeq(): number {
    return this.committer.seq + (this.draft.isPending ? 1 : 0);
  }

  /** The root frame and every live child frame. */
  frames(): readonly FrameRun[] {
    return [this.rootFrame, ...this.agenda.childFrames];
  }
}

// Live events, sent between durable ones: what is running, retried or waiting.

/** Makes a live event of an activation. It follows the newest checkpoint. */
export function liveEventOf(
  core: RunCore,
  type: LiveEvent['type'],
  activation: Activation,
  detail: unknown,
): LiveEvent {
  return { type, runId: core.runId, after: core.committer.seq, node: activation.path, detail };
}

/** What is running now, for a listener who came later. */
export function runningNow(core: RunCore): readonly LiveEvent[] {
  return core
    .frames()
    .flatMap(({ activations }) => [...activations.values()])
    .flatMap((activation) => {
      if (activation.ownerHold !== undefined) return [liveEventOf(core, 'waiting', activation, activation.ownerHold)];
      return activation.phase === 'running' ? [liveEventOf(core, 'started', activation, undefined)] : [];
    });
}

// What distinguishes the effect classes `write` and `external` from the others.

/** Whether a node has an effect on the outside. It starts only when its intent is durable. */
export function isEffect(node: { readonly effect: string }): boolean {
  return node.effect === 'write' || node.effect === 'external';
}

/**
 * What a failure says about its effect. `no`: it certainly did not happen. `ended`: it ended by itself and failed. Undefined: nothing is
 * known.
 */
export function appliedOf(error: unknown): 'no' | 'ended' | undefined {
  const applied = (error as { applied?: unknown } | undefined)?.applied;
  return applied === 'no' || applied === 'ended' ? applied : undefined;
}

/** The intent of an attempt that has ended, as its record says: nobody needs to wait until it cannot be running any more (O2.5). */
export function endedIntent(intent: Intent): Intent {
  return { ...intent, deadlineAt: 0 };
}

/**
 * What the next attempt keeps of an intent. If the failed attempt may have happened: all of it. Otherwise only a key that comes from a
 * fork's original (X1.2).
 */
export function savedIntent(
  intent: Intent | undefined,
  ownKey: string,
  mayHaveHappened: boolean,
): Pick<NodeRecord, 'intent' | 'applied'> {
  if (intent === undefined || (!mayHaveHappened && intent.key === ownKey)) return {};
  const ended = { intent: endedIntent(intent) };
  return mayHaveHappened ? ended : { ...ended, applied: 'no' };
}

/** Calls that may wait for others. */
const waitingCalls: ReadonlySet<string> = new Set(['ask', 'sleepUntil', 'receive', 'run']);

// Decides which calls of a node's function are accepted: those of the attempt that is running now (X4).

/** A promise that never resolves in this attempt, so the function stops where it is. */
export const never = <T>(): Promise<T> => new Promise<T>(() => {});

/**
 * Call before a call of a node's function begins its work: nothing begins once the run is stopping here (X4.16). If it was cancelled,
 * the call throws why, so that the function can end by itself, and fails whatever it returns. If the run goes on in another process, the
 * call never returns, so that the function cannot take that for an answer (X4.7).
 *
 * @returns what the call returns; undefined if it may begin
 */
export function refusal({ env, standing, runId }: RunCore, activation: Activation): Promise<never> | undefined {
  const isCancelled = standing.isCancelling || (standing.mayFinish && activation.isCancelled);
  if (standing.mayFinish && !activation.isStopped && !isCancelled) return undefined;
  if (!isCancelled) return never();
  const { aborted, reason } = activation.signal;
  const error: unknown = aborted ? reason : new CairnError('RUN_CANCELLED', { runId });
  activation.failure ??= { error };
  const refuse = async (): Promise<never> => {
    // A function that catches this and calls on and on must not hold up the process.
    await env.pace.turn();
    throw error;
  };
  return refuse();
}

/** @throws NODE_CALL_REFUSED the attempt is over, the call is made inside a step, or the node's class does not allow calls */
export function guardCall(activation: Activation, generation: number, call: string): void {
  const refuse = (reason: string): never => {
    throw new CairnError('NODE_CALL_REFUSED', { call, node: activation.path.join('/'), reason });
  };
  if (activation.generation !== generation || activation.phase !== 'running' || activation.isEnding)
    refuse('this attempt is over');
  if (call !== 'step' && isInsideStepOf(activation))
    refuse('it is called inside a step, which is recorded as a whole; call it beside the step');
  if (activation.node.limit !== undefined && waitingCalls.has(call))
    refuse(
      'its node has a place of a limit, which it would keep while it waits; name the limit at the steps that do the work',
    );
  if (activation.isCancelled) refuse('it was cancelled, since a join needs it no more');
  if (!activation.knowsRetired && activation.frameRun.openRecordOf(activation.node)?.retired !== undefined)
    refuse('earlier calls were retired; read ctx.retired before the first call, it says where to go on from');
  if (call !== 'emit' && isEffect(activation.node))
    refuse(
      `a node of class ${activation.node.effect} cannot be composed; make it read, and its steps ${activation.node.effect}`,
    );
}
