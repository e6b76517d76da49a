/**
 * Judges efforts in doubt, which were started and have no recorded result. The verdict comes from a fork's original, from a person, from
 * `reconcile`, or is to retry or to ask (X3).
 */
import type { Intent } from '../../state/tree.ts';
import { decideDoubt, type DoubtDecision, type DoubtView } from '../plan/decide-doubt.ts';
import type { Effort, EffortFields } from '../record/effort.ts';
import type { OriginalEnd } from '../run/recorded-past.ts';
import type { Activation } from '../run/frame-run.ts';
import type { RunCore } from '../run/run-core.ts';
import { holdTimer } from '../run/timers.ts';
import { doubtDecision } from '../record/doubt-decision.ts';

/** The verdict about an effort in doubt. */
export type Verdict =
  /** `returned`: its output, or an outcome with updates. */
  | { readonly kind: 'happened'; readonly returned: unknown; readonly by: string }
  /** The original of a fork has recorded its end meanwhile, or may still record it. This is handled elsewhere. */
  | { readonly kind: 'original'; readonly end: OriginalEnd }
  | { readonly kind: 'run' }
  | { readonly kind: 'fail' }
  | { readonly kind: 'ask' };

/** Judges an effort once its first owner can no longer be running it (O2). */
export async function judge(core: RunCore, effort: Effort, onInDoubt: 'ask' | 'fail'): Promise<Verdict> {
  const intent = effort.fields()?.intent as Intent;
  const before = await core.replay?.originalEnd(effort, intent);
  if (before !== undefined) return { kind: 'original', end: before };
  if (await ownerGone(core, effort.activation, intent)) {
    const since = await core.replay?.originalEnd(effort, intent);
    if (since !== undefined) return { kind: 'original', end: since };
  }
  const known = verdictOf(effort, decideDoubt(doubtViewOf(effort, onInDoubt)));
  if (known !== 'reconcile') return known;
  const found = await effort.reconcile?.({ idempotencyKey: intent.key });
  // A person may have decided meanwhile. That takes precedence.
  const view = doubtViewOf(effort, onInDoubt);
  if (view.decision === undefined && found?.happened === true)
    return { kind: 'happened', returned: found.output, by: 'reconcile' };
  const said = found?.happened === false ? 'did not happen' : 'unknown';
  return verdictOf(effort, decideDoubt({ ...view, found: said })) as Verdict;
}

function verdictOf(effort: Effort, decision: DoubtDecision): Verdict | 'reconcile' {
  if (decision === 'reconcile') return decision;
  return decision === 'happened'
    ? { kind: 'happened', returned: saidByPerson(effort), by: 'person' }
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
export function saidByPerson(effort: Effort): unknown {
  return doubtDecision(effort.fields()?.decision).returned;
}

/**
 * Waits until the first owner cannot be running the effect any more: until the attempt's deadline, unless the owner is known to be gone.
 * @returns whether it had to wait
 */
async function ownerGone(core: RunCore, activation: Activation, intent: Intent): Promise<boolean> {
  const { clock, ids, effectsInFlight, limits } = core.env;
  const isOwn = intent.by === ids.workerId;
  const isOwnerDead = (): boolean | undefined => (intent.by === undefined ? undefined : ids.isWorkerDead(intent.by));
  const isGone = (): boolean => (isOwn ? !effectsInFlight.has(intent.key) : isOwnerDead() === true);
  // At its deadline the effect is told to stop, and has a grace to do so.
  const overAt = intent.deadlineAt + limits.cancelGraceMs;
  for (let hasWaited = false; ; hasWaited = true) {
    const remainingMs = overAt - clock.now();
    if (isGone() || remainingMs <= 0) {
      activation.heldBy = undefined;
      return hasWaited;
    }
    if (!isOwn && !hasWaited) {
      activation.heldBy = { owner: intent.by, until: overAt };
      core.loop.publishLive('waiting', activation, activation.heldBy);
    }
    // It may be over long before its deadline: an effect that still runs in this process, in an attempt that is over, may end, and a
    // process that is known to be alive may die.
    const endsUnseen = isOwn || isOwnerDead() === false;
    const delayMs = endsUnseen ? Math.min(remainingMs, limits.messagePollMs) : remainingMs;
    await new Promise<void>((resolve) => {
      holdTimer(core, delayMs, resolve);
    });
  }
}
