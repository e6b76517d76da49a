/**
 * Judges efforts in doubt, which were started and have no recorded result. The verdict comes from a fork's original, from a person, from
 * `reconcile`, or is to retry or to ask (X3).
 */
import type { Intent, NodeRecord, ToldEnd } from '../../state/tree.ts';
import { decideDoubt, type DoubtDecision, type DoubtView } from '../plan/decide-doubt.ts';
import {
  type Effort,
  type EffortFields,
  forgetDecision,
  isSameIntent,
  noteBegunAgain,
  NodeEffort,
  type StepEffort,
} from '../visit-records/intent.ts';
import type { OriginalEnd, RunCore } from '../live-run/run-core.ts';
import { Charge } from '../live-run/attempt-scope.ts';
import type { Activation } from '../live-run/loop.ts';
import { holdTimer } from '../live-run/timers.ts';
import { doubtDecision, openRecord } from '../visit-records/node-record.ts';
import { CairnError } from '../../errors.ts';
import { encodeValue } from '../../state/values/encode.ts';
import { admitOutcome, type AdmittedOutcome } from '../validate/admit-outcome.ts';
import { asError } from '../validate/admit-error.ts';
import { admitSaved } from '../validate/admit-saved.ts';
import { failureOf } from '../visit-records/step-failure.ts';
import { settleFailed } from '../settle/settle.ts';
import { settleOutcome } from '../settle/settle-outcome.ts';
import { type DoubtReason, doubtWait } from '../waits/wait.ts';
import { notifyWaiting } from '../waits/leave-at-wait.ts';
import { openWait } from '../waits/open-wait.ts';

/** The verdict about an effort in doubt. */
export type Verdict =
  /** `returned`: its output, or an outcome with updates. */
  | { readonly kind: 'happened'; readonly returned: unknown; readonly by: string }
  /** The original of a fork has recorded its end meanwhile, or may still record it. This is handled elsewhere. */
  | { readonly kind: 'original'; readonly end: OriginalEnd }
  /** `isAgain`: it may have happened, and is begun again all the same. */
  | { readonly kind: 'run'; readonly isAgain?: true }
  | { readonly kind: 'fail' }
  /** How it ended, as told by the process that had begun it. */
  | { readonly kind: 'told'; readonly told: ToldEnd }
  /** `isLookedUp`: `reconcile` was called, and found no answer. */
  | { readonly kind: 'ask'; readonly isLookedUp?: boolean };

/** Judges an effort once its first owner can no longer be running it (O2). */
export async function judge(core: RunCore, effort: Effort, onInDoubt: 'ask' | 'fail'): Promise<Verdict> {
  const { intent } = effort.fields() ?? {};
  // It was withdrawn by the process that had announced it: it has not begun.
  if (intent === undefined) return { kind: 'run' };
  const before = await core.replay?.originalEnd(effort, intent);
  if (before !== undefined) return { kind: 'original', end: before };
  if (await ownerGone(core, effort, intent)) {
    const since = await core.replay?.originalEnd(effort, intent);
    if (since !== undefined) return { kind: 'original', end: since };
  }
  const { told, intent: now } = effort.fields() ?? {};
  if (told !== undefined) return { kind: 'told', told };
  if (!isSameIntent(now, intent)) return judge(core, effort, onInDoubt);
  const known = verdictOf(effort, decideDoubt(doubtViewOf(effort, onInDoubt)));
  if (known !== 'reconcile') return begunAgain(core, effort, known, 'idempotent');
  const found = await effort.reconcile?.({ idempotencyKey: intent.key });
  // A person may have decided meanwhile. That takes precedence.
  const view = doubtViewOf(effort, onInDoubt);
  if (view.decision === undefined && found?.happened === true)
    return { kind: 'happened', returned: found.output, by: 'reconcile' };
  const reconciled = found?.happened === false ? 'did not happen' : 'unknown';
  const verdict = verdictOf(effort, decideDoubt({ ...view, found: reconciled })) as Verdict;
  if (verdict.kind === 'ask') return { kind: 'ask', isLookedUp: true };
  return begunAgain(core, effort, verdict, found?.happened === false ? 'reconcile' : 'idempotent');
}

/** Reports an effect that is begun again although it may have happened. That an attempt failed, and is followed by another, is on record. */
function begunAgain(core: RunCore, effort: Effort, verdict: Verdict, by: 'idempotent' | 'reconcile'): Verdict {
  const { decision, applied, retryAt } = effort.fields() ?? {};
  const isTold = decision === undefined && (applied ?? retryAt) !== undefined;
  if (verdict.kind !== 'run' || isTold) return verdict;
  noteBegunAgain(core, effort, decision === undefined ? by : 'person');
  return { kind: 'run', isAgain: true };
}

function verdictOf(effort: Effort, decision: DoubtDecision): Verdict | 'reconcile' {
  if (decision === 'reconcile') return decision;
  return decision === 'happened'
    ? { kind: 'happened', returned: resultByPerson(effort), by: 'person' }
    : { kind: decision };
}

/** What is known about an effort in doubt before `reconcile` is called. */
export function doubtViewOf(effort: Effort, onInDoubt: 'ask' | 'fail'): DoubtView {
  const { isIdempotent, reconcile } = effort;
  return { ...recordedDoubt(effort.fields() ?? {}, onInDoubt), canReconcile: reconcile !== undefined, isIdempotent };
}

/** What is known about it from its record alone, where the code that would repeat it is not at hand. */
export function recordedDoubt(
  { decision, applied, retryAt, intent }: EffortFields,
  onInDoubt: 'ask' | 'fail',
): DoubtView {
  return {
    decision: decision === undefined ? undefined : (doubtDecision(decision).decision as DoubtView['decision']),
    applied,
    isRetryPlanned: retryAt !== undefined,
    canReconcile: false,
    found: undefined,
    isIdempotent: intent?.idempotent === true,
    onInDoubt,
  };
}

/** The result of the effect according to the person who said that it happened. */
export function resultByPerson(effort: Effort): unknown {
  return doubtDecision(effort.fields()?.decision).returned;
}

/**
 * Waits until the first owner cannot be running the effect any more: until the attempt's deadline, unless the owner tells how it ended, or
 * is known to be gone.
 * @returns whether it had to wait
 */
async function ownerGone(core: RunCore, effort: Effort, intent: Intent): Promise<boolean> {
  const { activation } = effort;
  const { clock, ids, effectsInFlight, bounds } = core.env;
  const isOwn = intent.by === ids.workerId;
  const isOwnerDead = (): boolean | undefined => (intent.by === undefined ? undefined : ids.isWorkerDead(intent.by));
  const isGone = (): boolean => (isOwn ? !effectsInFlight.has(intent.key) : isOwnerDead() === true);
  // At its deadline the effect's signal is aborted, and it has a grace period to stop.
  const overInMs = intent.deadlineAt - core.clockSetBackMs - clock.now() + bounds.cancelGraceMs;
  const since = clock.monotonic();
  const isTold = (): boolean => {
    const { told, intent: now } = effort.fields() ?? {};
    return told !== undefined || !isSameIntent(now, intent);
  };
  for (let hasWaited = false; ; hasWaited = true) {
    const remainingMs = overInMs - (clock.monotonic() - since);
    const isOver = isGone() || remainingMs <= 0;
    // What it told just now may not have been read.
    if (isOver && (isOwn || hasWaited) && !isTold()) await core.loop.readMessages().catch(() => {});
    if (isOver || isTold()) {
      activation.ownerHold = undefined;
      return hasWaited;
    }
    if (!isOwn && !hasWaited) {
      activation.ownerHold = { owner: intent.by, until: clock.now() + remainingMs };
      core.loop.publishLive('waiting', activation, activation.ownerHold);
      if (core.env.isSlice === true) core.loop.requestTurn();
    }
    // It may be over long before its deadline: an effect that still runs in this process, in an attempt that is over, may end, and a
    // process that is known to be alive may die.
    const endsUnseen = isOwn || isOwnerDead() === false;
    const delayMs = endsUnseen ? Math.min(remainingMs, bounds.messagePollMs) : remainingMs;
    await new Promise<void>((resolve) => {
      const cancel = holdTimer(core, delayMs, resolve);
      core.whenTold.set(intent.key, () => {
        cancel();
        resolve();
      });
    });
    core.whenTold.delete(intent.key);
  }
}

// Carries out the verdict about a node's visit in doubt (X3).

/** Judges an activation that has an intent without a result. */
export function judgeNode(core: RunCore, activation: Activation): void {
  judge(core, new NodeEffort(activation), activation.node.onInDoubt)
    .then((verdict) => applyVerdict(core, activation, verdict))
    .catch((error: unknown) => {
      if (activation.phase === 'prepared') settleFailed(core, activation, error);
    })
    .finally(() => core.loop.requestTurn());
}

/** Whether the verdict is a result, for which nothing needs to start. Then it is recorded even after a failure elsewhere (G8). */
function isResult({ kind }: Verdict): boolean {
  return kind === 'happened' || kind === 'told' || kind === 'fail';
}

/** Carries out a verdict. */
export function applyVerdict(core: RunCore, activation: Activation, verdict: Verdict): void {
  if (activation.phase !== 'prepared') return;
  const { standing, agenda, loop } = core;
  if (verdict.kind === 'original') {
    if (verdict.end.kind === 'node') core.replay?.take(activation, verdict.end.offer);
    return;
  }
  if (standing.isStopping && !(standing.mayFinish && isResult(verdict))) return agenda.forget(activation);
  if (verdict.kind === 'told') return settleTold(core, activation, verdict.told);
  if (verdict.kind === 'happened') return settleHappened(core, activation, verdict.returned, verdict.by);
  if (verdict.kind === 'run') {
    // A retried attempt waits until it is due, also after a crash (E6).
    const { retryAt = 0 } = activation.frameRun.openRecordOf(activation.node) ?? {};
    return retryAt <= core.env.clock.now() ? loop.begin(activation) : loop.beginLater(activation, retryAt);
  }
  if (verdict.kind === 'fail') {
    const error = new CairnError('EFFECT_IN_DOUBT', { node: activation.path.join('/'), decided: 'fail' });
    return settleFailed(core, activation, error);
  }
  // The question was answered while the activation was judged.
  if (new NodeEffort(activation).fields()?.decision !== undefined) return loop.judge(activation);
  askWhetherItHappened(core, activation, verdict);
}

/** Goes on with an attempt that another process made, as that would have, with what it told of its end. */
function settleTold(core: RunCore, activation: Activation, told: ToldEnd): void {
  if (told.spent !== undefined) core.ledger.open(chargeOf(activation, undefined, told));
  if (told.end === 'failed') return core.loop.attemptFailed(activation, failureOf(told));
  void settleOutcome(core, activation, admitSaved(core, activation, told.outcome), { by: 'owner' });
}

/** What an attempt cost that another process has made. */
export function chargeOf(activation: Activation, step: StepEffort | undefined, { spent }: ToldEnd): Charge {
  const charge = new Charge(activation, step);
  charge.spent = spent;
  return charge;
}

/**
 * Settles an effect that happened. Its updates are validated by the node's schemas and reducers. If a person's answer does not fit, the
 * question is asked again.
 */
function settleHappened(core: RunCore, activation: Activation, returned: unknown, by: string): void {
  let outcome: AdmittedOutcome;
  try {
    outcome = admitOutcome(core, activation, returned);
  } catch (error) {
    if (by !== 'person') throw error;
    forgetDecision(new NodeEffort(activation));
    return askWhetherItHappened(core, activation, { because: asError(error).message });
  }
  void settleOutcome(core, activation, outcome, { by });
}

function askWhetherItHappened(core: RunCore, activation: Activation, why: DoubtReason): void {
  const { node, path, frameRun } = activation;
  const known = frameRun.openRecordOf(node);
  const record: NodeRecord = { ...known, ...openRecord(activation), status: 'waiting' };
  // The question was asked before a crash, or in the original of a fork, so the record stays as it is.
  if (known?.status !== 'waiting') frameRun.frame.setNode(node.id, record, encodeValue(record));
  openWait(
    core,
    activation,
    undefined,
    doubtWait({ node: path, effect: node.effect, intent: record.intent as Intent }, record, why),
  );
  activation.phase = 'waiting';
  core.agenda.setBusy(activation, false);
  notifyWaiting(core, frameRun);
}
